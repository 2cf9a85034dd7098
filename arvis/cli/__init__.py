"""The command line. The commands read input, call the daemon's API and print results; the daemon makes all decisions."""

from arvis.cli.main import main

__all__ = ["main"]
