"""Whisper on this machine, in a worker process (`speech_worker.py`) that starts with the first voice message and ends
after a time without work: a loaded model takes hundreds of megabytes."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import Mapping

from arvis.domain.errors import ToolError
from arvis.ports.clock import Clock
from arvis.ports.sandbox import Worker, Workers
from arvis.ports.transcriber import Sound, SpeechError
from arvis.providers import speech_worker
from arvis.providers.speech import environment_of, name_of

#: Seconds that a worker stays without work, and the timeout for one sound: the model may have to be downloaded and
#: loaded.
IDLE_SECONDS = 300.0
_SECONDS = 900.0


class LocalTranscriber:
    """Implements `Transcriber`. `engine` is `openai-whisper` or `faster-whisper`, `model` a name or the path of a
    model, `memory` the worker's limit in bytes. It transcribes one sound at a time."""

    def __init__(
        self,
        *,
        workers: Workers,
        clock: Clock,
        engine: str,
        model: str,
        language: str | None,
        environ: Mapping[str, str],
        memory: int,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._workers = workers
        self._clock = clock
        self._settings = {"engine": engine, "model": model, "language": language}
        self._environment = environment_of(environ) | {"OMP_NUM_THREADS": "2"}
        self._memory = memory
        self._idle_seconds = idle_seconds
        self._turn = asyncio.Lock()
        self._worker: Worker | None = None
        self._resting: asyncio.Task[None] | None = None

    async def transcribe(self, sound: Sound) -> str:
        line = json.dumps({"name": name_of(sound), "data": base64.b64encode(sound.data).decode()}).encode()
        async with self._turn:
            await self._wake()
            try:
                answer = json.loads(await self._ask(line))
            finally:
                self._resting = asyncio.create_task(self._rest())
        if "problem" in answer:
            raise SpeechError(answer["problem"], permanent=True)
        return str(answer["text"])

    async def close(self) -> None:
        await self._wake()
        await self._end()

    async def _ask(self, line: bytes) -> bytes:
        try:
            if self._worker is None:
                argv = [sys.executable, "-m", speech_worker.__name__, json.dumps(self._settings)]
                self._worker = await self._workers.start(argv, environment=self._environment, memory=self._memory)
            return await self._worker.ask(line, timeout=_SECONDS)
        except ToolError as failed:
            await self._end()
            why = f" ({' '.join(failed.why.split())[-200:]})" if failed.why else ""
            raise SpeechError(f"the speech engine failed: {failed.what}{why}", permanent=True) from None

    async def _wake(self) -> None:
        """Cancel the timer that ends an idle worker."""
        if self._resting is not None:
            self._resting.cancel()
            await asyncio.gather(self._resting, return_exceptions=True)
            self._resting = None

    async def _rest(self) -> None:
        await self._clock.sleep(self._idle_seconds)
        await self._end()

    async def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.close()
