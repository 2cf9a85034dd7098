"""Platforms that repeat every event: each event comes one to five times, shuffled, from several channels and people,
while turns run and join and the process dies. When all events are answered, the whole day comes once more.

`python -m tests.flows.redelivery --deliveries 100000` is a long run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import secrets
import sqlite3
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row
from structlog.testing import capture_logs

from arvis.domain.errors import StoreError
from arvis.domain.messages import FINAL_STATUSES, IncomingMessage, MessageStatus
from arvis.domain.money import SpendingLimits
from arvis.ports.inbox import Received
from arvis.ports.store import Store
from arvis.process.clock import IdMaker, SystemClock
from arvis.store.open import Database, bring_up_to_date, open_store
from tests.flows.app_harness import HELPER, AppHarness
from tests.flows.app_parts import ObservedStore
from tests.flows.scripted import RecordingConnector
from tests.flows.senses import Senses
from tests.parts import find
from tests.postgres import PostgresServer, running_postgres

PEOPLE = ("ann", "bob", "cem", "owner")
CHANNELS = tuple(f"channel-{number}" for number in range(6))
AT_ONCE = 40
#: Deliveries between two deaths of the process.
LIFE = 400
#: Events of one database; a long run has many databases.
DAY = 1_000
#: Seconds after which any work of a dead process may run again.
PAST_EVERY_REST = 61
FINAL = {status.value for status in FINAL_STATUSES}


class MortalStore(ObservedStore):
    """A store whose process dies: from then on nothing is written for it, and results of earlier writes do not
    arrive."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._life = 0
        self.alive = True

    async def write(self, script: Any, /, *args: Any, **kwargs: Any) -> Any:
        life = self._life
        self._check(life)
        result = await super().write(script, *args, **kwargs)
        self._check(life)
        return result

    def die(self) -> None:
        self.alive = False
        self._life += 1

    def _check(self, life: int) -> None:
        if not self.alive or life != self._life:
            raise StoreError("this process is dead")


class MortalApp(AppHarness):
    """A harness whose process can die and be started again."""

    store: MortalStore

    async def crash(self) -> None:
        self.store.die()
        await self.queue.stop(0)  # it cannot return any job any more
        self.store.alive = True
        self._boots += 1
        self.queue = self._queue(f"boot-{self._boots}")
        await self.queue.start()
        await self.pass_time(PAST_EVERY_REST)


@dataclass(slots=True)
class Counts:
    """The number of events and their results. `violations` are sentences."""

    events: int = 0
    deliveries: int = 0
    crashes: int = 0
    folded: int = 0
    notices: int = 0
    violations: list[str] = field(default_factory=list)


class Platform:
    """A platform that sends events until they are acknowledged, and then again. For each event, `told` holds the result
    of each delivery. `brought` and `acknowledged` hold the steps of its first delivery and its first
    acknowledgement."""

    def __init__(self, app: MortalApp, chance: random.Random, counts: Counts) -> None:
        self._app = app
        self._chance = chance
        self._counts = counts
        self.told: dict[tuple[str, str], list[Received]] = defaultdict(list)
        self.brought: dict[tuple[str, str], int] = {}
        self.acknowledged: dict[tuple[str, str], int] = {}
        self._moments = count()

    def happenings(self, number: int) -> list[IncomingMessage]:
        """Return events of all channels; their ids are only unique within one channel."""
        numbers = Counter[str]()
        events = []
        for _ in range(number):
            channel = self._chance.choice(CHANNELS)
            numbers[channel] += 1
            person, event_id = self._chance.choice(PEOPLE), str(numbers[channel])
            text = f"{channel} {event_id} {person}"
            events.append(self._app.message(text, user=person, channel=channel, event_id=event_id))
        return events

    async def bring_shuffled(self, events: Sequence[IncomingMessage]) -> None:
        """Send each event one to five times, many at the same time, while the process sometimes dies."""
        brought = [event for event in events for _ in range(self._chance.randint(1, 5))]
        self._chance.shuffle(brought)
        for start in range(0, len(brought), LIFE):
            await self._bring(brought[start : start + LIFE], crash=True)
        await self._bring([event for event in events if not self.told[key_of(event)]], crash=False)

    async def bring_again(self, events: Sequence[IncomingMessage]) -> None:
        """Send everything once more, as after an offset that was reset."""
        await self._bring(events, crash=False)

    async def _bring(self, events: Sequence[IncomingMessage], *, crash: bool) -> None:
        gate = asyncio.Semaphore(AT_ONCE)
        crash_at = self._chance.randrange(len(events)) if crash else -1

        async def bring(number: int, event: IncomingMessage) -> None:
            async with gate:
                if number == crash_at:
                    self._counts.crashes += 1
                    await self._app.crash()
                await self._bring_once(event)

        await asyncio.gather(*(bring(number, event) for number, event in enumerate(events)))

    async def _bring_once(self, event: IncomingMessage) -> None:
        key = key_of(event)
        self._counts.deliveries += 1
        self.brought.setdefault(key, next(self._moments))
        with suppress(StoreError):  # not acknowledged, so it is sent again
            self.told[key].append(await self._app.inbox.receive(event))
            self.acknowledged.setdefault(key, next(self._moments))


