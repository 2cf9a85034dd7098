"""The shipped daemon as a black box: start it, wait for its ready line, kill it, stop it, suspend it.

Signals go to processes by id, never by name.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import yaml

from tests.crash.history import Boot
from tests.crash.tool_work import MODEL as WORK_MODEL
from tests.crash.tool_work import WINDOW
from tests.environment import daemon_environment, fork_server
from tests.fork_server import AsyncForkedProcess, fork

CHECKOUT = Path(__file__).resolve().parents[2]
HELPER = {"slug": "helper", "name": "Helper"}
READY = b"Arvis is ready"
READY_WITHIN = 30.0
STOPPED_WITHIN = 45.0
#: Exit code of a daemon whose data folder is in use by another one.
IN_USE = 3
#: Beginnings of lines that Python writes to standard error for an uncaught exception.
PYTHON_ERRORS = ("Traceback ", "Exception in thread", "Exception ignored", "Task exception", "Fatal Python error")


class DaemonFailed(Exception):
    """The daemon ended by itself or did not become ready. The text contains the end of its log."""


Process = AsyncForkedProcess | asyncio.subprocess.Process


def free_port() -> int:
    """Return a port that is free now. The daemon uses it in all its boots, as a real one does."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_config(
    path: Path,
    *,
    port: int,
    api_key: str,
    model_url: str,
    database: str | None,
    model_key: str = "crash",
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Write a configuration file with all external addresses on the loopback interface.

    `model_key` identifies the process to the model. `settings` are added.
    """
    account: dict[str, Any] = {
        "name": "main",
        "provider": "openai",
        "api_key": model_key,
        "model": "crash",
        "base_url": model_url,
    }
    account |= {"models": ["crash", WORK_MODEL]}
    config: dict[str, Any] = {
        "web": {"host": "127.0.0.1", "port": port, "api_keys": [api_key]},
        "accounts": [account],
        "agents": [HELPER],
        "context_windows": {WORK_MODEL: WINDOW},
        "routing": {"fallback": "helper"},
        "limits": {"messages_per_minute": None},  # the campaign writes as one person
    }
    if database is not None:
        config["database"] = database
    path.write_text(yaml.safe_dump(config | dict(settings or {})))


class Daemon:
    """A process with its own data folder and many boots. `up` is set while it is ready; the users wait for it."""

    def __init__(
        self,
        *,
        #: The folder from which the program is imported.
        code: Path,
        folder: Path,
        config: Path,
        #: A program that becomes the daemon.
        under: Sequence[str] = (),
        name: str = "daemon",
        #: None: all roles.
        roles: str | None = None,
        boot_log: BootLog | None = None,
    ) -> None:
        switches = [] if roles is None else ["--roles", roles]
        self._arguments = ["run", "--config", str(config), "--data", str(folder / "data"), *switches]
        self._under = under
        self._code = code
        self._folder = folder
        self._log: BinaryIO = (folder / "daemon.log").open("ab")
        self._boot_log = boot_log or BootLog()
        self._process: Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._suspended_at: float | None = None
        self.name = name
        self.up = asyncio.Event()

    @property
    def boots(self) -> tuple[Boot, ...]:
        return self._boot_log.boots

    @property
    def boot(self) -> int:
        return self._boot_log.of(self.name)

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start the next boot. Return as soon as the process exists."""
        self._boot_log.begin(self.name)
        self._process = await self._spawn(self._log)
        self._reader = asyncio.create_task(self._read(self._process))

    async def start_second(self) -> None:
        """Start a second daemon on the folder of the running one. Raise `DaemonFailed` unless it exits immediately."""
        with (self._folder / "second.log").open("ab") as log:
            second = await self._spawn(log)
            try:
                code = await asyncio.wait_for(second.wait(), READY_WITHIN)
            except TimeoutError:
                second.kill()
                code = await second.wait()
        if code != IN_USE:
            raise DaemonFailed(f"A second daemon on the same data folder ended with code {code}, not {IN_USE}")

    async def ready(self) -> None:
        """Wait for the ready line. Raise `DaemonFailed` if it does not come."""
        up, over = asyncio.create_task(self.up.wait()), asyncio.create_task(self._current().wait())
        try:
            await asyncio.wait({up, over}, timeout=READY_WITHIN, return_when=asyncio.FIRST_COMPLETED)
            if not self.up.is_set():
                what = f"ended with code {over.result()} before it was ready" if over.done() else "did not become ready"
                raise DaemonFailed(f"{self.name} {what}:\n{self.end_of_log()}")
        finally:
            up.cancel()
            over.cancel()

    def kill(self) -> None:
        """Send SIGKILL to the whole process group."""
        self.up.clear()
        self._boot_log.ended(self.name, killed=True)
        self._signal(signal.SIGKILL)

    async def killed(self) -> None:
        """Wait until the killed process has ended. Raise `DaemonFailed` if it had ended by itself."""
        code = await self._end()
        if code != -signal.SIGKILL:
            raise DaemonFailed(f"{self.name} ended by itself with code {code}:\n{self.end_of_log()}")

    def suspend(self) -> None:
        """Send SIGSTOP. The process is suspended without notice; its sockets and leases remain."""
        self._suspended_at = time.monotonic()
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        if self._suspended_at is not None:
            self._signal(signal.SIGCONT)
            self._boot_log.suspended(self.name, self._suspended_at)
            self._suspended_at = None

    def request_stop(self) -> None:
        """Send SIGTERM."""
        self._boot_log.stop_requested(self.name)
        self._signal(signal.SIGTERM)

    async def stopped(self) -> None:
        """Wait for the end of the drain. Raise `DaemonFailed` if it is not clean.

        SIGTERM may also end a process that is not ready yet: Python has no handler for it at first.
        """
        try:
            code = await asyncio.wait_for(self._end(), STOPPED_WITHIN)
        except TimeoutError as late:
            raise DaemonFailed(f"{self.name} did not end in {STOPPED_WITHIN:.0f} s:\n{self.end_of_log()}") from late
        if code != 0 and not (code == -signal.SIGTERM and self._boot_log.newest(self.name).ready is None):
            raise DaemonFailed(f"{self.name} ended with code {code} after SIGTERM:\n{self.end_of_log()}")

    async def stop(self) -> None:
        self.request_stop()
        await self.stopped()

    def complaints(self) -> list[str]:
        """Return the errors in the log, each once. Clients may not have noticed them."""
        lines = (self._folder / "daemon.log").read_text(errors="replace").splitlines()
        entries = [log_entry(line) for line in lines]
        texts = [text_of_entry(entry) for entry in entries if entry.get("level") in {"error", "critical"}]
        return list(dict.fromkeys(texts))

    async def close(self) -> None:
        """Kill the process if it is running, and close its log."""
        if self.alive:
            self.kill()
            await self._end()
        self._log.close()

    async def _spawn(self, log: BinaryIO) -> Process:
        environment = daemon_environment(self._code)
        if not self._under:
            server = fork_server(self._code)
            return await fork(server, self._arguments, cwd=self._folder, env=environment, stderr=log.fileno())
        return await asyncio.create_subprocess_exec(
            *(*self._under, sys.executable, "-m", "arvis", *self._arguments),
            cwd=self._folder,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )

    def _signal(self, number: signal.Signals) -> None:
        if self.alive:
            with suppress(ProcessLookupError):
                os.killpg(self._current().pid, number)

    async def _end(self) -> int:
        code = await self._current().wait()
        self.up.clear()
        if self._reader is not None:
            await asyncio.wait({self._reader})
        self._boot_log.ended(self.name)
        return code

    async def _read(self, process: Process) -> None:
        """Read standard output to its end, so that the daemon is never blocked by a full pipe."""
        assert process.stdout is not None
        async for line in process.stdout:
            if line.startswith(READY):
                self._boot_log.ready(self.name)
                self.up.set()

    def _current(self) -> Process:
        assert self._process is not None, "start() comes first"
        return self._process

    def end_of_log(self) -> str:
        return (self._folder / "daemon.log").read_text(errors="replace")[-4000:]


