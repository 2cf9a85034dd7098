"""Typing, drafts and statuses of a working agent; one complete message replaces all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from arvis.domain.messages import Address, Button, MessageStatus
from arvis.domain.platforms import Draft, DraftState, MessageDeletion, Part
from arvis.messaging import notices
from arvis.ports.connector import Capabilities, Receipt, SendError
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.scripted import BOT, PATIENCE_SECONDS, PLATFORM, Held, RecordingConnector, asking, call

ROOM = Address(PLATFORM, BOT, "room")


class ShowingConnector(RecordingConnector):
    """A platform that shows typing and drafts. `chat` maps ids to the visible texts; `faces` lists all texts that were
    ever visible."""

    typing_seconds = 0.01
    draft_seconds = 0.0

    def __init__(self) -> None:
        super().__init__(safe_resend=True)
        self.capabilities = Capabilities()
        self.chat: dict[str, str] = {}
        self.faces: list[str] = []
        self.buttons: list[Button] = []
        self.typed = 0
        #: The duration of a send in multiples of `typing_seconds`, and the number of typing signals meanwhile.
        self.sending = 0
        self.typed_behind = 0
        self.refusals: list[SendError] = []
        self.slow: Held | None = None
        self.changed = asyncio.Event()

    async def send(self, part: Part) -> Receipt:
        typed = self.typed
        for _ in range(self.sending):
            await asyncio.sleep(self.typing_seconds)
        self.typed_behind += self.typed - typed
        await super().send(part)
        platform_id = part.platform_id or f"m{len(self.chat)}"
        self.chat[platform_id] = part.piece.content
        return Receipt(platform_id)

    async def typing(self, address: Address) -> None:
        self.typed += 1
        self.changed.set()

    async def show_draft(self, address: Address, key: str, text: str, buttons: Sequence[Button]) -> str | None:
        self._refuse()
        platform_id = f"d{len(self.chat)}"
        self._see(platform_id, text, buttons)
        return platform_id

    async def change_draft(self, address: Address, platform_id: str, text: str, buttons: Sequence[Button]) -> None:
        self._refuse()
        if self.slow is not None:
            held, self.slow = self.slow, None
            await held.wait()
        self._see(platform_id, text, buttons)

    async def remove_draft(self, address: Address, platform_id: str) -> None:
        self.chat.pop(platform_id, None)
        self.changed.set()

    def _refuse(self) -> None:
        if self.refusals:
            self.changed.set()
            raise self.refusals.pop(0)

    def _see(self, platform_id: str, text: str, buttons: Sequence[Button]) -> None:
        self.chat[platform_id] = text
        self.faces.append(text)
        self.buttons = list(buttons)
        self.changed.set()

    async def until(self, check: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not check():
                self.changed.clear()
                await self.changed.wait()


@asynccontextmanager
async def watched(app: AppHarness) -> AsyncIterator[None]:
    """Run the presence of this process until the end of the block."""
    up = asyncio.Event()
    task = asyncio.create_task(app.build_presence().run(up.set))
    await up.wait()
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
def chat() -> ShowingConnector:
    return ShowingConnector()


@pytest.fixture
async def app(database: Database, chat: ShowingConnector) -> AsyncIterator[AppHarness]:
    async with open_app(database, connector=chat) as app:
        yield app


async def write(app: AppHarness, shown: str) -> tuple[str, Held]:
    """Let a turn write this text and pause. Return the message's id and the pause."""
    held = Held(text=f"{shown} and the rest.", shown=shown)
    app.provider.script.append(held)
    received = await app.say("Hello")
    await held.until_begun()
    return received.message_id, held


async def draft_of(app: AppHarness, message_id: str) -> Draft | None:
    execution_id = (await app.timeline(message_id)).message.execution_id or ""
    return await app.store.read(lambda tx: tx.drafts.get(execution_id))


