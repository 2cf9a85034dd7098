"""A draft stands where its answer will be: never above an earlier answer, and never beside its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from arvis.delivery.late_replies import ChannelBackoff
from arvis.delivery.sender import PartSender
from arvis.domain.messages import Address, Button
from arvis.domain.platforms import Draft, DraftState, Part, PartState, Piece
from arvis.ports.connector import Receipt, SendError
from arvis.store.open import Database
from arvis.testing.clock import SteppedClock
from tests.flows.app_harness import AppHarness, open_app
from tests.flows.test_presence import ROOM, ShowingConnector, draft_of, watched, write

HALF = "half a sent"


class FindingConnector(ShowingConnector):
    """A platform that finds drafts by their keys. With `unheard`, a draft is shown but the call fails. `broken` are
    errors of the next sends, `lost` those of the next searches."""

    def __init__(self) -> None:
        super().__init__()
        self.unheard = False
        self.broken: list[SendError] = []
        self.lost: list[SendError] = []
        self._keys: dict[str, str] = {}

    async def send(self, part: Part) -> Receipt:
        if self.broken:
            raise self.broken.pop(0)
        return await super().send(part)

    async def show_draft(self, address: Address, key: str, text: str, buttons: Sequence[Button]) -> str | None:
        shown = await super().show_draft(address, key, text, buttons)
        self._keys[key] = shown or ""
        if self.unheard:
            raise SendError("the line broke", uncertain=True)
        return shown

    async def find_draft(self, draft: Draft) -> str | None:
        if self.lost:
            self.changed.set()
            raise self.lost.pop(0)
        return self._keys.get(draft.id)


@pytest.fixture
def chat() -> FindingConnector:
    return FindingConnector()


@pytest.fixture
async def app(database: Database, chat: FindingConnector) -> AsyncIterator[AppHarness]:
    async with open_app(database, connector=chat) as app:
        yield app


async def test_no_draft_stands_above_an_earlier_answer(app: AppHarness, chat: FindingConnector) -> None:
    chat.broken.append(SendError("connection refused"))
    async with watched(app):
        await app.ask("one")
        _, held = await write(app, "A long story")
        typed = chat.typed
        await chat.until(lambda: chat.typed > typed + 5)
        assert chat.faces == []
        await app.pass_time(2)
        await app.until_sent(1)
        await chat.until(lambda: bool(chat.faces))
        held.go.set()
        await app.until_sent(2)
    assert list(chat.chat.values()) == ["Re: one", "A long story and the rest."]


@pytest.mark.parametrize("first", [None, SendError("no scope", permanent=True), SendError("later", retry_after=1.0)])
async def test_an_answer_takes_the_place_of_a_draft_that_nobody_heard_of(
    app: AppHarness, chat: FindingConnector, first: SendError | None
) -> None:
    chat.unheard = True
    # Every search fails with a permanent error: the search of the delivery, and that of the task that removes drafts.
    chat.lost = [] if first is None else [first] * (9 if first.permanent else 1)
    async with watched(app):
        message, held = await write(app, "A long story")
        await chat.until(lambda: bool(chat.faces))
        held.go.set()
        if first is not None and not first.permanent:
            await chat.until(lambda: not chat.lost)
            await app.pass_time(2)
        await app.until_sent(1)
    answer = "A long story and the rest."
    there = list(chat.chat.values())
    assert there == [answer] if first is None or not first.permanent else there == ["A long story", answer]
    draft = await draft_of(app, message)
    assert draft is not None
    # If the draft cannot be found, its state says who has searched first: the delivery, or the task that removes drafts.
    assert draft.state is DraftState.GONE or len(there) == 2


async def test_a_draft_that_nobody_heard_of_is_cleared_away(app: AppHarness, chat: FindingConnector) -> None:
    left = Draft("turn-of-old", "draft", ROOM, DraftState.SENDING, None, 0)
    chat.unheard = True
    with pytest.raises(SendError):
        await chat.show_draft(ROOM, left.id, HALF, ())
    await app.store.write(lambda tx: tx.drafts.add(left))
    async with watched(app):
        await chat.until(lambda: not chat.chat)


async def test_a_rest_that_another_lane_was_told_of_is_kept(app: AppHarness, chat: FindingConnector) -> None:
    """The rest began while this part was stored."""
    backoff = ChannelBackoff(clock=app.clock)
    backoff.note(ROOM, 60.0)
    await app.ask("one", channel="other")
    await app.until_sent(1, "other")
    [delivery] = await app.deliveries("other")
    part = Part(replace(delivery, address=ROOM), 0, Piece("late"), PartState.SENDING)
    [job] = await app.jobs("deliver")
    part_sender = PartSender(store=app.store, connector=chat, clock=app.clock, backoff=backoff, job=job, part=part)
    with pytest.raises(SendError) as refused:
        await part_sender.send([])
    assert refused.value.retry_after == pytest.approx(60.0, abs=1.0)
    assert chat.texts == ["Re: one"]


def test_a_rest_is_one_of_the_whole_channel() -> None:
    clock = SteppedClock()
    backoff = ChannelBackoff(clock=clock)
    room, thread, other = Address("p", "b", "room"), Address("p", "b", "room", "t"), Address("p", "b", "other")
    backoff.note(thread, 5.0)
    backoff.note(room, 2.0)
    assert (backoff.remaining(room), backoff.remaining(thread), backoff.remaining(other)) == (5.0, 5.0, 0.0)


async def test_a_rest_is_over_in_time() -> None:
    clock = SteppedClock()
    backoff = ChannelBackoff(clock=clock)
    backoff.note(ROOM, 5.0)
    await clock.sleep(4.0)
    assert backoff.remaining(ROOM) == 1.0
    await clock.sleep(1.0)
    assert backoff.remaining(ROOM) == 0.0
