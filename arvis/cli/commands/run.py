"""`arvis run`: runs the daemon in the foreground. Standard output contains only these lines: the daemon waits for its
database, the daemon is ready, and the first login link."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import click

from arvis.app import daemon
from arvis.cli.options import PlacedCommand
from arvis.config import ALL_ROLES, load
from arvis.process.memory import use_one_arena
from arvis.process.stalls import LoopWatch


@click.command(cls=PlacedCommand)
@click.option("--roles", metavar="LIST", help=f"Some of {','.join(ALL_ROLES)}.")
def run(*, config: Path | None, data: Path | None, roles: str | None) -> None:
    """Start the daemon and answer messages until it is stopped (SIGTERM or Ctrl-C; a second signal stops it
    immediately)."""
    # The roles are passed as an environment variable, because environment variables override the file.
    settings = load(config, data, os.environ if roles is None else {**os.environ, "ARVIS__ROLES": roles})
    use_one_arena()
    watch = LoopWatch()
    with asyncio.Runner(loop_factory=watch.new_loop) as runner:
        again = runner.run(daemon.run(settings, say=_say, watch=watch))
    if again:
        # A new program starts without any state of the old one. It has the same process id, so a service manager does
        # not notice the restart.
        options = {"--config": config, "--data": data, "--roles": roles}
        given = [text for name, value in options.items() if value is not None for text in (name, str(value))]
        os.execv(sys.executable, [sys.executable, "-m", "arvis", "run", *given])  # noqa: S606 its own program


def _say(line: str) -> None:
    """Print and flush a line, because the program that started the daemon may wait for the line at a pipe."""
    print(line, flush=True)
