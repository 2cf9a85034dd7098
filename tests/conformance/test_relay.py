"""Notices between processes: each reaches the others once and in order, and a burst costs few transactions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import psycopg
import pytest

from arvis.bus import Bridge, EventBus, decode, encode
from arvis.domain.errors import StoreError
from arvis.domain.events import (
    DeliveryAdded,
    Delta,
    Event,
    JobSettled,
    MessageReceived,
    NoticesMissed,
    SessionEnded,
    StatusChanged,
    TypingRequested,
)
from arvis.domain.messages import Address, MessageStatus
from arvis.ports.bus import NOTICE_BYTES, Relay, Topic
from arvis.store.open import Database, open_relay

PLACE = Address("web", "web", "a channel", "thread")
CROSSING: list[Event] = [
    TypingRequested(PLACE),
    Delta(PLACE, "m1", 7, "Grüße\n“\x00”"),
    DeliveryAdded(PLACE),
    StatusChanged(PLACE, "m1", MessageStatus.FAILED, "poison"),
    SessionEnded("hash"),
]


class Process:
    """A bus with a bridge; `heard` lists the events published on it."""

    def __init__(self, relay: Relay, topics: list[Topic]) -> None:
        self.bus = EventBus()
        self.bridge = Bridge(bus=self.bus, relay=relay, topics=topics)
        self.heard: list[Event] = []
        self.missed = asyncio.Event()
        for kind in (*{type(event) for event in CROSSING}, JobSettled, MessageReceived):
            self.bus.subscribe(kind, self.heard.append)
        self.bus.subscribe(NoticesMissed, lambda _: self.missed.set())

    async def until(self, number: int) -> list[Event]:
        async with asyncio.timeout(10):
            while len(self.heard) < number:  # noqa: ASYNC110 - the bus has no waiting side
                await asyncio.sleep(0.005)
        return self.heard


@pytest.fixture
def database(migrated_url: str, tmp_path: Path) -> Database:
    return Database(tmp_path / "none.db", migrated_url, tmp_path)


@asynccontextmanager
async def running(database: Database, boot: str, topics: list[Topic]) -> AsyncIterator[Process]:
    async with open_relay(database, boot=boot) as relay:
        assert relay is not None
        process = Process(relay, topics)
        up = asyncio.Event()
        task = asyncio.create_task(process.bridge.run(up.set))
        with process.bridge.passing_on():
            await asyncio.wait({task, asyncio.create_task(up.wait())}, return_when=asyncio.FIRST_COMPLETED)
            yield process
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def connections(database: Database) -> Iterator[psycopg.Connection]:
    assert database.url is not None
    with closing(psycopg.connect(database.url, autocommit=True)) as connection:
        yield connection


@pytest.mark.parametrize("event", CROSSING)
def test_an_event_is_read_back_as_it_was(event: Event) -> None:
    assert decode(encode(event)) == event
    assert "\n" not in encode(event)


def test_what_a_newer_version_says_is_passed_over() -> None:
    assert decode('["Danced",{"address":["web","web","c",""]}]') is None
    assert decode('["DeliveryAdded",{"address":["web","web","c",""],"weight":1}]') is None


async def test_every_process_but_its_own_hears_it_once_and_in_order(database: Database) -> None:
    web = [Topic.CHAT]
    async with (
        running(database, "a", web) as one,
        running(database, "b", web) as two,
        running(database, "c", web) as six,
    ):
        for event in CROSSING:
            one.bus.publish(event)
        two.bus.publish(SessionEnded("last"))
        await two.until(6)
        assert [event for event in two.heard if event != SessionEnded("last")] == CROSSING
        assert sorted(map(str, await six.until(6))) == sorted(map(str, [*CROSSING, SessionEnded("last")]))
        assert (await one.until(6)).count(SessionEnded("last")) == 1
        await asyncio.sleep(0.05)
        assert [len(process.heard) for process in (one, two, six)] == [6, 6, 6]


async def test_each_hears_its_topics_only_and_private_events_stay(database: Database) -> None:
    async with running(database, "a", [Topic.CHAT]) as web, running(database, "b", [Topic.JOBS]) as worker:
        web.bus.publish(MessageReceived("m1", PLACE))
        web.bus.publish(JobSettled("j1", "cancelled"))
        worker.bus.publish(DeliveryAdded(PLACE))
        assert sorted(map(str, await worker.until(2))) == [
            str(DeliveryAdded(PLACE)),
            str(JobSettled("j1", "cancelled")),
        ]
        assert (await web.until(3))[2] == DeliveryAdded(PLACE)
        await asyncio.sleep(0.05)
        assert len(worker.heard) == 2


async def test_a_long_piece_of_an_answer_crosses_in_parts(database: Database) -> None:
    text = "🦉" * NOTICE_BYTES
    async with running(database, "a", [Topic.CHAT]) as one, running(database, "b", [Topic.CHAT]) as two:
        one.bus.publish(Delta(PLACE, "m1", 10, text))
        one.bus.publish(DeliveryAdded(PLACE))
        async with asyncio.timeout(10):
            while DeliveryAdded(PLACE) not in two.heard:  # noqa: ASYNC110 - the bus has no waiting side
                await asyncio.sleep(0.005)
        pieces = [event for event in two.heard if isinstance(event, Delta)]
        assert "".join(piece.text for piece in pieces) == text
        assert [piece.offset for piece in pieces] == [
            10 + sum(len(p.text) for p in pieces[:n]) for n in range(len(pieces))
        ]


async def test_a_burst_costs_few_notifications(database: Database, connections: psycopg.Connection) -> None:
    connections.execute("LISTEN arvis_chat")
    async with running(database, "a", []) as one, running(database, "b", [Topic.CHAT]) as two:
        for number in range(500):
            one.bus.publish(Delta(PLACE, "m1", number, "x"))
        await one.bridge.send(DeliveryAdded(PLACE))
        await two.until(501)
    assert len(list(connections.notifies(timeout=0.1))) < 12


async def test_who_was_cut_off_hears_that_it_missed_something(
    database: Database, connections: psycopg.Connection
) -> None:
    async with open_relay(database, boot="a") as relay:
        assert relay is not None
        process = Process(relay, [Topic.CHAT])
        with pytest.raises(StoreError, match="cannot notify one another"):
            await process.bridge.run(lambda: _cut_all(connections))
        assert process.missed.is_set()


async def test_what_cannot_be_told_is_told_again_on_a_new_connection(
    database: Database, connections: psycopg.Connection
) -> None:
    async with running(database, "b", [Topic.CHAT]) as two, open_relay(database, boot="a") as relay:
        assert relay is not None
        one = Process(relay, [])
        await one.bridge.send(DeliveryAdded(PLACE))
        _cut_all(connections, but_listeners=True)
        with pytest.raises(StoreError):
            await one.bridge.send(DeliveryAdded(PLACE))
        await one.bridge.send(SessionEnded("x"))
        assert await two.until(2) == [DeliveryAdded(PLACE), SessionEnded("x")]


def _cut_all(connection: psycopg.Connection, *, but_listeners: bool = False) -> None:
    spared = "AND query NOT LIKE 'LISTEN%%'" if but_listeners else ""
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        f" WHERE datname = current_database() AND pid <> pg_backend_pid() {spared}"
    )