def key_of(event: IncomingMessage) -> tuple[str, str]:
    return event.address.channel, event.event_id


@dataclass(frozen=True, slots=True)
class Day:
    """The final content of the database."""

    messages: list[dict[str, Any]]
    deliveries: list[dict[str, Any]]
    jobs: list[tuple[str, str]]

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [row for row in self.messages if row["role"] == "user"]


def read_day(database: Database) -> Day:
    if database.url is None:
        with closing(sqlite3.connect(database.file)) as file:
            file.row_factory = sqlite3.Row
            return _day_of(lambda query: [dict(row) for row in file.execute(query)])
    with psycopg.connect(database.url, row_factory=dict_row) as server:
        return _day_of(lambda query: list(server.execute(query.encode())))


def _day_of(rows: Callable[[str], list[dict[str, Any]]]) -> Day:
    jobs = rows("SELECT kind, status FROM jobs ORDER BY id")
    return Day(
        rows("SELECT * FROM messages ORDER BY id"),
        rows("SELECT * FROM deliveries ORDER BY id"),
        [(row["kind"], row["status"]) for row in jobs],
    )


async def run_day(database: Database, events: int, seed: int, counts: Counts) -> None:
    """Run one database: all events until everything is answered, then all of them once more."""
    with capture_logs():  # hide the product's log lines about its deaths
        async with open_mortal_app(database) as app:
            platform = Platform(app, random.Random(seed), counts)
            happenings = platform.happenings(events)
            await platform.bring_shuffled(happenings)
            await until_answered(app)
            evening = read_day(database)
            await platform.bring_again(happenings)
            await until_answered(app)
            if read_day(database) != evening:
                counts.violations.append("what was brought again the day after changed something")
            counts.events += len(happenings)
            counts.violations += check_told(evening, happenings, platform)
            counts.violations += check_turns(evening, app.connector)
            counts.violations += check_order(evening, platform)
            counts.folded += len(evening.asked) - len({row["execution_id"] for row in evening.asked})
            counts.notices += sum(row["status"] != MessageStatus.ANSWERED for row in evening.asked)


async def until_answered(app: MortalApp) -> None:
    """Wait for the answers, without waiting in real time for pauses after crashes."""
    await app.pass_time(PAST_EVERY_REST)
    await app.until_idle()


def check_told(day: Day, events: Sequence[IncomingMessage], platform: Platform) -> Iterator[str]:
    """Check that there is one message for each event, and the same result for the platform every time."""
    kept = {(row["channel"], row["event_id"]): row["id"] for row in day.asked}
    if len(kept) != len(day.asked) or kept.keys() != {key_of(event) for event in events}:
        yield f"{len(events)} events are {len(day.asked)} messages"
    for key, told in platform.told.items():
        if {received.message_id for received in told} != {kept.get(key)}:
            yield f"{key} was told {told}, and is {kept.get(key)}"
        if sum(not received.duplicate for received in told) > 1:
            yield f"{key} was taken for new more than once"


