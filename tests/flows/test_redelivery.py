"""A short day on which platforms send everything again, on both databases; `python -m tests.flows.redelivery` is a long
run."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.messages import Address, Delivery, DeliveryState
from arvis.store.open import Database
from tests.flows.redelivery import Counts, Day, check_turns, run_day
from tests.flows.scripted import BOT, PLATFORM, RecordingConnector

EVENTS = 150


async def test_each_event_is_one_message_and_has_one_reply(either_database: Database, figures: list[str]) -> None:
    counts, seed = Counts(), secrets.randbelow(1_000_000)
    await run_day(either_database, EVENTS, seed, counts)
    assert counts.violations == [], f"seed {seed}"
    assert counts.deliveries > EVENTS
    assert counts.crashes > 0
    where = "SQLite" if either_database.url is None else "PostgreSQL"
    figures.append(f"redelivery on {where}: {counts.deliveries} of {counts.events} events, {counts.folded} folded")


# -- the check itself --------------------------------------------------------------------------------------

PLACE = {"channel": "square", "conversation_id": "c", "execution_id": "e", "turn": 1, "position": 1}
ASKED = {**PLACE, "id": "m", "role": "user", "event_id": "1", "content": "Hello", "status": "answered"}
REPLY = {**PLACE, "id": "r", "role": "assistant", "event_id": None, "content": "Re: Hello", "status": "answered"}
SENT = {"id": "d", "message_id": "r", "answers": '["m"]', "state": "sent"}
DAY = Day([{**ASKED, "answered_by": "r"}, {**REPLY, "answered_by": None}], [SENT], [("message", "done")])


def with_message(number: int, **columns: Any) -> Day:
    messages = [dict(message) for message in DAY.messages]
    messages[number].update(columns)
    return replace(DAY, messages=messages)


def sent_by() -> RecordingConnector:
    connector = RecordingConnector(safe_resend=True)
    address = Address(PLATFORM, BOT, "square")
    connector.sent.append(Delivery("d", "r", 0, address, 1, "Re: Hello", "m", ("m",), None, DeliveryState.SENT, 0))
    return connector


def test_a_day_without_fault() -> None:
    assert list(check_turns(DAY, sent_by())) == []


@pytest.mark.parametrize(
    ("day", "complaint"),
    [
        (with_message(0, status="accepted", answered_by=None), "is accepted"),
        (with_message(1, execution_id="another"), "answered by"),
        (with_message(1, content="Re: something else"), "knows nothing of it"),
        (replace(DAY, messages=[*DAY.messages, {**REPLY, "id": "r2", "answered_by": None}]), "two replies"),
        (replace(DAY, messages=[*DAY.messages, {**ASKED, "id": "m2", "answered_by": "r"}]), "each message once"),
        (replace(DAY, deliveries=[{**SENT, "state": "pending"}]), "what was sent"),
        (replace(DAY, deliveries=[SENT, {**SENT, "id": "d2"}]), "each message once"),
    ],
)
def test_a_fault_of_the_day_is_told(day: Day, complaint: str) -> None:
    assert any(complaint in told for told in check_turns(day, sent_by()))
