"""Text commands, the same on every surface: the daemon itself answers them, in one transaction and without a model."""

from arvis.commands.invocation import Invocation, Spoken
from arvis.commands.registry import parse, run

__all__ = ["Invocation", "Spoken", "parse", "run"]
