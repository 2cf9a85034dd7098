"""Limits for one person on every surface: messages per minute and bytes per day. Every refusal is reported."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.errors import TooMany
from arvis.domain.messages import Address, IncomingMessage, MessageStatus, PrincipalRole, Sender, Upload
from arvis.inbox.accept import InboxRules
from arvis.ports.inbox import Received
from arvis.ports.store import Transaction
from arvis.services import allowances
from arvis.services.allowances import Allowed, UsedUp
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness, open_app
from tests.flows.scripted import BOT, PLATFORM


@pytest.fixture
async def app(either_database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(either_database) as app:
        app.inbox = app.inbox_with(InboxRules(allowed=Allowed(messages_per_minute=3, bytes_per_day=100)))
        yield app


def message(number: int, *, platform: str = PLATFORM, sender: Sender | None = None, **more: Any) -> IncomingMessage:
    place = Address(platform, BOT if platform == PLATFORM else platform, "dm-ann")
    who = sender or Sender("ann", "Ann", paired=True)
    return IncomingMessage(place, f"e{number}", who, f"Message {number}", is_direct=True, **more)


async def test_a_flood_on_a_chat_platform_is_told_once_in_each_minute(app: AppHarness) -> None:
    received = [await app.say(f"Message {number}", is_direct=True) for number in range(8)]
    # The first message of an unknown person is not counted.
    assert [each.status for each in received] == [MessageStatus.ACCEPTED] * 4 + [MessageStatus.DROPPED] * 4
    assert {each.reason for each in received[4:]} == {"too_many_messages"}

    async def told() -> list[str] | None:
        texts = [text for text in app.connector.texts if "messages within a minute" in text]
        return texts or None

    assert len(await app.until(told)) == 1
    app.clock.put_forward(60)
    later = [await app.say(f"Later {number}", is_direct=True) for number in range(4)]
    assert [each.status for each in later] == [MessageStatus.ACCEPTED] * 3 + [MessageStatus.DROPPED]


async def test_over_our_own_port_the_sender_is_told_when_to_come_again(app: AppHarness) -> None:
    for number in range(4):
        await app.inbox.receive(message(number, platform="web"))
    with pytest.raises(TooMany, match="messages per minute") as refused:
        await app.inbox.receive(message(4, platform="web"))
    assert 0 < refused.value.seconds <= 60
    assert refused.value.code == "too_many_messages"
    # A repeated message that was accepted before is not counted.
    assert (await app.inbox.receive(message(3, platform="web"))).duplicate


async def test_owners_are_not_slowed_down(app: AppHarness) -> None:
    owner = Sender("owner", "Owner", PrincipalRole.OWNER, paired=True)
    for number in range(10):
        received = await app.inbox.receive(message(number, platform="web", sender=owner))
        assert received.status is MessageStatus.ACCEPTED


async def test_files_of_a_day_are_bounded_and_an_upload_that_is_refused_leaves_nothing(app: AppHarness) -> None:
    async def upload(number: int, size: int) -> Received:
        file = Upload("a.bin", "application/octet-stream", bytes(size))
        return await app.inbox.receive(message(number, platform="web", uploads=(file,)))

    await upload(1, 60)
    with pytest.raises(TooMany, match="limit of 100 bytes") as refused:
        await upload(2, 60)
    assert refused.value.seconds > 3600
    await upload(2, 40)
    assert (await upload(1, 60)).duplicate
    app.clock.put_forward(86_400)
    await upload(3, 100)


async def test_the_files_of_a_message_beyond_the_limit_are_not_stored(app: AppHarness) -> None:
    for number in range(4):
        await app.inbox.receive(message(number, platform="web"))
    data = b"never stored"
    with pytest.raises(TooMany, match="messages per minute"):
        await app.inbox.receive(message(4, platform="web", uploads=(Upload("a.txt", "text/plain", data),)))
    assert await app.store.get_blob(hashlib.sha256(data).hexdigest()) is None
    app.clock.put_forward(60)
    await app.inbox.receive(message(4, platform="web", uploads=(Upload("a.txt", "text/plain", data),)))
    assert await app.store.get_blob(hashlib.sha256(data).hexdigest()) == data


async def test_the_count_is_kept_in_the_database(app: AppHarness) -> None:
    limit = Allowed(messages_per_minute=2)

    def count(tx: Transaction, role: PrincipalRole) -> int | UsedUp:
        person = tx.principals.seen(PLATFORM, role.value, role.value, role, 1)
        return allowances.count_message(tx, person, role, limit, app.clock.now())

    counts = [await app.store.write(count, PrincipalRole.MEMBER) for _ in range(4)]
    assert counts[:2] == [1, 2]
    assert [each.most for each in counts[2:] if isinstance(each, UsedUp)] == [2, 2]
    assert [await app.store.write(count, PrincipalRole.OWNER) for _ in range(4)] == [1, 2, 3, 4], "owners have no limit"
    app.clock.put_forward(60)
    assert await app.store.write(count, PrincipalRole.MEMBER) == 1


def test_operators_have_more() -> None:
    assert allowances._most(5, PrincipalRole.OPERATOR) == 50
    assert allowances._most(None, PrincipalRole.MEMBER) is None
    assert replace(Allowed(), bytes_per_day=1).messages_per_minute is None
