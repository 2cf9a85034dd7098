"""The speech engines: an API over HTTP, programs, and Whisper in its worker."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from arvis.domain.errors import ToolError
from arvis.net.client import open_http_client
from arvis.ports.sandbox import Worker
from arvis.ports.transcriber import Sound, SpeechError
from arvis.process.clock import SystemClock
from arvis.process.subprocesses import GuardedPrograms, GuardedWorkers
from arvis.providers.speech import (
    ApiAccess,
    ApiSpeaker,
    ApiTranscriber,
    CommandSpeaker,
    CommandTranscriber,
    LocalTranscriber,
)
from tests.flows.media_kit import wav
from tests.parts import require

SOUND = Sound(wav(), "audio/wav", "what people called it")
MEMORY = 1_073_741_824
SENTENCE = "please tell me what the weather will be like in the north tomorrow"


async def run(*argv: str | Path) -> None:
    process = await asyncio.create_subprocess_exec(*map(str, argv))
    assert await process.wait() == 0


# -- over HTTP -----------------------------------------------------------------------------------------------------------


class SpeechServer:
    """A server that answers as the API's description says."""

    def __init__(self) -> None:
        #: Any status other than 200 is an error.
        self.status = 200
        self.body = json.dumps({"text": "hello there"}).encode()
        self.asked: list[dict[str, object]] = []

    async def transcribe(self, request: web.Request) -> web.Response:
        form = await request.post()
        file = form["file"]
        assert isinstance(file, web.FileField)
        fields = {name: value for name, value in form.items() if name != "file"}
        key = request.headers.get("Authorization")
        self.asked.append({**fields, "file": file.filename, "data": file.file.read(), "key": key})
        return web.Response(status=self.status, body=self.body, content_type="application/json")

    async def speak(self, request: web.Request) -> web.Response:
        self.asked.append(await request.json())
        return web.Response(status=self.status, body=b"OggS sound")


@asynccontextmanager
async def speech_server() -> AsyncIterator[tuple[SpeechServer, str]]:
    server = SpeechServer()
    app = web.Application()
    app.router.add_post("/v1/audio/transcriptions", server.transcribe)
    app.router.add_post("/v1/audio/speech", server.speak)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield server, f"http://127.0.0.1:{runner.addresses[0][1]}/v1/"
    finally:
        await runner.cleanup()


async def test_the_api_is_asked_as_it_wants_it() -> None:
    async with speech_server() as (server, url), open_http_client() as http:
        ears = ApiTranscriber(http=http, access=lambda: ApiAccess(url, "key"), model="whisper-1", language="de")
        assert await ears.transcribe(SOUND) == "hello there"
        assert server.asked == [
            {
                "model": "whisper-1",
                "response_format": "json",
                "language": "de",
                "file": "voice.wav",
                "data": SOUND.data,
                "key": "Bearer key",
            }
        ]
        mouth = ApiSpeaker(http=http, access=lambda: ApiAccess(url), model="tts", voice="alloy")
        assert await mouth.speak("x" * 5_000) == Sound(b"OggS sound", "audio/ogg", "answer.ogg")
        assert server.asked[1] == {"model": "tts", "voice": "alloy", "input": "x" * 4_096, "response_format": "opus"}


@pytest.mark.parametrize(
    ("status", "body", "permanent"),
    [
        (401, b"", True),
        (429, b"", False),
        (503, b"", False),
        (400, b"", True),
        (200, b"[", True),
        (200, b'{"text": 1}', True),
    ],
)
async def test_what_the_api_refuses_is_told(status: int, body: bytes, permanent: bool) -> None:
    async with speech_server() as (server, url), open_http_client() as http:
        server.status, server.body = status, body
        ears = ApiTranscriber(http=http, access=lambda: ApiAccess(url), model="whisper-1")
        with pytest.raises(SpeechError) as refused:
            await ears.transcribe(SOUND)
        assert refused.value.permanent is permanent


