"""The daemon and the command line as their user starts them: with their own folder and a free port.

No settings or keys of this process reach them, so the demo model answers. Daemons are ended by process id.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from tests.environment import daemon_environment, fork_server, forkable
from tests.fork_server import ForkedProcess

ROOT = Path(__file__).parents[2]
READY = re.compile(r"Arvis is ready(?: at (http://127\.0\.0\.1:\d+))?\n")
LINK = re.compile(r"http://127\.0\.0\.1:\d+/#login=[\w-]+")
START_SECONDS = 60.0
STOP_SECONDS = 30.0

Process = subprocess.Popen[str] | ForkedProcess


def environment(**more: str) -> dict[str, str]:
    return {**daemon_environment(ARVIS__WEB__PORT="0"), **more}


def arvis(
    *arguments: str, cwd: Path, typed: str = "", environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; `typed` is its standard input."""
    env = environment(**(environ or {}))
    with (
        tempfile.TemporaryFile("w+") as stdin,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        stdin.write(typed)
        stdin.seek(0)
        process = start(arguments, cwd=cwd, env=env, stdin=stdin.fileno(), stdout=out.fileno(), stderr=err.fileno())
        try:
            code = process.wait(START_SECONDS)
        finally:
            process.kill()
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(["arvis", *arguments], code, out.read(), err.read())


def start(
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stderr: int,
    stdout: int | None = None,
    stdin: int | None = None,
    under: Sequence[str] = (),
) -> Process:
    """Start `arvis` through the program `under`, or directly. Without `stdout`, its standard output is a pipe."""
    if not under and forkable(env):
        return ForkedProcess(fork_server(), arguments, cwd=cwd, env=env, stderr=stderr, stdout=stdout, stdin=stdin)
    return subprocess.Popen(
        [*under, sys.executable, "-m", "arvis", *arguments],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=stderr,
        text=True,
        start_new_session=True,
    )


class Daemon:
    """A daemon that can be started several times with one data folder (`folder/data`), each time on a free port.

    `settings` are further environment variables. `under` is a program that starts the daemon and ends when the daemon
    ends. `url` is "" for a process without the web. `login_link` is the link that the very first start prints, and ""
    for later starts.
    """

    def __init__(self, folder: Path, *, settings: Mapping[str, str] | None = None, under: Sequence[str] = ()) -> None:
        self.under = under
        self.folder = folder
        self.data = folder / "data"
        self.settings = dict(settings or {})
        self.url = ""
        self.login_link = ""
        self._process: Process | None = None

    @property
    def api_key(self) -> str:
        return (self.data / "api-key").read_text().strip()

    @property
    def pid(self) -> int:
        return self._living().pid

    def start(self) -> None:
        """Return when the daemon is ready; after the first start, `login_link` is set."""
        first = not (self.data / "node-id").exists()
        with (self.folder / "daemon.log").open("ab") as log:
            self._process = start(
                ["run", "--data", str(self.data)],
                cwd=self.folder,
                env=environment(**self.settings),
                stderr=log.fileno(),
                under=self.under,
            )
        self.url = self._line(READY)[1] or ""
        self.login_link = self._line(LINK)[0] if first and self.url else ""

    def stop(self) -> str:
        """Send SIGTERM, expect exit code 0, and return the remaining standard output."""
        self._living().terminate()
        code, rest = self._ended(STOP_SECONDS)
        assert code == 0, self.log()
        return rest

    def kill(self) -> None:
        """Send SIGKILL, and wait for the end of the process."""
        with contextlib.suppress(ProcessLookupError):  # a test may have killed it by its id
            os.killpg(self.pid, signal.SIGKILL)
        self._ended()

    def end(self) -> int:
        """Wait until the daemon ends without a signal, and return its exit code."""
        return self._ended(STOP_SECONDS)[0]

    def close(self) -> None:
        """End the process, whatever happened before."""
        if self._process is not None and self._process.returncode is None:
            self.kill()

    def arvis(self, *arguments: str, typed: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the daemon's user in the same folder."""
        return arvis(*arguments, "--data", str(self.data), cwd=self.folder, typed=typed, environ=environ)

    def log(self) -> str:
        return (self.folder / "daemon.log").read_text(errors="replace")[-4000:]

    def _ended(self, timeout: float | None = None) -> tuple[int, str]:
        """Wait for the end of the process, and return its exit code and the rest of its standard output."""
        code = self._living().wait(timeout)
        with _output(self._living()) as out:
            return code, out.read()

    def _line(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Return the next line of standard output. A daemon that writes none in time is killed, which ends the wait."""
        process = self._living()
        timer = threading.Timer(START_SECONDS, process.kill)
        timer.start()
        try:
            line = _output(process).readline()
        finally:
            timer.cancel()
        found = pattern.search(line)
        assert found is not None, f"unexpected line {line!r}; the log ends with:\n{self.log()}"
        return found

    def _living(self) -> Process:
        assert self._process is not None, "start() comes first"
        return self._process


@contextlib.contextmanager
def running_daemon(
    folder: Path, *, settings: Mapping[str, str] | None = None, under: Sequence[str] = ()
) -> Iterator[Daemon]:
    """Start a daemon, yield it when it is ready, and end it after the block."""
    daemon = Daemon(folder, settings=settings, under=under)
    try:
        daemon.start()
        yield daemon
    finally:
        daemon.close()


def _output(process: Process) -> IO[str]:
    assert process.stdout is not None
    return process.stdout
