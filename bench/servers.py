"""The whole daemon, as users start it, and the bare echo server, as separate processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.people import Endpoint, Server
from tests.acceptance.daemon import Daemon, running_daemon

ROOT = Path(__file__).parents[1]

#: The program that starts each daemon. Tests fork their daemons from a process with all imports, so that neither the time
#: of the start nor the memory would be that of a user's daemon.
STARTER = ("/usr/bin/env",)
#: The settings of every daemon: the answering agent has no rules of its own, so that prompts are short.
PLAIN = {"ARVIS__ROUTING__FALLBACK": "helper"}


@contextmanager
def daemon(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Run a daemon that is ready for messages. It gets no API key from our environment, so the demo answers unless
    `settings` configure another model."""
    folder.mkdir(parents=True, exist_ok=True)
    with running_daemon(folder, settings={**PLAIN, **(settings or {})}, under=STARTER) as running:
        yield server_of(running)
        running.stop()


def server_of(running: Daemon) -> Server:
    return Server([Endpoint(running.url, running.api_key)], [running.pid])


@contextmanager
def echo() -> Iterator[Server]:
    process = subprocess.Popen([sys.executable, "-m", "bench.echo"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Server([Endpoint(process.stdout.readline().strip(), "")], [process.pid])
    finally:
        process.kill()
        process.communicate()
