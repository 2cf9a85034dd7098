"""Speech engines: an API in OpenAI's format, programs that the owner configures, and Whisper on this machine.

Programs run without a shell; their commands are split into words at the start. Whisper runs in a worker process
(`speech_worker.py`) that starts with the first voice message and ends after `IDLE_SECONDS` without work, because a
loaded model takes hundreds of megabytes of memory.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ToolError
from arvis.ports.clock import Clock
from arvis.ports.http import FormFile, HttpClient, HttpError, HttpResponse
from arvis.ports.sandbox import Programs, Task, Worker, Workers
from arvis.ports.transcriber import Sound, SpeechError
from arvis.providers import speech_worker

_SUFFIXES = {
    "audio/ogg": ".ogg",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "audio/webm": ".webm",
    "audio/mp4": ".m4a",
    "audio/flac": ".flac",
    "audio/amr": ".amr",
}
#: The environment variables of Arvis that an owner's speech program inherits.
_SHOWN = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")


def name_of(sound: Sound) -> str:
    """Return a file name for the sound. Engines rely on the extension of the name, and the names that people give files
    may have a wrong extension or no extension."""
    return f"voice{_SUFFIXES.get(sound.content_type, '.bin')}"


@contextmanager
def laid_out(sound: Sound) -> Iterator[Path]:
    """Write the sound to a private file, and delete the file at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="arvis-voice-") as folder:
        path = Path(folder) / name_of(sound)
        path.write_bytes(sound.data)
        yield path


def environment_of(environ: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.defpath, **{name: environ[name] for name in _SHOWN if name in environ}}


# -- the API: `/audio/transcriptions` and `/audio/speech` --------------------------------------------------------------


BASE_URL = "https://api.openai.com/v1"

_SECONDS = 300.0
_MOST_ANSWER = 2_097_152
_MOST_SOUND = 20_971_520
#: The maximum length, in characters, of a text that the vendor reads aloud in one request.
_MOST_TEXT = 4_096

#: The HTTP statuses of temporary faults. After every other error status, a retry is useless.
_PASSING = frozenset({408, 409, 425, 429, *range(500, 600)})
_KEY_REFUSED = frozenset({401, 403})


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """The address of the API, and its key. `api_key` is None if the API needs no key."""

    base_url: str
    api_key: str | None = field(default=None, repr=False)


class ApiTranscriber:
    """Implements `Transcriber`. `access` is called before every request, because accounts change while the daemon
    runs."""

    def __init__(
        self, *, http: HttpClient, access: Callable[[], ApiAccess], model: str, language: str | None = None
    ) -> None:
        self._http = http
        self._access = access
        self._fields = {"model": model, "response_format": "json", **({"language": language} if language else {})}

    async def transcribe(self, sound: Sound) -> str:
        access = self._access()
        try:
            async with self._http.post_form(
                f"{access.base_url.rstrip('/')}/audio/transcriptions",
                headers=_headers(access),
                fields=self._fields,
                files=[FormFile("file", name_of(sound), sound.content_type, sound.data)],
                timeout=_SECONDS,
                idle_timeout=_SECONDS,
                max_bytes=_MOST_ANSWER,
            ) as response:
                _check(response)
                return _text_in(await response.body())
        except HttpError as error:
            raise SpeechError(f"the speech service does not answer: {error}") from None

    async def close(self) -> None: ...


class ApiSpeaker:
    """Implements `Speaker`. A text that is too long is cut to the vendor's limit."""

    def __init__(self, *, http: HttpClient, access: Callable[[], ApiAccess], model: str, voice: str) -> None:
        self._http = http
        self._access = access
        self._model = model
        self._voice = voice

    async def speak(self, text: str) -> Sound:
        access = self._access()
        document = {"model": self._model, "voice": self._voice, "input": text[:_MOST_TEXT], "response_format": "opus"}
        try:
            async with self._http.post(
                f"{access.base_url.rstrip('/')}/audio/speech",
                headers=_headers(access),
                json=document,
                timeout=_SECONDS,
                idle_timeout=_SECONDS,
                max_bytes=_MOST_SOUND,
            ) as response:
                _check(response)
                data = await response.body()
        except HttpError as error:
            raise SpeechError(f"the speech service does not answer: {error}") from None
        if not data:
            raise SpeechError("the speech service returned no audio")
        return Sound(data, "audio/ogg", "answer.ogg")

    async def close(self) -> None: ...


def _headers(access: ApiAccess) -> dict[str, str]:
    return {"Authorization": f"Bearer {access.api_key}"} if access.api_key else {}


def _check(response: HttpResponse) -> None:
    status = response.status
    if status in range(200, 300):
        return
    if status in _KEY_REFUSED:
        raise SpeechError("the speech service rejected the configured key", permanent=True)
    raise SpeechError(f"the speech service refused the request (HTTP {status})", permanent=status not in _PASSING)


def _text_in(body: bytes) -> str:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    text = document.get("text") if isinstance(document, dict) else None
    if not isinstance(text, str):
        raise SpeechError("the speech service sent an answer in an unexpected format", permanent=True)
    return text


