"""One episode: new data folders, users who write continuously, a number of disturbances, a drain, a clean stop.

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
from tests.crash.boots import BootLog
from tests.crash.cluster import Cluster, Shape, Site
from tests.crash.daemon import CHECKOUT, Daemon, DaemonFailed
from tests.crash.disturbances import Disturbance, Disturber, Instant
from tests.crash.endpoint import Endpoint, Endpoints
from tests.crash.history import History, Poisoned, Sent, Shown, Timeline, tokens_in
from tests.crash.model import THINKING, Model
from tests.crash.poison import CHANNEL, Poison
from tests.crash.rows import offending, seen
from tests.crash.tool_work import AGENT, WORKER, marks
from tests.crash.triggers import Triggers
from tests.crash.users import REQUEST, HttpSender, Refused, SocketSender, User, answer_questions

API_KEY = "crash-campaign-key"
#: The daemon's default lease (seconds), for plans without one.
LEASE = 30.0
#: Factor for the writing rate in channels whose agent works with tools, so that messages come during its work.
TOOL_RATE = 2
#: Seconds until a client must have received its whole transcript. A dropped socket reconnects sooner.
RECEIVED_WITHIN = 5.0


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of an episode. A campaign sets seed, disturbances, folder and database of each of its episodes."""

    seed: str = ""
    #: Number of disturbances.
    disturbances: int = 0
    #: The folder from which the program is imported.
    code: Path = CHECKOUT
    folder: Path = Path()
    disturbance: Disturbance = Disturbance.KILL
    instant: Instant = Instant.RANDOM
    #: Send a prompt that kills the daemon, instead of the disturbances.
    poison: bool = False
    shape: Shape = Shape()  # noqa: RUF009 frozen
    #: Maximum seconds from ready to a random disturbance.
    window: float = 2.0
    #: Seconds from ready until the wait for the event of an instant begins.
    wait_before: float = 0.0
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
    #: Runs instead of the disturbances. Returns whether a stop could not hand back its jobs.
    scenario: Callable[[Cluster, Random], Awaitable[bool]] | None = None
    #: Returns whether a problem is a correct refusal, which a user may get.
    allowed: Callable[[str], bool] = lambda problem: False

    @property
    def plain(self) -> bool:
        """Return whether `make crash` can replay a seed of this plan without further options."""
        names = {"disturbance", "instant", "poison", "shape", "lease", "server"}
        return all(getattr(self, field.name) == field.default for field in fields(self) if field.name in names)


async def play(plan: Plan) -> History:
    """Run the episode to its end. A failure becomes a problem of the history, not an exception."""
    async with _open(plan) as running:
        await running.run()
        return running.history()


@asynccontextmanager
async def _open(plan: Plan) -> AsyncIterator[_Episode]:
    rng, boot_log, triggers = Random(plan.seed), BootLog(), Triggers()
    async with AsyncExitStack() as exits:
        model = Model(rng=Random(rng.random()), boot_of=boot_log.of, triggers=triggers, delay=plan.thinking)
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
        cluster = Cluster(site=site, shape=plan.shape, boot_log=boot_log)
        exits.push_async_callback(cluster.close)
        session = await exits.enter_async_context(aiohttp.ClientSession())
        endpoints = Endpoints(
            [Endpoint(session, url, API_KEY, cluster.named(name).up) for name, url in cluster.addresses.items()]
        )
        yield _Episode(plan=plan, rng=rng, cluster=cluster, model=model, endpoints=endpoints, triggers=triggers)


