"""The queue of one socket: its order, its merged deltas, and its limits."""

from __future__ import annotations

import asyncio
import json

import pytest

from arvis.domain.events import Delta
from arvis.domain.messages import Address, Sender
from arvis.web.http.identity import Identity, Role
from arvis.web.realtime import connector
from arvis.web.realtime.connector import TOO_SLOW, Client, Frame, HangUp, frame

ROOM = Address("web", "web", "room")


@pytest.fixture
def client() -> Client:
    return Client(
        id="c", identity=Identity(Role.OWNER, "owner", "Owner"), sender=Sender("owner", "Owner"), address=ROOM
    )


def delta(offset: int, text: str, message_id: str = "m1") -> Delta:
    return Delta(ROOM, message_id, offset, text)


async def test_frames_leave_in_order(client: Client) -> None:
    for number in range(3):
        client.push(frame({"n": number}))
    assert [await client.next() for _ in range(3)] == [Frame('{"n":0}'), Frame('{"n":1}'), Frame('{"n":2}')]


async def test_a_delivery_leaves_once(client: Client) -> None:
    for seq in (1, 2, 2, 1, 3):
        client.push(Frame(f"d{seq}", seq))
    client.push(Frame("end"))
    assert [(await client.next()) for _ in range(4)] == [Frame("d1", 1), Frame("d2", 2), Frame("d3", 3), Frame("end")]


async def test_deltas_that_follow_one_another_are_joined(client: Client) -> None:
    for piece in (delta(0, "He"), delta(2, "llo"), delta(0, "Again"), delta(5, "!"), delta(5, "other", "m2")):
        client.push_delta(piece)
    client.push(Frame("{}"))
    client.push_delta(delta(6, "late"))
    left = []
    for _ in range(5):
        item = await client.next()
        assert isinstance(item, Frame)
        left.append(json.loads(item.text))
    assert [(item.get("offset"), item.get("text")) for item in left] == [
        (0, "Hello"), (0, "Again!"), (5, "other"), (None, None), (6, "late"),
    ]  # fmt: skip


async def test_progress_waits_for_another_frame(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector, "_PAUSE", 3_600)
    taking = asyncio.create_task(client.next())
    await asyncio.sleep(0)
    client.push(Frame("running"), progress=True)
    client.push_delta(delta(0, "Hello"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not taking.done()
    client.push(Frame("end"))
    assert await taking == Frame("running")
    assert json.loads((await client.next()).text)["text"] == "Hello"  # type: ignore[union-attr]
    assert await client.next() == Frame("end")


async def test_progress_is_sent_after_a_pause(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector, "_PAUSE", 0.001)
    for text in ("typing", "running"):
        client.push(Frame(text), progress=True)
        assert await client.next() == Frame(text)


async def test_many_deltas_are_no_reason_to_hang_up(client: Client) -> None:
    for offset in range(100_000):
        client.push_delta(delta(offset, "x"))
    item = await client.next()
    assert isinstance(item, Frame)
    assert len(json.loads(item.text)["text"]) == 100_000


@pytest.mark.parametrize(("size", "count"), [(1, 1_001), (1_000_000, 5)])
async def test_too_much_waiting_hangs_up(client: Client, size: int, count: int) -> None:
    for _ in range(count):
        client.push(Frame("x" * size))
    found = await client.next()
    assert isinstance(found, HangUp)
    assert found.code == TOO_SLOW
    client.push(Frame("late"))
    assert await client.next() == found


async def test_what_was_taken_counts_no_longer(client: Client) -> None:
    for _ in range(20):
        client.push(Frame("x" * 1_000_000))
        client.push_delta(delta(0, "y" * 1_000_000))
        assert isinstance(await client.next(), Frame)
        assert isinstance(await client.next(), Frame)


async def test_hanging_up_wakes_the_writer_and_the_first_reason_stays(client: Client) -> None:
    waiting = asyncio.create_task(client.next())
    await asyncio.sleep(0)
    client.hang_up(4001, "logged out")
    client.hang_up(1013, "too slow")
    assert await waiting == HangUp(4001, "logged out")
