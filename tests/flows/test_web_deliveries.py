"""A delivery on the web is sent with the commit that stores it, if no other process has sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from arvis.bus import EventBus
from arvis.delivery import Deliverer, LateReplies
from arvis.domain.events import DeliverySettled
from arvis.domain.ids import first_id_at
from arvis.domain.jobs import Job, JobStatus
from arvis.domain.messages import Address, Delivery, DeliveryState, Role
from arvis.messaging.messages import deliver, send_to_place
from arvis.ports.connector import Connector
from arvis.ports.job_store import Slots
from arvis.ports.store import Store, Transaction
from arvis.process.clock import SystemClock
from arvis.web.realtime.connector import WebConnector
from tests.conformance.store.scripts import claim, said
from tests.flows.web_script import web_address
from tests.flows.web_server import running_site

NOW = 1_700_000_000_000
ROOM, CHAT = web_address("room"), Address("telegram", "main", "42")


class Sent:
    """A queue without slots that records the deliveries that it receives."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.reserve = lambda ended, *, ready: Slots(0, 0, 0)
        self.lease = lambda: ("boot", "node", NOW, NOW)

    def deliver(self, reserved: Slots, ended: Sequence[str], jobs: Sequence[Job] | None) -> None: ...

    def due(self, at: int) -> None: ...

    def changed(self, topics: Collection[str]) -> None: ...

    def sent(self, deliveries: Sequence[Delivery]) -> None:
        self.deliveries += deliveries


def post(tx: Transaction, address: Address) -> None:
    send_to_place(tx, address, "Hello", priority=5, now=NOW)


async def test_a_delivery_on_the_web_needs_a_job_only_for_other_processes(either_store: Store) -> None:
    store, sent = either_store, Sent()
    store.attend(sent)
    await store.write(post, ROOM)
    await store.write(post, CHAT)
    store.attend(None)
    jobs = await store.write(lambda tx: claim(tx, now=NOW + 1))
    assert [job.lane for job in jobs] == ([ROOM.lane] if store.shared else []) + [CHAT.lane]
    assert all(job.status is JobStatus.RUNNING for job in jobs)
    if store.shared:
        assert sent.deliveries == []
    else:
        [delivery] = sent.deliveries
        assert (delivery.address, delivery.seq, delivery.state) == (ROOM, 1, DeliveryState.SENT)
        assert await store.read(lambda tx: tx.deliveries.get(delivery.id)) == delivery


async def test_a_delivery_of_a_script_that_fails_is_not_sent(store: Store) -> None:
    def fail(tx: Transaction) -> None:
        post(tx, ROOM)
        raise ValueError

    sent = Sent()
    store.attend(sent)
    with pytest.raises(ValueError, match=r"^$"):
        await store.write(fail)
    assert sent.deliveries == []


def deliverer_of(store: Store, connector: Connector, bus: EventBus, rules: LateReplies) -> Deliverer:
    return Deliverer(store=store, connector_of=lambda _: connector, clock=SystemClock(), bus=bus, late_replies=rules)


async def test_open_sockets_get_a_delivery_after_its_commit(store: Store, tmp_path: Path) -> None:
    async with running_site(tmp_path) as site, site.socket(channelId="room", lastSeq=0) as socket:
        settled: list[DeliverySettled] = []
        site.bus.subscribe(DeliverySettled, settled.append)
        deliverer, sent = deliverer_of(store, site.connector, site.bus, LateReplies()), Sent()
        store.attend(sent)
        await store.write(post, ROOM)
        await store.write(post, web_address("another room"))
        deliverer.show(sent.deliveries)
        shown = await socket.until("message")
        assert (shown["content"], shown["seq"]) == ("Hello", 1)
        assert [(event.address, event.state) for event in settled] == [
            (ROOM, DeliveryState.SENT),
            (web_address("another room"), DeliveryState.SENT),
        ]


def answer(tx: Transaction, asked: str) -> None:
    question = replace(said(asked), address=ROOM, created_at=NOW - 60_000)
    reply = replace(said("reply", role=Role.ASSISTANT), address=ROOM, created_at=NOW)
    tx.messages.add(question)
    tx.messages.add(reply)
    deliver(tx, reply, agent=None, answers=[question.id], priority=5, now=NOW)


async def test_an_answer_to_an_old_message_is_marked(store: Store) -> None:
    shown: asyncio.Queue[Delivery] = asyncio.Queue()

    class Connected(WebConnector):
        def show(self, delivery: Delivery) -> None:
            shown.put_nowait(delivery)

    sent = Sent()
    store.attend(sent)
    await store.write(answer, first_id_at(NOW - 60_000))
    for rules in (LateReplies(), LateReplies(answer_within=120_000), LateReplies(answer_within=1_000)):
        deliverer_of(store, Connected(), EventBus(), rules).show(sent.deliveries)
        async with asyncio.timeout(20):
            delivery = await shown.get()
        marked = rules.may_be_overdue(sent.deliveries[0])
        assert delivery.content == ("(delayed)\n\nHello" if marked else "Hello")
    assert LateReplies(answer_within=1_000).may_be_overdue(sent.deliveries[0])