class _Episode:
    def __init__(
        self, *, plan: Plan, rng: Random, cluster: Cluster, model: Model, endpoints: Endpoints, triggers: Triggers
    ) -> None:
        self._plan = plan
        self._rng = rng
        self._cluster = cluster
        self._model = model
        self._endpoints = endpoints
        self._triggers = triggers
        self._problems: list[str] = []
        self._sockets: dict[str, SocketSender] = {}
        self._working: set[str] = set()
        self._marks: list[str] = []
        self._waited: frozenset[str] = frozenset()
        self._receipts: dict[str, int] | None = None
        self._users = self._create_users()
        self._timelines: dict[str, Timeline] = {}
        self._transcripts: dict[str, list[Shown]] = {}
        self._rows: dict[str, list[str]] = {}
        self._poisoned: Poisoned | None = None
        self._interrupted = False

    def _create_users(self) -> list[User]:
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
                    sender=self._http_sender(channel, rng) if chat % 2 else self._socket_sender(channel, rng),
                    rng=rng,
                    rate=self._plan.rate * (TOOL_RATE if works else 1),
                    number=lambda: next(numbers),
                    triggers=self._triggers,
                    request=f"@{WORKER} please answer" if works else REQUEST,
                )
            )
        return users

    def _http_sender(self, channel: str, rng: Random) -> HttpSender:
        return HttpSender(endpoints=self._endpoints, channel=channel, rng=rng, problem=self._problems.append)

    def _socket_sender(self, channel: str, rng: Random) -> SocketSender:
        sender = SocketSender(
            endpoints=self._endpoints,
            channel=channel,
            rng=rng,
            on_message=self._triggers.shown,
            problem=self._problems.append,
        )
        self._sockets[channel] = sender
        return sender

    async def run(self) -> None:
        over = asyncio.Event()
        listening = [asyncio.create_task(sender.listen()) for sender in self._sockets.values()]
        writing = [asyncio.create_task(user.write(over)) for user in self._users]
        if self._working:
            listening.append(asyncio.create_task(answer_questions(self._endpoints, Random(self._rng.random()))))
        try:
            await self._disturb()
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

    async def _disturb(self) -> None:
        """Play the disturbances of the plan, or run the scenario or the poison prompt in their place."""
        plan, triggers = self._plan, self._triggers
        if plan.scenario is not None:
            self._interrupted = await plan.scenario(self._cluster, self._rng)
            return
        if plan.poison:
            sender = self._http_sender(CHANNEL, Random(self._rng.random()))
            poison = Poison(
                cluster=self._cluster, endpoints=self._endpoints, asked=triggers.asked, sender=sender, rng=self._rng
            )
            self._poisoned = await poison.play(plan.patience)
            return
        disturber = Disturber(
            rng=self._rng,
            cluster=self._cluster,
            triggers=triggers,
            disturbance=plan.disturbance,
            instant=plan.instant,
            window=plan.window,
            wait_before=plan.wait_before,
            lease=plan.lease or LEASE,
        )
        for _ in range(plan.disturbances):
            await disturber.disturb()

    async def _drain(self, over: asyncio.Event, writing: Sequence[asyncio.Task[None]]) -> None:
        """Start all processes once more. Wait until all messages are acknowledged, answered and shown, or patience ends."""
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
        await self._clients_caught_up()

    async def _clients_caught_up(self) -> None:
        """Wait until every client has received its whole transcript, for up to `RECEIVED_WITHIN` seconds."""
        end = time.monotonic() + min(RECEIVED_WITHIN, self._plan.patience)
        while time.monotonic() < end:
            if all(
                sender.last_seq >= len(self._transcripts.get(channel, ())) for channel, sender in self._sockets.items()
            ):
                return
            await asyncio.sleep(0.02)

    def _inspect(self) -> dict[str, list[str]]:
        data = self._plan.folder / self._cluster.daemons[0].name / "data"
        if self._working:
            self._marks = marks(data)
            self._waited, receipts = seen(data, self._plan.database)
            self._receipts = {token: count for text, count in receipts.items() for token in tokens_in(text)}
        undisturbed = not (
            self._interrupted or any(boot.killed or boot.suspended for boot in self._cluster.boot_log.boots)
        )
        return self._plan.inspect(data, self._plan.database, undisturbed=undisturbed)

    def _sent(self) -> list[Sent]:
        return [sent for user in self._users for sent in user.sent]

    def history(self) -> History:
        return History(
            sent=self._sent(),
            live={channel: sender.shown for channel, sender in self._sockets.items()},
            transcripts=self._transcripts,
            timelines=self._timelines,
            calls=self._model.calls,
            boots=self._cluster.boot_log.boots,
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
