"""The command line (interfaces.md §2). Commands talk to people and to the daemon's API; they decide nothing."""

from arvis.cli.main import main

__all__ = ["main"]
