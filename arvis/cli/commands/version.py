"""`arvis version`."""

from __future__ import annotations

import platform
from pathlib import Path

import click

from arvis import __version__
from arvis.cli.options import json_option, place_options
from arvis.cli.output import print_json


@click.command()
@json_option
@place_options
def version(*, as_json: bool, config: Path | None, data: Path | None) -> None:  # noqa: ARG001
    """Print the version of this Arvis. (--config and --data have no effect.)"""
    if as_json:
        print_json({"version": __version__, "python": platform.python_version()})
    else:
        print(f"arvis {__version__}")
