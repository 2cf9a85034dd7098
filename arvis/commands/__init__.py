"""Text commands, the same on every surface: the daemon itself answers them, in one transaction and without a model."""

from arvis.commands.invocation import CommandAnswer, Invocation, Spoken
from arvis.commands.registry import command_hints, parse, perform

__all__ = ["CommandAnswer", "Invocation", "Spoken", "command_hints", "parse", "perform"]
