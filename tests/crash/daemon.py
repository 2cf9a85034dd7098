"""The shipped daemon as a black box: start it, wait for its ready line, kill it, stop it. By process id, never by name."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import yaml

from tests.crash.history import Boot

READY = b"Arvis is ready at "
READY_WITHIN = 30.0
STOPPED_WITHIN = 45.0
#: Lines that Python writes to standard error when nobody caught an exception.
PYTHONS_OWN = ("Traceback ", "Exception in thread", "Exception ignored", "Task exception", "Fatal Python error")


class DaemonFailed(Exception):
    """The daemon ended by itself, or did not become ready; the text holds the end of its log."""


def free_port() -> int:
    """A port that is free now. The daemon keeps it over all its lives, as a real one would."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_config(path: Path, *, port: int, api_key: str, model_url: str, database: str | None) -> None:
    """A configuration as a user would write it, every outside address on loopback."""
    config = {
        "web": {"host": "127.0.0.1", "port": port, "api_keys": [api_key]},
        "accounts": [
            {"name": "main", "provider": "openai", "api_key": "crash", "model": "crash", "base_url": model_url}
        ],
        "agents": [{"slug": "helper", "name": "Helper"}],
        "routing": {"fallback": "helper"},
    }
    if database is not None:
        config["database"] = database
    path.write_text(yaml.safe_dump(config))


class Daemon:
    """One data folder, many lives. `command` is what starts the program, `code` the folder that it is imported
    from. `up` is set while it is ready; users wait for it."""

    def __init__(self, *, command: Sequence[str], code: Path, folder: Path, config: Path) -> None:
        self._command = [*command, "run", "--config", str(config), "--data", str(folder / "data")]
        self._environment = _environment(code)
        self._folder = folder
        self._log: BinaryIO = (folder / "daemon.log").open("ab")
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._boots: list[Boot] = []
        self.up = asyncio.Event()

    @property
    def boots(self) -> tuple[Boot, ...]:
        return tuple(self._boots)

    @property
    def boot(self) -> int:
        return len(self._boots)

    async def start(self) -> None:
        """Start the next life; returns as soon as the process is there."""
        self._boots.append(Boot(len(self._boots) + 1, time.monotonic(), None, None))
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            cwd=self._folder,
            env=self._environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        self._reader = asyncio.create_task(self._read(self._process))

    async def ready(self) -> None:
        """Wait for the ready line; `DaemonFailed` when it does not come."""
        up, over = asyncio.create_task(self.up.wait()), asyncio.create_task(self._living().wait())
        try:
            await asyncio.wait({up, over}, timeout=READY_WITHIN, return_when=asyncio.FIRST_COMPLETED)
            if not self.up.is_set():
                what = f"ended with code {over.result()} before it was ready" if over.done() else "did not become ready"
                raise DaemonFailed(f"The daemon {what}:\n{self.end_of_log()}")
        finally:
            up.cancel()
            over.cancel()

    def kill(self) -> None:
        """SIGKILL to the whole process group, now."""
        self.up.clear()
        self._note_end()
        with suppress(ProcessLookupError):
            os.killpg(self._living().pid, signal.SIGKILL)

    async def dead(self) -> None:
        """Wait until the killed process is gone; `DaemonFailed` when it had ended by itself before."""
        code = await self._gone()
        if code != -signal.SIGKILL:
            raise DaemonFailed(f"The daemon ended by itself with code {code}:\n{self.end_of_log()}")

    async def stop(self) -> None:
        """SIGTERM, and wait for the drain; `DaemonFailed` when it is not clean."""
        self._living().terminate()
        try:
            code = await asyncio.wait_for(self._gone(), STOPPED_WITHIN)
        except TimeoutError as late:
            raise DaemonFailed(f"No end {STOPPED_WITHIN:.0f} s after SIGTERM:\n{self.end_of_log()}") from late
        if code != 0:
            raise DaemonFailed(f"Exit code {code} after SIGTERM:\n{self.end_of_log()}")

    def complaints(self) -> list[str]:
        """What the log calls an error, each once: a client may not even have noticed."""
        lines = (self._folder / "daemon.log").read_text(errors="replace").splitlines()
        entries = [_entry(line) for line in lines]
        told = [_told(entry) for entry in entries if entry.get("level") in {"error", "critical"}]
        return list(dict.fromkeys(told))

    async def close(self) -> None:
        """Leave nothing behind, whatever happened."""
        if self._process is not None and self._process.returncode is None:
            self.kill()
            await self._gone()
        self._log.close()

    async def _gone(self) -> int:
        code = await self._living().wait()
        self.up.clear()
        if self._reader is not None:
            await self._reader
        self._note_end()
        return code

    def _note_end(self) -> None:
        if self._boots[-1].ended is None:
            self._boots[-1] = replace(self._boots[-1], ended=time.monotonic())

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Read standard output to its end, so that the daemon never blocks on it."""
        assert process.stdout is not None
        async for line in process.stdout:
            if line.startswith(READY):
                self._boots[-1] = replace(self._boots[-1], ready=time.monotonic())
                self.up.set()

    def _living(self) -> asyncio.subprocess.Process:
        assert self._process is not None, "start() comes first"
        return self._process

    def end_of_log(self) -> str:
        return (self._folder / "daemon.log").read_text(errors="replace")[-4000:]


def _entry(line: str) -> Mapping[str, Any]:
    """One line of the log. What a kill cut in two says nothing; what Python prints by itself is an error."""
    try:
        entry = json.loads(line)
    except json.JSONDecodeError:
        return {"level": "error", "event": line} if line.startswith(PYTHONS_OWN) else {}
    return entry if isinstance(entry, dict) else {}


def _told(entry: Mapping[str, Any]) -> str:
    """The event with the last lines of its traceback."""
    trace = str(entry.get("exception", "")).strip().splitlines()
    return f"The daemon logged: {entry.get('event')} {' | '.join(line.strip() for line in trace[-3:])}"


def _environment(code: Path) -> Mapping[str, str]:
    """Nothing of the caller's own settings or keys reaches the daemon."""
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG", "TMPDIR"}}
    return kept | {"PYTHONPATH": str(code)}