async def test_nobody_there_may_be_there_later() -> None:
    async with open_http_client() as http:
        ears = ApiTranscriber(http=http, access=lambda: ApiAccess("http://127.0.0.1:9/v1"), model="whisper-1")
        with pytest.raises(SpeechError, match="does not answer") as refused:
            await ears.transcribe(SOUND)
        assert not refused.value.permanent


# -- programs ------------------------------------------------------------------------------------------------------------


def hearing(command: str) -> CommandTranscriber:
    return CommandTranscriber(programs=GuardedPrograms(), command=command, environ=os.environ, memory=MEMORY)


async def test_a_program_hears_a_file_or_its_standard_input() -> None:
    assert await hearing("basename {file}").transcribe(SOUND) == "voice.wav"
    assert await hearing("wc -c").transcribe(SOUND) == str(len(SOUND.data))


@pytest.mark.parametrize(
    ("command", "why"),
    [("no-such-program {file}", "is not installed"), ("ls '{file}.gone'", "gone"), ("false", "failed")],
)
async def test_a_program_that_fails_is_told(command: str, why: str) -> None:
    with pytest.raises(SpeechError, match=why) as failed:
        await hearing(command).transcribe(SOUND)
    assert failed.value.permanent


async def test_a_program_speaks() -> None:
    mouth = CommandSpeaker(programs=GuardedPrograms(), command="cat", environ=os.environ, memory=MEMORY)
    assert await mouth.speak("Grüße; $(x)") == Sound("Grüße; $(x)".encode(), "audio/wav", "answer.wav")
    silent = CommandSpeaker(programs=GuardedPrograms(), command="true", environ=os.environ, memory=MEMORY)
    with pytest.raises(SpeechError, match="no audio"):
        await silent.speak("x")


async def test_speech_is_recognised_by_a_program(tmp_path: Path) -> None:
    await run(require("espeak-ng"), "-v", "en-us", "-s", "130", "-w", tmp_path / "a.wav", SENTENCE)
    await run(require("ffmpeg"), "-v", "error", "-i", tmp_path / "a.wav", tmp_path / "a.ogg")
    command = f"{sys.executable} {Path(__file__).with_name('recogniser.py')} {{file}}"
    heard = await hearing(command).transcribe(Sound((tmp_path / "a.ogg").read_bytes(), "audio/ogg", "a.ogg"))
    assert len({"weather", "north", "tomorrow"} & set(heard.split())) >= 2


# -- in a worker ---------------------------------------------------------------------------------------------------------


class OneWorker:
    """`Workers` and `Worker` in one: returns scripted answers. `closed` is set when it is ended."""

    def __init__(self, *answers: bytes | ToolError) -> None:
        self.answers = list(answers)
        self.started: list[Sequence[str]] = []
        self.closed = asyncio.Event()

    async def start(self, argv: Sequence[str], *, environment: Mapping[str, str], memory: int) -> Worker:
        self.started.append(argv)
        return self

    async def ask(self, line: bytes, *, timeout: float) -> bytes:
        match self.answers.pop(0):
            case ToolError() as error:
                raise error
            case answer:
                return answer

    async def close(self) -> None:
        self.closed.set()


