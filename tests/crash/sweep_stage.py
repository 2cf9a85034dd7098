"""One data folder over several lives, with its two users and their model, for sweep and injection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import yaml

from arvis.testing.openai_server import openai_server
from tests.crash.daemon import free_port, write_config
from tests.crash.endpoint import Endpoint, Endpoints
from tests.crash.history import History, Shown
from tests.crash.lives import Lives
from tests.crash.model import Model
from tests.crash.rows import offending
from tests.crash.sweep_lives import Life, new_life
from tests.crash.sweep_talk import LETTERS, PATIENCE, SCREEN, Line, MoodyModel, Post, Screen, Talk, within
from tests.crash.trigger import Moments, Trigger
from tests.crash.users import Refused

API_KEY = "sweep-key"
#: The name of the only process.
PLACE = "daemon"
#: Two accounts have these settings: the second one answers if the first one fails.
#: A job that fails is retried soon and often.
ACCOUNT = {"provider": "openai", "api_key": PLACE, "model": "crash"}
QUEUE = {"retry_base_seconds": 0.05, "max_attempts": 20}


@dataclass(slots=True)
class Notes:
    """The records over all lives: refusals that users received, and problems that no user may meet."""

    lives: Lives = field(default_factory=Lives)
    refusals: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class Stage:
    """Plays lives one after the other: `start`, then further methods, and `finish` for the last one."""

    def __init__(
        self,
        *,
        code: Path,
        folder: Path,
        endpoint: Endpoint,
        model: Model,
        moments: Moments,
        talk: Talk,
        screen: Screen,
        notes: Notes,
    ) -> None:
        self.folder = folder
        self.notes = notes
        self._code = code
        self._endpoint = endpoint
        self._model = model
        self._moments = moments
        self._talk = talk
        self._screen = screen
        self._life: Life | None = None
        self._disturbed = False
        self._talking: asyncio.Task[None] | None = None
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
        """Return the file with the current life's standard error."""
        return self.folder / f"life-{self.notes.lives.of(PLACE)}.log"

    @property
    def trace(self) -> Path:
        return self.folder / f"life-{self.notes.lives.of(PLACE)}.strace"

    def configure(self, **settings: Any) -> None:
        self.config.write_text(yaml.safe_dump(yaml.safe_load(self.config.read_text()) | settings))

    def begin_talk(self, script: Sequence[Line]) -> None:
        """Let the users begin to write. They continue in all lives and wait while no daemon is ready."""
        self._talking = asyncio.create_task(self._talk.play(script))

    async def start(self, strace: Sequence[str] | None = None) -> bool:
        """Start the next life, traced by strace or not, and return whether it became ready. Raise `TimeoutError` if it
        hangs."""
        arguments = ["run", "--config", str(self.config), "--data", str(self.data)]
        self.notes.lives.begin(PLACE)
        self._life, self._disturbed = await new_life(self._code, arguments, self.folder, self.log), False
        self._life.ended.add_done_callback(self._note_end)
        if strace is not None:
            await self.hold(strace)
        ready = await self._life.begin()
        if ready and not self._life.ended.done():
            self.notes.lives.ready(PLACE)
        return ready

    async def hold(self, strace: Sequence[str]) -> None:
        """Attach strace to the current life, which counts as disturbed then."""
        self._disturbed = True
        await self.life.held_by_strace(strace, self.trace)

    def open(self) -> None:
        """Let the users connect."""
        if not self.life.ended.done():
            self._endpoint.up.set()

    async def talk_or_end(self, seconds: float) -> None:
        """Wait until every message is written and answered, the life ends, or the time is over."""
        waiting: set[asyncio.Future[Any]] = {self.life.ended}
        if self._talking is not None:
            waiting.add(self._talking)
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    async def kill_at_the_model(self, requests: int) -> None:
        """Kill the daemon during the N-th model request of this life."""
        for _ in range(requests):
            async with asyncio.timeout(PATIENCE):
                await _next(self._moments.asked)
        await self.kill()

    async def kill(self) -> None:
        self.life.kill()
        await self.over()

    async def stop(self) -> int:
        """Send SIGTERM and return the exit code, negative for a signal. Raise `TimeoutError` if the daemon hangs."""
        self._endpoint.up.clear()
        await self.life.stop()
        return await self.over()

    async def over(self) -> int:
        """Wait for the end of the current life and return its exit code."""
        code = await self.life.ended
        await self.life.close()
        return code

    async def finish(self, script: Sequence[Line]) -> None:
        """Play the last life without disturbance: answer and show all messages, stop cleanly, and query the rows.

        Failures become problems of the history.
        """
        if self._talking is None:
            self.begin_talk(script)
        try:
            if not await self.start():
                self.notes.problems.append(f"The next start ended with {await self.over()}: {self.end_of_log()}")
                return
            self.open()
            assert self._talking is not None
            if not await within(PATIENCE, self._talking):
                self.notes.problems.append(f"Not everything was answered {PATIENCE:.0f} s after the restart")
            await self._read_channels()
            if (code := await self.stop()) != 0:
                self.notes.problems.append(f"The stop ended with {code}: {self.end_of_log()}")
        except TimeoutError:
            self.notes.problems.append(f"The life after it hung: {self.end_of_log()}")
            return
        self._rows = offending(self.data, None)

    def end_of_log(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]

    @property
    def life(self) -> Life:
        assert self._life is not None, "start comes first"
        return self._life

    def history(self) -> History:
        return History(
            sent=self._talk.sent,
            live={SCREEN: self._screen.shown},
            transcripts=self._transcripts,
            timelines=self._talk.timelines,
            calls=self._model.calls,
            boots=self.notes.lives.boots,
            problems=tuple(self.notes.problems),
            rows=self._rows,
        )

    async def _read_channels(self) -> None:
        for channel in (LETTERS, SCREEN):
            with suppress(*Refused):
                self._transcripts[channel] = await self._endpoint.transcript(channel, within=10)
        shown = len(self._transcripts.get(SCREEN, ()))
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                while self._screen.last_seq < shown:
                    await _next(self._moments.shown)

    def _note_end(self, ended: asyncio.Future[int]) -> None:
        self._endpoint.up.clear()
        self.notes.lives.ended(PLACE, killed=self._disturbed or ended.result() != 0)

    async def close(self) -> None:
        if self._talking is not None:
            await _cancel(self._talking)
        if self._life is not None:
            await self._life.close()


