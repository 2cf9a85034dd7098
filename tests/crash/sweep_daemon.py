"""One data folder over several boots, with its two users and their model, for sweep and injection."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import yaml

from arvis.testing.openai_server import openai_server
from tests.crash.daemon import READY, BootLog, free_port, write_config
from tests.crash.endpoint import Endpoint, Endpoints
from tests.crash.history import History, Shown
from tests.crash.model import Model
from tests.crash.rows import offending
from tests.crash.sweep_users import (
    HTTP,
    PATIENCE,
    SOCKET,
    Conversation,
    FailFastSocket,
    FailsOnceModel,
    HttpPost,
    Line,
    within,
)
from tests.crash.triggers import Observation, Trigger, Triggers
from tests.crash.users import Refused
from tests.environment import daemon_environment, fork_server
from tests.fork_server import AsyncForkedProcess, fork

ATTACHED = b" attached"
API_KEY = "sweep-key"
#: The name of the only process.
PLACE = "daemon"
#: Two accounts have these settings: the second one answers if the first one fails.
#: A job that fails is retried soon and often.
ACCOUNT = {"provider": "openai", "api_key": PLACE, "model": "crash"}
QUEUE = {"retry_base_seconds": 0.05, "max_attempts": 20}


class StraceRefused(Exception):
    """This machine does not allow strace to attach to a process."""


class TracedProcess:
    """A process. `ended` is its exit code, negative for a signal."""

    def __init__(self, process: AsyncForkedProcess) -> None:
        self.ended = process.ended
        self._process = process
        self._strace: asyncio.subprocess.Process | None = None

    async def attach_strace(self, options: Sequence[str], log: Path) -> None:
        """Attach strace before the process begins its work. Raise `StraceRefused` if this is not possible."""
        command = ["strace", "-f", "-o", str(log), *options, "-p", str(self._process.pid)]
        try:
            self._strace = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        except FileNotFoundError as missing:
            raise StraceRefused(str(missing)) from missing
        assert self._strace.stderr is not None
        output = b""
        # A warning may come before the line that reports the attachment.
        while ATTACHED not in output:
            if not (line := await self._strace.stderr.readline()):
                raise StraceRefused(output.decode(errors="replace").strip())
            output += line

    async def begin(self) -> bool:
        """Let the process run. Return whether it became ready before its end. Raise `TimeoutError` if neither happens
        in time."""
        self._process.release()
        async with asyncio.timeout(PATIENCE):
            while line := await self._process.stdout.readline():
                if line.startswith(READY):
                    return True
            await self._process.wait()
        return False

    def kill(self) -> None:
        if not self.ended.done():
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def stop(self) -> int:
        """Send SIGTERM and return the exit code. Raise `TimeoutError` if the process does not end."""
        self._process.terminate()
        async with asyncio.timeout(PATIENCE):
            return await self._process.wait()

    async def close(self) -> None:
        """Kill the process if it is alive, and wait for the end of strace."""
        self.kill()
        await self._process.wait()
        if self._strace is not None:
            await self._strace.communicate()
            self._strace = None


async def traced_process(code: Path, arguments: Sequence[str], folder: Path, log: Path) -> TracedProcess:
    """Fork a process of the program in `code` that waits before it begins. Its standard error goes to `log`."""
    environment = daemon_environment(code)
    with log.open("ab") as errors:
        process = await fork(
            fork_server(code), arguments, cwd=folder, env=environment, stderr=errors.fileno(), hold=True
        )
    return TracedProcess(process)


async def prove_strace(code: Path, folder: Path) -> None:
    """Raise `StraceRefused` if strace cannot be used."""
    process = await traced_process(code, ["version"], folder, folder / "proof.log")
    try:
        await process.attach_strace([], folder / "proof.strace")
    finally:
        await process.close()


@dataclass(slots=True)
class Records:
    """The records over all boots: refusals that users received, and problems that no user may meet."""

    boot_log: BootLog = field(default_factory=BootLog)
    refusals: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class SweepDaemon:
    """Starts processes one after the other: `start`, then further methods, and `finish` for the last one."""

    def __init__(
        self,
        *,
        code: Path,
        folder: Path,
        endpoint: Endpoint,
        model: Model,
        triggers: Triggers,
        conversation: Conversation,
        socket: FailFastSocket,
        records: Records,
    ) -> None:
        self.folder = folder
        self.records = records
        self._code = code
        self._endpoint = endpoint
        self._model = model
        self._triggers = triggers
        self._conversation = conversation
        self._socket = socket
        self._process: TracedProcess | None = None
        self._disturbed = False
        self._writing: asyncio.Task[None] | None = None
        self._rows: dict[str, list[str]] = {}
        self._transcripts: dict[str, list[Shown]] = {}

    @property
    def config(self) -> Path:
        return self.folder / "config.yaml"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """Return the file with the current process's standard error."""
        return self.folder / f"process-{self.records.boot_log.of(PLACE)}.log"

    @property
    def trace(self) -> Path:
        return self.folder / f"process-{self.records.boot_log.of(PLACE)}.strace"

    def configure(self, **settings: Any) -> None:
        self.config.write_text(yaml.safe_dump(yaml.safe_load(self.config.read_text()) | settings))

    def begin_conversation(self, script: Sequence[Line]) -> None:
        """Let the users begin to write. They continue in all boots and wait while no daemon is ready."""
        self._writing = asyncio.create_task(self._conversation.play(script))

    async def start(self, strace: Sequence[str] | None = None) -> bool:
        """Start the next process, with strace or not. Return whether it became ready. Raise `TimeoutError` if it hangs."""
        arguments = ["run", "--config", str(self.config), "--data", str(self.data)]
        self.records.boot_log.begin(PLACE)
        self._process, self._disturbed = await traced_process(self._code, arguments, self.folder, self.log), False
        self._process.ended.add_done_callback(self._record_end)
        if strace is not None:
            await self.attach_strace(strace)
        ready = await self._process.begin()
        if ready and not self._process.ended.done():
            self.records.boot_log.ready(PLACE)
        return ready

    async def attach_strace(self, strace: Sequence[str]) -> None:
        """Attach strace to the current process, which counts as disturbed then."""
        self._disturbed = True
        await self.process.attach_strace(strace, self.trace)

    def open(self) -> None:
        """Let the users connect."""
        if not self.process.ended.done():
            self._endpoint.up.set()

    async def wait_for_conversation(self, seconds: float) -> None:
        """Wait until every message is written and answered, the process ends, or the time is over."""
        waiting: set[asyncio.Future[Any]] = {self.process.ended}
        if self._writing is not None:
            waiting.add(self._writing)
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    async def kill_at_model_call(self, requests: int) -> None:
        """Kill the daemon during the N-th model request of this process."""
        async with asyncio.timeout(requests * PATIENCE):
            await _occurrences(self._triggers.asked, requests)
        await self.kill()

    async def kill(self) -> None:
        self.process.kill()
        await self.over()

    async def stop(self) -> int:
        """Send SIGTERM and return the exit code, negative for a signal. Raise `TimeoutError` if the daemon hangs."""
        self._endpoint.up.clear()
        await self.process.stop()
        return await self.over()

    async def over(self) -> int:
        """Wait for the end of the current process and return its exit code."""
        code = await self.process.ended
        await self.process.close()
        return code

    async def finish(self, script: Sequence[Line]) -> None:
        """Play the last process without disturbance: answer and show all messages, stop cleanly, and query the rows.

        Failures become problems of the history.
        """
        if self._writing is None:
            self.begin_conversation(script)
        try:
            if not await self.start():
                self.records.problems.append(f"The next start ended with {await self.over()}: {self.end_of_log()}")
                return
            self.open()
            assert self._writing is not None
            if not await within(PATIENCE, self._writing):
                self.records.problems.append(f"Not everything was answered {PATIENCE:.0f} s after the restart")
            await self._read_channels()
            if (code := await self.stop()) != 0:
                self.records.problems.append(f"The stop ended with {code}: {self.end_of_log()}")
        except TimeoutError:
            self.records.problems.append(f"The next process hung: {self.end_of_log()}")
            return
        self._rows = offending(self.data, None)

    def end_of_log(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]

    @property
    def process(self) -> TracedProcess:
        assert self._process is not None, "start comes first"
        return self._process

    def history(self) -> History:
        return History(
            sent=self._conversation.sent,
            live={SOCKET: self._socket.shown},
            transcripts=self._transcripts,
            timelines=self._conversation.timelines,
            calls=self._model.calls,
            boots=self.records.boot_log.boots,
            problems=tuple(self.records.problems),
            rows=self._rows,
        )

    async def _read_channels(self) -> None:
        for channel in (HTTP, SOCKET):
            with suppress(*Refused):
                self._transcripts[channel] = await self._endpoint.transcript(channel, within=10)
        shown = len(self._transcripts.get(SOCKET, ()))
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                while self._socket.last_seq < shown:
                    await _occurrences(self._triggers.shown)

    def _record_end(self, ended: asyncio.Future[int]) -> None:
        self._endpoint.up.clear()
        self.records.boot_log.ended(PLACE, killed=self._disturbed or ended.result() != 0)

    async def close(self) -> None:
        if self._writing is not None:
            await _cancel(self._writing)
        if self._process is not None:
            await self._process.close()


