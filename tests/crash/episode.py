"""One episode: new data folders, users who write continuously, a number of blows, a drain, a clean stop.

All random values come from the seed of the episode. An episode returns a history and does not judge it.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from random import Random

import aiohttp

from arvis.testing.openai_server import openai_server
from tests.crash.blows import Aim, Blow, Striker
from tests.crash.cluster import Cluster, Shape, Site
from tests.crash.daemon import CHECKOUT, Daemon, DaemonFailed
from tests.crash.endpoint import Endpoint, Endpoints
from tests.crash.history import History, Poisoned, Sent, Shown, Timeline, tokens_in
from tests.crash.lives import Lives
from tests.crash.model import THINKING, Model
from tests.crash.poison import CHANNEL, Poison
from tests.crash.rows import offending, seen
from tests.crash.trigger import Moments
from tests.crash.users import ASKING, HttpVoice, Refused, SocketVoice, User, decide
from tests.crash.work import AGENT, WORKER, marks

API_KEY = "crash-campaign-key"
#: The daemon's default lease (seconds), for plans without one.
LEASE = 30.0
#: Factor for the writing rate in channels whose agent works with tools, so that messages come during its work.
HURRY = 2
#: Seconds until a client's screen must show its whole transcript. A dropped socket reconnects sooner.
CAUGHT_UP = 5.0


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of an episode. A campaign sets seed, blows, folder and database of each of its episodes."""

    seed: str = ""
    #: Number of blows.
    blows: int = 0
    #: The folder from which the program is imported.
    code: Path = CHECKOUT
    folder: Path = Path()
    blow: Blow = Blow.KILL
    aim: Aim = Aim.RANDOM
    #: Send a prompt that kills the daemon, instead of dealing blows.
    poison: bool = False
    shape: Shape = Shape()  # noqa: RUF009 frozen
    #: Maximum seconds from ready to a random blow.
    window: float = 2.0
    #: Seconds from ready until an aimed blow begins to wait for its moment.
    aimed_after: float = 0.0
    chats: int = 8
    #: Every second one of this many first pairs of chats works with tools.
    working: int = 0
    #: Messages per second of each chat, on average.
    rate: float = 1.0
    #: Shortest and longest time for an answer of the model (seconds).
    thinking: tuple[float, float] = THINKING
    #: Maximum length of the drain (seconds). After its fourth crash, a job pauses for 30 s.
    patience: float = 90.0
    #: A PostgreSQL server on which the episode creates its own database, and the URL of that database; None: SQLite.
    server: str | None = None
    database: str | None = None
    #: The lease in the configuration (seconds); None: the daemon's default.
    lease: float | None = None
    #: Returns the offending rows of the stopped daemon's database, by rule.
    inspect: Callable[..., dict[str, list[str]]] = offending
    #: Creates the object for one process.
    daemon: Callable[..., Daemon] = Daemon
    #: Runs instead of the blows. Returns whether a stop could not hand back its jobs.
    ordeal: Callable[[Cluster, Random], Awaitable[bool]] | None = None
    #: Returns whether a problem is a correct refusal, which a user may get.
    allowed: Callable[[str], bool] = lambda problem: False

    @property
    def plain(self) -> bool:
        """Return whether `make crash` can replay a seed of this plan without further options."""
        names = {"blow", "aim", "poison", "shape", "lease", "server"}
        return all(getattr(self, field.name) == field.default for field in fields(self) if field.name in names)


async def play(plan: Plan) -> History:
    """Run the episode to its end. A failure becomes a problem of the history, not an exception."""
    async with _stage(plan) as stage:
        await stage.perform()
        return stage.history()


@asynccontextmanager
async def _stage(plan: Plan) -> AsyncIterator[_Stage]:
    rng, lives, moments = Random(plan.seed), Lives(), Moments()
    async with AsyncExitStack() as exits:
        model = Model(rng=Random(rng.random()), life=lives.of, moments=moments, delay=plan.thinking)
        server = await exits.enter_async_context(openai_server(default=model))
        site = Site(
            plan.code,
            plan.folder,
            plan.database,
            server.base_url,
            API_KEY,
            plan.lease,
            (AGENT,) if plan.working else (),
            plan.daemon,
        )
        cluster = Cluster(site=site, shape=plan.shape, lives=lives)
        exits.push_async_callback(cluster.close)
        session = await exits.enter_async_context(aiohttp.ClientSession())
        endpoints = Endpoints(
            [Endpoint(session, url, API_KEY, cluster.named(name).up) for name, url in cluster.addresses.items()]
        )
        yield _Stage(plan=plan, rng=rng, cluster=cluster, model=model, endpoints=endpoints, moments=moments)


