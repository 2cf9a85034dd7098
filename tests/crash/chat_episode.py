"""Episodes of chats: users who write continuously, over sockets and HTTP."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, fields
from random import Random
from typing import Any

from tests.crash import campaign
from tests.crash.cluster import Cluster
from tests.crash.daemon import HELPER
from tests.crash.endpoint import Endpoint
from tests.crash.episode import Episode, Plan
from tests.crash.history import History, Poisoned, Sent, Shown, Timeline, tokens_in
from tests.crash.model import THINKING, Model
from tests.crash.poison import CHANNEL, Poison
from tests.crash.report import Result, result_of
from tests.crash.rows import offending, seen
from tests.crash.tool_work import AGENT, WORKER, marks
from tests.crash.users import REQUEST, HttpSender, Refused, SocketSender, User, answer_questions

#: Factor for the writing rate in channels whose agent works with tools, so that messages come during its work.
TOOL_RATE = 2
#: Seconds until a client must have received its whole transcript. A dropped socket reconnects sooner.
RECEIVED_WITHIN = 5.0


@dataclass(frozen=True, slots=True)
class ChatPlan(Plan):
    """The settings of an episode of chats."""

    #: Send a prompt that kills the daemon, instead of the disturbances.
    poison: bool = False
    chats: int = 8
    #: Every second one of this many first pairs of chats works with tools.
    working: int = 0
    #: Shortest and longest time for an answer of the model (seconds).
    thinking: tuple[float, float] = THINKING
    #: Returns the offending rows of the stopped daemon's database, by rule.
    inspect: Callable[..., dict[str, list[str]]] = offending
    #: Runs instead of the disturbances. Returns whether a stop could not hand back its jobs.
    scenario: Callable[[Cluster, Random], Awaitable[bool]] | None = None
    #: Returns whether a problem is a correct refusal, which a user may get.
    allowed: Callable[[str], bool] = lambda problem: False

    @property
    def plain(self) -> bool:
        """Return whether `make crash` can replay a seed of this plan without further options."""
        names = {"disturbance", "instant", "poison", "shape", "lease", "server"}
        return all(getattr(self, field.name) == field.default for field in fields(self) if field.name in names)


async def play(plan: ChatPlan) -> Result:
    """Play and judge one episode."""
    return await campaign.play(plan, ChatEpisode, result_of)


class ChatEpisode(Episode[ChatPlan, History]):
    def __init__(self, plan: ChatPlan) -> None:
        super().__init__(plan)
        self._model = Model(
            rng=Random(self.rng.random()), boot_of=self.boot_log.of, triggers=self.triggers, delay=plan.thinking
        )
        self._users: list[User] = []
        self._sockets: dict[str, SocketSender] = {}
        self._working: set[str] = set()
        self._marks: list[str] = []
        self._waited: frozenset[str] = frozenset()
        self._receipts: dict[str, int] | None = None
        self._timelines: dict[str, Timeline] = {}
        self._transcripts: dict[str, list[Shown]] = {}
        self._poisoned: Poisoned | None = None
        self._interrupted = False

    def model(self) -> Model:
        return self._model

    async def settings(self, exits: AsyncExitStack) -> Mapping[str, Any]:
        agents = {"agents": [HELPER, AGENT]} if self.plan.working else {}
        return {**await super().settings(exits), **agents}

    async def start_load(self) -> None:
        self._users = self._create_users()
        for sender in self._sockets.values():
            self.in_background(sender.listen())
        for user in self._users:
            self.in_background(user.write(self.over), writes=True)
        if self._working:
            self.in_background(answer_questions(self.endpoints, Random(self.rng.random())))

    def _create_users(self) -> list[User]:
        """Create the users, each with its own channel: half of them use sockets, the others HTTP."""
        numbers = itertools.count(1)
        users = []
        for chat in range(self.plan.chats):
            channel = f"chat-{chat}"
            rng = Random(self.rng.random())
            # A pair has one socket and one HTTP user, so both kinds work with tools.
            works = (chat // 2) % 2 == 1 and chat // 2 < self.plan.working
            if works:
                self._working.add(channel)
            users.append(
                User(
                    channel=channel,
                    sender=self._http_sender(channel, rng) if chat % 2 else self._socket_sender(channel, rng),
                    rng=rng,
                    rate=self.plan.rate * (TOOL_RATE if works else 1),
                    number=lambda: next(numbers),
                    triggers=self.triggers,
                    request=f"@{WORKER} please answer" if works else REQUEST,
                )
            )
        return users

    def _http_sender(self, channel: str, rng: Random) -> HttpSender:
        return HttpSender(endpoints=self.endpoints, channel=channel, rng=rng, problem=self.problems.append)

    def _socket_sender(self, channel: str, rng: Random) -> SocketSender:
        sender = SocketSender(
            endpoints=self.endpoints,
            channel=channel,
            rng=rng,
            on_message=self.triggers.shown,
            problem=self.problems.append,
        )
        self._sockets[channel] = sender
        return sender

    async def disturb(self) -> None:
        """Play the disturbances of the plan, or run the scenario or the poison prompt in their place."""
        plan = self.plan
        if plan.scenario is not None:
            self._interrupted = await plan.scenario(self.cluster, self.rng)
        elif plan.poison:
            poison = Poison(
                cluster=self.cluster,
                endpoints=self.endpoints,
                asked=self.triggers.asked,
                sender=self._http_sender(CHANNEL, Random(self.rng.random())),
                rng=self.rng,
            )
            self._poisoned = await poison.play(plan.patience)
        else:
            await super().disturb()

    async def drain(self, end: float) -> None:
        """Wait until all messages are answered and shown."""
        endpoint = await self.endpoints.one(self.rng)
        for sent in self._sent():
            if sent.id is not None:
                self._timelines[sent.id] = await _settled(endpoint, sent.id, end)
        for channel in sorted({sent.channel for sent in self._sent()}):
            with suppress(*Refused):
                self._transcripts[channel] = await endpoint.transcript(channel, within=10)
        await self._clients_caught_up()

    async def _clients_caught_up(self) -> None:
        """Wait until every client has received its whole transcript, for up to `RECEIVED_WITHIN` seconds."""
        end = time.monotonic() + min(RECEIVED_WITHIN, self.plan.patience)
        while time.monotonic() < end:
            if all(
                sender.last_seq >= len(self._transcripts.get(channel, ())) for channel, sender in self._sockets.items()
            ):
                return
            await asyncio.sleep(0.02)

    def inspect(self) -> dict[str, list[str]]:
        data = self.data
        if self._working:
            self._marks = marks(data)
            self._waited, receipts = seen(data, self.plan.database)
            self._receipts = {token: count for text, count in receipts.items() for token in tokens_in(text)}
        undisturbed = not (self._interrupted or any(boot.killed or boot.suspended for boot in self.boot_log.boots))
        return self.plan.inspect(data, self.plan.database, undisturbed=undisturbed)

    def _sent(self) -> list[Sent]:
        return [sent for user in self._users for sent in user.sent]

    def history(self) -> History:
        return History(
            sent=self._sent(),
            live={channel: sender.shown for channel, sender in self._sockets.items()},
            transcripts=self._transcripts,
            timelines=self._timelines,
            calls=self._model.calls,
            boots=self.boot_log.boots,
            problems=tuple(each for each in self.problems if not self.plan.allowed(each)),
            refusals=tuple(each for each in self.problems if self.plan.allowed(each)),
            rows=self.rows,
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
