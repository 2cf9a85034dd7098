"""Text commands, which are the same on every platform. The daemon answers them in one transaction, without a model."""

from arvis.commands.invocation import CommandAnswer, Invocation, Spoken
from arvis.commands.registry import command_hints, parse, perform

__all__ = ["CommandAnswer", "Invocation", "Spoken", "command_hints", "parse", "perform"]