class _Stage:
    def __init__(
        self, *, plan: Plan, rng: Random, cluster: Cluster, model: Model, endpoints: Endpoints, moments: Moments
    ) -> None:
        self._plan = plan
        self._rng = rng
        self._cluster = cluster
        self._model = model
        self._endpoints = endpoints
        self._moments = moments
        self._problems: list[str] = []
        self._sockets: dict[str, SocketVoice] = {}
        self._working: set[str] = set()
        self._marks: list[str] = []
        self._waited: frozenset[str] = frozenset()
        self._receipts: dict[str, int] | None = None
        self._users = self._invite()
        self._timelines: dict[str, Timeline] = {}
        self._transcripts: dict[str, list[Shown]] = {}
        self._rows: dict[str, list[str]] = {}
        self._poisoned: Poisoned | None = None
        self._interrupted = False

    def _invite(self) -> list[User]:
        """Create the users, each with its own channel: half of them use sockets, the others HTTP."""
        numbers = itertools.count(1)
        users = []
        for chat in range(self._plan.chats):
            channel = f"chat-{chat}"
            rng = Random(self._rng.random())
            # A pair has one socket and one HTTP user, so both kinds work with tools.
            works = (chat // 2) % 2 == 1 and chat // 2 < self._plan.working
            if works:
                self._working.add(channel)
            users.append(
                User(
                    channel=channel,
                    voice=self._http_voice(channel, rng) if chat % 2 else self._socket_voice(channel, rng),
                    rng=rng,
                    rate=self._plan.rate * (HURRY if works else 1),
                    number=lambda: next(numbers),
                    moments=self._moments,
                    asking=f"@{WORKER} please answer" if works else ASKING,
                )
            )
        return users

    def _http_voice(self, channel: str, rng: Random) -> HttpVoice:
        return HttpVoice(endpoints=self._endpoints, channel=channel, rng=rng, problem=self._problems.append)

    def _socket_voice(self, channel: str, rng: Random) -> SocketVoice:
        voice = SocketVoice(
            endpoints=self._endpoints,
            channel=channel,
            rng=rng,
            moment=self._moments.shown,
            problem=self._problems.append,
        )
        self._sockets[channel] = voice
        return voice

    async def perform(self) -> None:
        over = asyncio.Event()
        listening = [asyncio.create_task(voice.listen()) for voice in self._sockets.values()]
        writing = [asyncio.create_task(user.write(over)) for user in self._users]
        if self._working:
            listening.append(asyncio.create_task(decide(self._endpoints, Random(self._rng.random()))))
        try:
            await self._suffer()
            await self._drain(over, writing)
            await self._cluster.stop()
            self._rows = await asyncio.to_thread(self._inspect)
        except DaemonFailed as failure:
            self._problems.append(str(failure))
        except Refused as refused:
            self._problems.append(f"The drain failed: {refused!r}")
        finally:
            for task in (*writing, *listening):
                task.cancel()
            results = await asyncio.gather(*writing, *listening, return_exceptions=True)
        self._problems.extend(repr(each) for each in results if isinstance(each, Exception))
        self._problems.extend(self._cluster.complaints())

    async def _suffer(self) -> None:
        """Deal the blows of the plan, or run the ordeal or the poison prompt in their place."""
        plan, moments = self._plan, self._moments
        if plan.ordeal is not None:
            self._interrupted = await plan.ordeal(self._cluster, self._rng)
            return
        if plan.poison:
            voice = self._http_voice(CHANNEL, Random(self._rng.random()))
            poison = Poison(
                cluster=self._cluster, endpoints=self._endpoints, asked=moments.asked, voice=voice, rng=self._rng
            )
            self._poisoned = await poison.play(plan.patience)
            return
        striker = Striker(
            rng=self._rng,
            cluster=self._cluster,
            moments=moments,
            blow=plan.blow,
            aim=plan.aim,
            window=plan.window,
            aimed_after=plan.aimed_after,
            lease=plan.lease or LEASE,
        )
        for _ in range(plan.blows):
            await striker.strike()

    async def _drain(self, over: asyncio.Event, writing: Sequence[asyncio.Task[None]]) -> None:
        """Start one more life without a blow. Wait until all messages are acknowledged, answered and shown, or patience
        ends."""
        over.set()
        await self._cluster.start()
        await self._cluster.ready()
        end = time.monotonic() + self._plan.patience
        await asyncio.wait(writing, timeout=self._plan.patience)
        endpoint = await self._endpoints.one(self._rng)
        for sent in self._sent():
            if sent.id is not None:
                self._timelines[sent.id] = await _settled(endpoint, sent.id, end)
        for channel in sorted({sent.channel for sent in self._sent()}):
            with suppress(*Refused):
                self._transcripts[channel] = await endpoint.transcript(channel, within=10)
        await self._screens_caught_up()

    async def _screens_caught_up(self) -> None:
        """Wait until every client shows its whole transcript, for up to `CAUGHT_UP` seconds."""
        end = time.monotonic() + min(CAUGHT_UP, self._plan.patience)
        while time.monotonic() < end:
            if all(
                voice.last_seq >= len(self._transcripts.get(channel, ())) for channel, voice in self._sockets.items()
            ):
                return
            await asyncio.sleep(0.02)

    def _inspect(self) -> dict[str, list[str]]:
        data = self._plan.folder / self._cluster.daemons[0].name / "data"
        if self._working:
            self._marks = marks(data)
            self._waited, receipts = seen(data, self._plan.database)
            self._receipts = {token: count for text, count in receipts.items() for token in tokens_in(text)}
        unharmed = not (self._interrupted or any(boot.killed or boot.slept for boot in self._cluster.lives.boots))
        return self._plan.inspect(data, self._plan.database, unharmed=unharmed)

    def _sent(self) -> list[Sent]:
        return [sent for user in self._users for sent in user.sent]

    def history(self) -> History:
        return History(
            sent=self._sent(),
            live={channel: voice.shown for channel, voice in self._sockets.items()},
            transcripts=self._transcripts,
            timelines=self._timelines,
            calls=self._model.calls,
            boots=self._cluster.lives.boots,
            problems=tuple(each for each in self._problems if not self._plan.allowed(each)),
            refusals=tuple(each for each in self._problems if self._plan.allowed(each)),
            rows=self._rows,
            poison=self._poisoned,
            interrupted=self._interrupted,
            working=frozenset(self._working),
            waited=self._waited,
            marks=self._marks,
            receipts=self._receipts,
        )


async def _settled(endpoint: Endpoint, message_id: str, end: float) -> Timeline:
    while True:
        timeline = await endpoint.timeline(message_id, wait=min(end - time.monotonic(), 25))
        if timeline.status not in {"accepted", "queued", "running", "waiting"} or time.monotonic() >= end:
            return timeline
