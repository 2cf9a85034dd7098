"""The command line. Commands talk to people and to the daemon's API; the daemon makes all decisions."""

from arvis.cli.main import main

__all__ = ["main"]