@asynccontextmanager
async def sweep_daemon(code: Path, folder: Path) -> AsyncIterator[SweepDaemon]:
    """Yield a daemon in this folder."""
    records, triggers, port = Records(), Triggers(), free_port()
    model = Model(rng=Random(0), boot_of=records.boot_log.of, triggers=triggers, delay=(0.0, 0.004))
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    async with (
        openai_server(default=FailsOnceModel(model)) as server,
        aiohttp.ClientSession(timeout=timeout) as session,
    ):
        endpoint = Endpoint(session, f"http://127.0.0.1:{port}", API_KEY, asyncio.Event())
        sender: dict[str, Any] = {
            "endpoints": Endpoints([endpoint]),
            "rng": Random(0),
            "problem": records.refusals.append,
        }
        socket = FailFastSocket(channel=SOCKET, on_message=triggers.shown, **sender)
        conversation = Conversation(endpoint, HttpPost(channel=HTTP, **sender), socket, problem=records.problems.append)
        daemon = SweepDaemon(
            code=code,
            folder=folder,
            endpoint=endpoint,
            model=model,
            triggers=triggers,
            conversation=conversation,
            socket=socket,
            records=records,
        )
        accounts = [{"name": name, "base_url": server.base_url, **ACCOUNT} for name in ("main", "spare")]
        settings = {"accounts": accounts, "queue": QUEUE}
        write_config(
            daemon.config, port=port, api_key=API_KEY, model_url=server.base_url, database=None, settings=settings
        )
        listening = asyncio.create_task(socket.listen())
        try:
            yield daemon
        finally:
            await _cancel(listening)
            await daemon.close()


async def _occurrences(trigger: Trigger, number: int = 1) -> None:
    """Wait for this number of occurrences. The trigger is armed again at once, because several may follow each other
    before this task runs."""
    seen, left = asyncio.Event(), number

    def note(_: Observation) -> None:
        nonlocal left
        left -= 1
        if left:
            trigger.arm(note)
        else:
            seen.set()

    trigger.arm(note)
    await seen.wait()


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
