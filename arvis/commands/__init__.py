"""Text commands, the same on every surface: the daemon itself answers them, in one transaction and without a model."""

from arvis.commands.invocation import Invocation, Said, Spoken
from arvis.commands.registry import command_hints, parse, perform

__all__ = ["Invocation", "Said", "Spoken", "command_hints", "parse", "perform"]