async def test_a_draft_grows_and_becomes_the_answer(app: AppHarness, chat: ShowingConnector) -> None:
    async with watched(app):
        message, held = await write(app, "A long story")
        await chat.until(lambda: chat.faces == ["A long story"])
        held.go.set()
        await app.until_sent(1)
    assert list(chat.chat.values()) == ["A long story and the rest."]
    draft = await draft_of(app, message)
    assert draft is not None
    assert draft.state is DraftState.GONE


async def test_little_text_is_not_shown_before_it_is_whole(app: AppHarness, chat: ShowingConnector) -> None:
    async with watched(app):
        _, held = await write(app, "Hm")
        held.text = "Hm."
        await chat.until(lambda: chat.typed > 2)
        held.go.set()
        await app.until_sent(1)
    assert chat.faces == []


async def test_a_long_text_is_shown_by_its_beginning(app: AppHarness, chat: ShowingConnector) -> None:
    async with watched(app):
        _, held = await write(app, "word " * 1000)
        await chat.until(lambda: bool(chat.faces))
        held.go.set()
        await app.until_sent(1)
    assert chat.faces[0].endswith("word…")
    assert len(chat.faces[0]) <= 1501


async def test_typing_goes_on_until_the_reply_is_out(app: AppHarness, chat: ShowingConnector) -> None:
    async with watched(app):
        _, held = await write(app, "")
        await chat.until(lambda: chat.typed >= 3)
        held.go.set()
        await app.until_sent(1)
        await asyncio.sleep(0)
        typed = chat.typed
        await app.ask("again", channel="other")
        await app.until_sent(1, "other")
    assert chat.typed <= typed + 10, "nobody types for ever"


async def test_nothing_is_typed_while_the_answer_is_sent(app: AppHarness, chat: ShowingConnector) -> None:
    chat.sending = 20
    async with watched(app):
        _, held = await write(app, "")
        await chat.until(lambda: chat.typed >= 3)
        held.go.set()
        await app.until_sent(1)
    assert chat.typed_behind == 0


async def test_typing_ends_with_a_message_that_is_taken_back(app: AppHarness, chat: ShowingConnector) -> None:
    await app.queue.stop(0)  # so that the turn cannot begin
    async with watched(app):
        await app.say("Hello", platform_ref="m1")
        await chat.until(lambda: chat.typed > 0)
        await app.inbox.delete(MessageDeletion(ROOM, "delete", "m1"))
        await asyncio.sleep(0)
        typed = chat.typed
        await asyncio.sleep(0.05)
        assert chat.typed == typed


async def test_long_work_shows_one_status_with_a_button(app: AppHarness, chat: ShowingConnector) -> None:
    app.pace = replace(app.pace, status=0.0)
    async with watched(app):
        message, held = await write(app, "")
        await chat.until(lambda: bool(chat.faces))
        assert chat.faces[0] == "Thinking… 0:00"
        assert [button.id for button in chat.buttons] == [f"stop.{message}"]
        assert len(chat.chat) == 1
        held.go.set()
        await app.until_sent(1)
    assert len(chat.chat) == 1, "the status gave way"


async def test_the_progress_of_a_tool_is_shown_beside_the_step(app: AppHarness, chat: ShowingConnector) -> None:
    app.pace = replace(app.pace, status=0.0, status_every=0.0)
    agent = agent_with(tools=("look",), allow_users=("ann",))
    await app.store.write(lambda tx: tx.agents.update(agent, 0))
    looking, thinking = Held(), Held()
    app.tools.look.script.append(looking)
    app.provider.script += [asking(call(1, "look")), thinking]
    async with watched(app):
        await app.say("Look")
        await looking.until_begun()
        await chat.until(lambda: any(face.startswith("Using look… ") for face in chat.faces))
        [caller] = app.tools.look.callers
        caller.progress("1 of 3")
        await chat.until(lambda: any(face.startswith("Using look (1 of 3)… ") for face in chat.faces))
        looking.go.set()
        await thinking.until_begun()
        await chat.until(lambda: chat.faces[-1].startswith("Thinking… "))
        thinking.go.set()
        await app.until_sent(1)