# -- programs ----------------------------------------------------------------------------------------------------------


#: The placeholder in a command for the path of the sound. If a command has no placeholder, the sound is passed on
#: standard input.
FILE = "{file}"

_MOST_TRANSCRIPT = 1_048_576
_LONGEST_ERROR_OUTPUT = 200


class CommandTranscriber:
    """Implements `Transcriber` with a program that prints the transcript."""

    def __init__(self, *, programs: Programs, command: str, environ: Mapping[str, str], memory: int) -> None:
        self._run = _Command(programs=programs, environ=environ, memory=memory)
        self._argv = shlex.split(command)

    async def transcribe(self, sound: Sound) -> str:
        with laid_out(sound) as path:
            argv = [word.replace(FILE, str(path)) for word in self._argv]
            stdin = b"" if argv != self._argv else sound.data
            return (
                (await self._run.output(argv, path.parent, stdin, _MOST_TRANSCRIPT)).decode("utf-8", "replace").strip()
            )

    async def close(self) -> None: ...


class CommandSpeaker:
    """Implements `Speaker` with a program that reads the text and writes a sound to standard output. The sound is sent
    with `content_type` and `filename`."""

    def __init__(
        self,
        *,
        programs: Programs,
        command: str,
        environ: Mapping[str, str],
        memory: int,
        content_type: str = "audio/wav",
        filename: str = "answer.wav",
    ) -> None:
        self._run = _Command(programs=programs, environ=environ, memory=memory)
        self._argv = shlex.split(command)
        self._content_type = content_type
        self._filename = filename

    async def speak(self, text: str) -> Sound:
        data = await self._run.output(self._argv, Path("/"), text.encode("utf-8", "replace"), _MOST_SOUND)
        if not data:
            raise SpeechError("the text-to-speech program produced no audio", permanent=True)
        return Sound(data, self._content_type, self._filename)

    async def close(self) -> None: ...


class _Command:
    def __init__(self, *, programs: Programs, environ: Mapping[str, str], memory: int) -> None:
        self._programs = programs
        self._environment = environment_of(environ)
        self._memory = memory

    async def output(self, argv: Sequence[str], folder: Path, stdin: bytes, most: int) -> bytes:
        task = Task(
            argv=argv,
            folder=folder,
            stdin=stdin,
            environment=self._environment,
            timeout=_SECONDS,
            max_output=most,
            memory=self._memory,
        )
        try:
            finished = await self._programs.run(task)
        except ToolError as failed:
            raise SpeechError(f"the speech program cannot be used: {failed.what}", permanent=True) from None
        if finished.timed_out:
            raise SpeechError(f"the speech program took more than {_SECONDS:.0f} seconds", permanent=True)
        if finished.exit_code != 0:
            text = " ".join(finished.stderr[-_LONGEST_ERROR_OUTPUT:].decode("utf-8", "replace").split())
            raise SpeechError(f"the speech program failed{f': {text}' if text else ''}", permanent=True)
        if finished.truncated and len(finished.stdout) == most:
            raise SpeechError("the output of the speech program is too large", permanent=True)
        return finished.stdout


# -- Whisper -----------------------------------------------------------------------------------------------------------


#: An idle worker ends after `IDLE_SECONDS`. One sound may take at most `_LOCAL_SECONDS`, including the time to download
#: and load the model.
IDLE_SECONDS = 300.0
_LOCAL_SECONDS = 900.0


class LocalTranscriber:
    """Implements `Transcriber`, for one sound at a time. `engine` is `openai-whisper` or `faster-whisper`, `model` is a
    name or the path of a model, and `memory` is the worker's limit in bytes."""

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
        self._closed = False

    async def transcribe(self, sound: Sound) -> str:
        line = json.dumps({"name": name_of(sound), "data": base64.b64encode(sound.data).decode()}).encode()
        async with self._turn:
            await self._wake()
            answer = json.loads(await self._ask(line))
            if not self._closed:
                self._resting = asyncio.create_task(self._rest())
        if "problem" in answer:
            raise SpeechError(answer["problem"], permanent=True)
        return str(answer["text"])

    async def close(self) -> None:
        """End the worker, even if it is transcribing a sound."""
        self._closed = True
        await self._wake()
        await self._end()

    async def _ask(self, line: bytes) -> bytes:
        try:
            return await (await self._started()).ask(line, timeout=_LOCAL_SECONDS)
        except asyncio.CancelledError:
            await self._end()  # a worker cannot be used again after a cancellation
            raise
        except ToolError as failed:
            await self._end()
            why = f" ({' '.join(failed.why.split())[-200:]})" if failed.why else ""
            raise SpeechError(f"the speech engine failed: {failed.what}{why}", permanent=not self._closed) from None

    async def _started(self) -> Worker:
        if self._worker is None:
            argv = [sys.executable, "-m", speech_worker.__name__, json.dumps(self._settings)]
            self._worker = await self._workers.start(argv, environment=self._environment, memory=self._memory)
        if self._closed:
            raise ToolError("The speech engine is closed.")
        return self._worker

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