def log_entry(line: str) -> Mapping[str, Any]:
    """Parse one line of the log.

    A line that a kill has cut is ignored. A line that Python itself prints for an exception is an error.
    """
    try:
        entry = json.loads(line)
    except json.JSONDecodeError:
        return {"level": "error", "event": line} if line.startswith(PYTHON_ERRORS) else {}
    return entry if isinstance(entry, dict) else {}


def text_of_entry(entry: Mapping[str, Any]) -> str:
    """Return the event of an entry with the last lines of its traceback."""
    trace = str(entry.get("exception", "")).strip().splitlines()
    return f"The daemon logged: {entry.get('event')} {' | '.join(line.strip() for line in trace[-3:])}"


class BootLog:
    """A record of the boots, written by the harness as it observes them."""

    def __init__(self) -> None:
        self._boots: list[Boot] = []
        self._current: dict[str, int] = {}

    @property
    def boots(self) -> tuple[Boot, ...]:
        return tuple(self._boots)

    def of(self, place: str) -> int:
        """Return the number of this process's newest boot; 0 before its first."""
        return self._current.get(place, 0)

    def newest(self, place: str) -> Boot:
        return self._boots[self._current[place] - 1]

    def begin(self, place: str) -> None:
        boot = Boot(len(self._boots) + 1, time.monotonic(), None, None, place)
        self._boots.append(boot)
        self._current[place] = boot.number

    def ready(self, place: str) -> None:
        self._change(place, ready=time.monotonic())

    def stop_requested(self, place: str) -> None:
        self._change(place, stop_requested=time.monotonic())

    def suspended(self, place: str, since: float) -> None:
        self._change(place, suspended=(*self.newest(place).suspended, (since, time.monotonic())))

    def ended(self, place: str, *, killed: bool = False) -> None:
        """Record the end of the newest boot, unless it is recorded: a killed process ends when the signal is sent."""
        if self.newest(place).ended is None:
            self._change(place, ended=time.monotonic(), killed=killed)

    def _change(self, place: str, **changes: Any) -> None:
        number = self._current[place]
        self._boots[number - 1] = replace(self._boots[number - 1], **changes)