@pytest.mark.parametrize(
    ("shown", "left"), [("A long story", f"A long story{notices.STOPPED_HERE}"), ("", notices.STOPPED)]
)
async def test_a_turn_that_is_stopped_leaves_its_notice_alone(
    app: AppHarness, chat: ShowingConnector, shown: str, left: str
) -> None:
    app.pace = replace(app.pace, status=0.0)
    async with watched(app):
        await write(app, shown)
        await chat.until(lambda: bool(chat.faces))
        await app.inbox.stop(ROOM, "ann")
        await app.until_sent(1)
    assert list(chat.chat.values()) == [left]


async def test_no_change_overtakes_the_answer(app: AppHarness, chat: ShowingConnector) -> None:
    """A change that is on its way when the turn ends arrives before the answer is sent."""
    async with watched(app):
        message, held = await write(app, "A long story")
        await chat.until(lambda: bool(chat.faces))
        slow = chat.slow = Held()
        presence = app.presence
        assert presence is not None
        showing = next(iter(presence._showings.values()))
        showing.add_text(0, "A long story, changed")
        await slow.until_begun()
        held.go.set()
        await app.until_status(message, MessageStatus.ANSWERED)
        for _ in range(20):  # long enough for a delivery that would not wait
            await app.store.read(lambda tx: tx.drafts.open(1))
            await app.store.write(lambda tx: tx.drafts.prune(0, 1))
        assert chat.sent == []
        slow.go.set()
        await app.until_sent(1)
    assert list(chat.chat.values()) == ["A long story and the rest."]


@pytest.mark.parametrize("uncertain", [False, True])
async def test_a_draft_that_cannot_be_shown_is_nobodys_loss(
    app: AppHarness, chat: ShowingConnector, *, uncertain: bool
) -> None:
    chat.refusals.append(SendError("no", uncertain=uncertain))
    async with watched(app):
        _, held = await write(app, "A long story")
        await chat.until(lambda: not chat.refusals)
        held.go.set()
        await app.until_sent(1)
    assert (chat.faces, list(chat.chat.values())) == ([], ["A long story and the rest."])


async def test_a_platform_that_wants_a_rest_gets_it(app: AppHarness, chat: ShowingConnector) -> None:
    chat.refusals.append(SendError("slow down", retry_after=0.05))
    async with watched(app):
        _, held = await write(app, "A long story")
        await chat.until(lambda: bool(chat.faces))
        held.go.set()
        await app.until_sent(1)
    assert list(chat.chat.values()) == ["A long story and the rest."]


async def test_a_crash_midway_ends_in_one_complete_message(app: AppHarness, chat: ShowingConnector) -> None:
    async with watched(app):
        await write(app, "A long story")
        await chat.until(lambda: bool(chat.faces))
    await app.restart()  # the model is called again, and gives another reply
    async with watched(app):
        await app.until_sent(1)
    assert list(chat.chat.values()) == ["Re: Hello"]


async def test_what_a_dead_process_left_is_cleared_away(app: AppHarness, chat: ShowingConnector) -> None:
    chat.chat["d9"] = "half a sent"
    left = Draft("turn-of-old", "draft", ROOM, DraftState.SHOWN, "d9", 0)
    await app.store.write(lambda tx: tx.drafts.add(left))
    async with watched(app):
        await chat.until(lambda: not chat.chat)

        async def cleared() -> bool | None:
            return True if not await app.store.read(lambda tx: tx.drafts.open(9)) else None

        await app.until(cleared)


async def test_a_draft_goes_when_no_reply_takes_its_place(app: AppHarness, chat: ShowingConnector) -> None:
    async with watched(app):
        _, held = await write(app, "A long story")
        await chat.until(lambda: bool(chat.faces))
        chat.script.append(SendError("too rude", permanent=True))
        held.go.set()
        await app.until_idle()
        assert [one.state.value for one in await app.deliveries()] == ["failed"]


async def test_the_web_is_left_alone(database: Database) -> None:
    chat = ShowingConnector()
    chat.capabilities = Capabilities(whole=True)
    async with open_app(database, connector=chat) as app, watched(app):
        _, held = await write(app, "A long story")
        held.go.set()
        await app.until_sent(1)
    assert chat.faces == []
