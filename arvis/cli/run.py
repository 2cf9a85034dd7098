"""`arvis run`: the daemon in the foreground. Standard output carries the ready line and the first login link only."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Annotated

import typer

from arvis import app as daemon
from arvis.cli.options import ConfigFile, DataFolder, new_app
from arvis.config import ALL_ROLES, load

Roles = Annotated[str | None, typer.Option("--roles", metavar="LIST", help=f"Some of {','.join(ALL_ROLES)}.")]

app = new_app()


@app.command()
def run(*, config: ConfigFile = None, data: DataFolder = None, roles: Roles = None) -> None:
    """Start the daemon and answer messages until it is stopped (SIGTERM or Ctrl-C; a second one stops at once)."""
    settings = load(config, data, _environment(roles))
    asyncio.run(daemon.run(settings, say=_say))


def _environment(roles: str | None) -> Mapping[str, str]:
    """The process's own, with the roles in the form that wins over the file."""
    return os.environ if roles is None else {**os.environ, "ARVIS__ROLES": roles}


def _say(line: str) -> None:
    """Whoever started the daemon may be reading a pipe and waiting for this line."""
    print(line, flush=True)