class StuckWorker(OneWorker):
    """Gives no answer until it is closed. `asked` is set when it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def start(self, argv: Sequence[str], *, environment: Mapping[str, str], memory: int) -> Worker:
        self.closed.clear()
        return await super().start(argv, environment=environment, memory=memory)

    async def ask(self, line: bytes, *, timeout: float) -> bytes:
        self.asked.set()
        await self.closed.wait()
        raise ToolError("The program has ended.")


def local(workers: OneWorker | GuardedWorkers, *, idle_seconds: float = 300, **changes: str) -> LocalTranscriber:
    settings = {"engine": "faster-whisper", "model": "no such model", **changes}
    return LocalTranscriber(
        workers=workers,
        clock=SystemClock(),
        language="en",
        environ=os.environ,
        memory=4 * MEMORY,
        idle_seconds=idle_seconds,
        **settings,
    )


async def test_a_worker_stays_until_nobody_speaks_any_more() -> None:
    workers = OneWorker(b'{"text": "one"}', b'{"text": "two"}', b'{"text": "three"}')
    ears = local(workers, idle_seconds=0.05)
    assert [await ears.transcribe(SOUND), await ears.transcribe(SOUND)] == ["one", "two"]
    assert len(workers.started) == 1
    await workers.closed.wait()
    assert await ears.transcribe(SOUND) == "three"
    assert len(workers.started) == 2
    await ears.close()


async def test_a_worker_that_died_is_told_and_started_anew() -> None:
    workers = OneWorker(ToolError("The program has ended.", why="out of memory"), b'{"text": "again"}')
    ears = local(workers)
    with pytest.raises(SpeechError, match="out of memory"):
        await ears.transcribe(SOUND)
    assert await ears.transcribe(SOUND) == "again"
    await ears.close()


async def test_an_engine_that_cannot_be_loaded_is_told() -> None:
    ears = local(GuardedWorkers())
    with pytest.raises(SpeechError, match="speech engine") as failed:
        await ears.transcribe(SOUND)
    assert failed.value.permanent
    await ears.close()


async def test_a_transcription_that_is_cancelled_leaves_no_broken_worker() -> None:
    workers = StuckWorker()
    ears = local(workers)
    asked = asyncio.create_task(ears.transcribe(SOUND))
    await workers.asked.wait()
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    assert workers.closed.is_set()
    again = asyncio.create_task(ears.transcribe(SOUND))
    workers.asked.clear()
    await workers.asked.wait()
    assert len(workers.started) == 2
    await ears.close()
    await asyncio.gather(again, return_exceptions=True)


async def test_closing_during_a_transcription_leaves_nothing_behind() -> None:
    workers = StuckWorker()
    ears, before = local(workers), asyncio.all_tasks()
    asked = asyncio.create_task(ears.transcribe(SOUND))
    await workers.asked.wait()
    await ears.close()
    with pytest.raises(SpeechError) as failed:
        await asked
    assert not failed.value.permanent
    assert asyncio.all_tasks() == before


async def test_whisper_hears_a_sound(tmp_path: Path) -> None:
    require("whisper")
    await run(require("espeak-ng"), "-w", tmp_path / "a.wav", SENTENCE)
    await run(require("ffmpeg"), "-v", "error", "-i", tmp_path / "a.wav", "-ac", "1", tmp_path / "a.ogg")
    await run(sys.executable, Path(__file__).with_name("speech_model.py"), tmp_path / "model.pt")
    ears = local(GuardedWorkers(), engine="openai-whisper", model=str(tmp_path / "model.pt"))
    sound = Sound((tmp_path / "a.ogg").read_bytes(), "audio/ogg", "a.ogg")
    first, second = await ears.transcribe(sound), await ears.transcribe(sound)
    assert first == second
    await ears.close()


# -- guarded workers -----------------------------------------------------------------------------------------------------


async def test_a_worker_answers_line_by_line_and_ends() -> None:
    worker = await GuardedWorkers().start(["cat"], environment=dict(os.environ), memory=MEMORY)
    assert [await worker.ask(line, timeout=5) for line in (b"a", b"b" * 1_000_000)] == [b"a", b"b" * 1_000_000]
    await worker.close()
    with pytest.raises(ToolError):
        await worker.ask(b"c", timeout=5)


async def test_a_worker_that_says_nothing_is_ended() -> None:
    worker = await GuardedWorkers().start(["sleep", "60"], environment=dict(os.environ), memory=MEMORY)
    with pytest.raises(ToolError, match="no answer"):
        await worker.ask(b"a", timeout=0.2)
    with pytest.raises(ToolError, match="has ended"):
        await worker.ask(b"a", timeout=5)
