"""`arvis version`: prints the version of Arvis."""

from __future__ import annotations

import platform
from pathlib import Path

import click

from arvis import __version__
from arvis.cli.options import PrintingCommand
from arvis.cli.output import Output


@click.command(cls=PrintingCommand)
def version(*, config: Path | None, data: Path | None) -> Output:  # noqa: ARG001 - every command takes both
    """Print the version of this Arvis. (--config and --data have no effect.)"""
    return Output({"version": __version__, "python": platform.python_version()}, f"arvis {__version__}")
