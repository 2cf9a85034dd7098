"""Runs the command `arvis` for `python -m arvis`."""

from __future__ import annotations

from arvis.cli import main

if __name__ == "__main__":
    main()