def check_turns(day: Day, connector: RecordingConnector) -> Iterator[str]:
    """Check that each message is in one turn, each turn has one reply to all of it, and each reply was sent as one
    delivery, in order."""
    replies = {row["id"]: row for row in day.messages if row["role"] != "user" and row["execution_id"]}
    if len({row["execution_id"] for row in replies.values()}) != len(replies):
        yield "a turn has two replies"
    for row in day.asked:
        reply = replies.get(row["answered_by"])
        if reply is None or reply["execution_id"] != row["execution_id"] or row["status"] not in FINAL:
            yield f"{row['content']} is {row['status']}, answered by {reply}"
        elif row["status"] == MessageStatus.ANSWERED and row["content"] not in words_of(reply["content"]):
            yield f"{row['content']} was answered by {reply['content']}, which knows nothing of it"
    yield from _check_sent(day, connector)


def check_order(day: Day, platform: Platform) -> Iterator[str]:
    """Check that an event that was acknowledged before another one was first sent is answered before it."""
    latest: dict[str, int] = defaultdict(int)
    for row in sorted(day.asked, key=lambda row: (row["turn"], row["position"])):
        key = row["channel"], row["event_id"]
        if platform.acknowledged[key] < latest[row["conversation_id"]]:
            yield f"{row['content']} was overtaken"
        latest[row["conversation_id"]] = max(latest[row["conversation_id"]], platform.brought[key])


def words_of(reply: str) -> list[str]:
    """Return the messages that the model was shown: it repeats them all, with the names of their authors if there are
    several."""
    people = "|".join(person.title() for person in PEOPLE)
    return [re.sub(f"^({people}): ", "", line) for line in reply.removeprefix("Re: ").splitlines()]


def _check_sent(day: Day, connector: RecordingConnector) -> Iterator[str]:
    answered = Counter(message for row in day.deliveries for message in json.loads(row["answers"]))
    if answered != Counter(row["id"] for row in day.asked):
        yield "deliveries do not answer each message once"
    arrived = {delivery.id for delivery in connector.sent}
    if {row["id"] for row in day.deliveries} != arrived or any(row["state"] != "sent" for row in day.deliveries):
        yield "what was sent is not what was to be sent"


@asynccontextmanager
async def open_mortal_app(database: Database) -> AsyncIterator[MortalApp]:
    clock = SystemClock()
    await asyncio.to_thread(bring_up_to_date, database, clock.now())
    new_id = IdMaker(clock=clock, random_bits=secrets.randbits)
    async with open_store(database, boot="app", new_id=new_id) as (store, insights):
        app = MortalApp(
            store=MortalStore(store),
            insights=insights,
            graphs=(),
            safe_resend=True,
            workers=6,
            lease_seconds=30,
            limits=SpendingLimits(),
            prices=None,
            models=None,
            connector=None,
            senses=Senses(database.folder / "sessions", None, None),
        )
        await store.write(lambda tx: tx.agents.add(HELPER, clock.now()))
        await app.start()
        try:
            yield app
        finally:
            await app.queue.stop(0)


def main() -> int:
    options, counts = _options(), Counts()
    began, seed = time.monotonic(), options.seed
    with postgres_if(options.postgres) as server:
        while counts.deliveries < options.deliveries and not counts.violations:
            with tempfile.TemporaryDirectory() as folder, fresh_database(server, f"day_{seed}") as url:
                asyncio.run(run_day(Database(Path(folder) / "arvis.db", url, Path(folder)), DAY, seed, counts))
            print(f"seed {seed}: {counts.deliveries} deliveries, {time.monotonic() - began:.0f} s", flush=True)
            seed += 1
    print(
        f"{counts.deliveries} deliveries of {counts.events} events, {counts.crashes} crashes, {counts.folded} messages "
        f"folded, {counts.notices} notices, {len(counts.violations)} violations, {time.monotonic() - began:.0f} s"
    )
    print("\n".join(counts.violations[:20]))
    return 1 if counts.violations else 0


@contextmanager
def postgres_if(wanted: bool) -> Iterator[PostgresServer | None]:
    if not wanted:
        yield None
        return
    if (program := find("initdb")) is None:
        sys.exit("no PostgreSQL server is installed (Debian: apt-get install postgresql)")
    with running_postgres(program) as server:
        yield server


def fresh_database(server: PostgresServer | None, name: str) -> AbstractContextManager[str | None]:
    return nullcontext() if server is None else server.database(name)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.flows.redelivery", description=__doc__)
    parser.add_argument("--deliveries", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000), help="of the first day")
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server of its own")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
