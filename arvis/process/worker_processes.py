"""Programs that stay for a while and answer lines with lines, each below a guard (`programs_guard.py`)."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from contextlib import suppress

from arvis.domain.errors import ToolError
from arvis.ports.sandbox import Worker
from arvis.process.subprocesses import Bounds, Lifeline, start_guarded

_MOST_LINE = 4 * 1024 * 1024
_MOST_PROCESSES = 64
#: The report of an end has this many bytes of the program's last output.
_LAST_WORDS = 500
#: Seconds that the guard has to end everything.
_GRACE = 5.0


class GuardedWorkers:
    """`Workers`."""

    async def start(self, argv: Sequence[str], *, environment: Mapping[str, str], memory: int) -> Worker:
        lifeline = Lifeline()
        bounds = Bounds(memory, _MOST_PROCESSES)
        try:
            process = await start_guarded(argv, lifeline, environment=environment, bounds=bounds, limit=_MOST_LINE)
        except (OSError, ValueError) as error:
            lifeline.close()
            raise ToolError("The program could not be started.", why=str(error)) from None
        return GuardedWorker(process=process, lifeline=lifeline)


class GuardedWorker:
    """`Worker`. Its standard error is read all the time, so that it never blocks; the last part is kept."""

    def __init__(self, *, process: Process, lifeline: Lifeline) -> None:
        self._process = process
        self._lifeline = lifeline
        self._turn = asyncio.Lock()
        self._last_words = b""
        self._listening = asyncio.create_task(self._listen())

    async def ask(self, line: bytes, *, timeout: float) -> bytes:
        async with self._turn:
            try:
                async with asyncio.timeout(timeout):
                    return await self._exchange(line)
            except (TimeoutError, asyncio.CancelledError) as error:
                await self.close()  # its answer would be taken for the next one
                if isinstance(error, TimeoutError):
                    raise ToolError(f"The program gave no answer within {timeout:.0f} seconds.") from None
                raise

    async def close(self) -> None:
        self._lifeline.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await self._process.wait()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)

    async def _exchange(self, line: bytes) -> bytes:
        process = self._process
        assert process.stdin is not None  # noqa: S101 it was started with pipes
        assert process.stdout is not None  # noqa: S101 (as above)
        try:
            process.stdin.write(line + b"\n")
            await process.stdin.drain()
            answer = await process.stdout.readline()
        except (ConnectionError, ValueError):  # ValueError: a line without an end
            answer = b""
        if answer.endswith(b"\n"):
            return answer[:-1]
        await self.close()
        words = self._last_words.decode("utf-8", "replace").strip()
        raise ToolError("The program has ended.", why=words)

    async def _listen(self) -> None:
        assert self._process.stderr is not None  # noqa: S101 (as above)
        while piece := await self._process.stderr.read(_MOST_LINE):
            self._last_words = (self._last_words + piece)[-_LAST_WORDS:]