@asynccontextmanager
async def staged(code: Path, folder: Path) -> AsyncIterator[Stage]:
    """Yield a stage in this folder."""
    notes, moments, port = Notes(), Moments(), free_port()
    model = Model(rng=Random(0), life=notes.lives.of, moments=moments, delay=(0.0, 0.004))
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    async with (
        openai_server(default=MoodyModel(model)) as server,
        aiohttp.ClientSession(timeout=timeout) as session,
    ):
        endpoint = Endpoint(session, f"http://127.0.0.1:{port}", API_KEY, asyncio.Event())
        screen = Screen(
            endpoints=Endpoints([endpoint]),
            channel=SCREEN,
            rng=Random(0),
            moment=moments.shown,
            problem=notes.refusals.append,
        )
        talk = Talk(endpoint, Post(endpoint, refused=notes.refusals.append), screen, problem=notes.problems.append)
        stage = Stage(
            code=code,
            folder=folder,
            endpoint=endpoint,
            model=model,
            moments=moments,
            talk=talk,
            screen=screen,
            notes=notes,
        )
        write_config(stage.config, port=port, api_key=API_KEY, model_url=server.base_url, database=None)
        named = [{"name": name, "base_url": server.base_url, **ACCOUNT} for name in ("main", "spare")]
        stage.configure(accounts=named, queue=QUEUE)
        listening = asyncio.create_task(screen.listen())
        try:
            yield stage
        finally:
            await _cancel(listening)
            await stage.close()


async def _next(moment: Trigger) -> None:
    seen = asyncio.Event()
    moment.arm(lambda _: seen.set())
    await seen.wait()


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
