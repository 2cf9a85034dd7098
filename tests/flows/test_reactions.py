"""Reactions to messages of the bot: feedback on answers, and context of the next prompt."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from arvis.domain.messages import Address, PrincipalRole, Sender
from arvis.domain.reactions import Feedback, ReactionChange
from arvis.domain.taint import Label
from arvis.ports.store import Transaction
from arvis.store.open import Database
from tests.flows.app_harness import HELPER, AppHarness, agent_with, open_app
from tests.flows.scripted import BOT, PLATFORM
from tests.flows.test_taint import CONDUCTOR

ROOM = Address(PLATFORM, BOT, "room")


@pytest.fixture
async def app(either_database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(either_database, agents=[HELPER, CONDUCTOR], safe_resend=False) as app:
        yield app


async def react(app: AppHarness, *added: str, removed: Sequence[str] = (), user: str = "ann", **more: Any) -> None:
    change = ReactionChange(
        ROOM, Sender(user, user.title()), more.pop("ref", "platform-1"), added, tuple(removed), **more
    )
    await app.inbox.react(change)


async def answered(app: AppHarness, **more: Any) -> str:
    """Return the id of an answer that the room shows as `platform-1`."""
    app.provider.script.append("The server runs again.")
    timeline = await app.ask("Is it up?", **more)
    await app.until_sent(1)
    return timeline.reply_id or ""


async def ratings(app: AppHarness, reply: str) -> list[tuple[str, str]]:
    def read(tx: Transaction) -> Sequence[Feedback]:
        return tx.reactions.feedback(reply)

    return [(each.name, each.rating.value) for each in await app.store.read(read)]


async def test_thumbs_are_feedback_one_for_each_person(app: AppHarness) -> None:
    reply = await answered(app)
    await react(app, "👍🏽")
    await react(app, "👍")
    assert await ratings(app, reply) == [("Ann", "up")]
    await react(app, "👎", removed=["👍"])
    assert await ratings(app, reply) == [("Ann", "down")]
    await react(app, removed=["👍"])
    assert await ratings(app, reply) == [("Ann", "down")]
    asked = await app.store.read(lambda tx: tx.messages.get(reply))
    assert asked is not None
    timeline = await app.timeline(asked.reply_to or "")
    assert [each.rating.value for each in timeline.feedback] == ["down"]
    await react(app, removed=["👎"])
    assert await ratings(app, reply) == []


async def test_reactions_reach_the_next_prompt_once(app: AppHarness) -> None:
    await answered(app)
    await react(app, "🎉", ":party:")
    await react(app, "🎉", removed=[":party:"])
    await app.ask("Good")
    line = "Ann reacted with 🎉 to your message “The server runs again.”."
    changing = app.provider.asked[-1].changing
    assert changing.count("reacted with") == 1
    assert line in changing
    assert app.provider.asked[-1].system == app.provider.asked[0].system
    await app.ask("Go on")
    assert "reacted" not in app.provider.asked[-1].changing


async def test_only_a_few_reactions_wait_for_the_prompt(app: AppHarness) -> None:
    await answered(app)
    for number in range(30):
        await react(app, f":e{number}:")
    await app.ask("Well")
    changing = app.provider.asked[-1].changing
    assert changing.count("reacted with") == 5
    assert ":e29:" in changing


async def test_reactions_of_others_taint_the_turn(app: AppHarness) -> None:
    await answered(app, is_direct=False)
    await app.ask("hi", user="bob", is_direct=False, channel="other")
    await react(app, "🎉", user="bob")
    said = await app.ask("Good", is_direct=False)
    reply = await app.store.read(lambda tx: tx.messages.get(said.reply_id or ""))
    assert reply is not None
    assert Label.PEOPLE in reply.taint


async def test_strangers_and_blocked_people_leave_no_reaction(app: AppHarness) -> None:
    reply = await answered(app)
    await app.ask("hi", user="bob", channel="other")

    def block(tx: Transaction) -> None:
        person = tx.principals.find(PLATFORM, "bob")
        assert person is not None
        tx.principals.set_role(person.id, PrincipalRole.BLOCKED, 1)

    await app.store.write(block)
    await react(app, "👎", user="bob")
    await react(app, "👎", user="eve", event_id="e1")
    await react(app, "👎", ref="platform-99")
    await app.inbox.react(
        ReactionChange(Address(PLATFORM, BOT, "elsewhere"), Sender("ann", "Ann"), "platform-1", ("👎",))
    )
    assert await ratings(app, reply) == []
    await app.ask("Good")
    assert "reacted" not in app.provider.asked[-1].changing
    assert await app.store.read(lambda tx: tx.events.seen(PLATFORM, BOT, "e1")) is None


async def test_people_who_may_not_ask_the_agent_leave_no_reaction(database: Database) -> None:
    async with open_app(database, agents=[agent_with(allow_users=("ann",)), CONDUCTOR], safe_resend=False) as app:
        reply = await answered(app)
        await app.store.write(lambda tx: tx.principals.seen(PLATFORM, "bob", "Bob", None, 1))
        await react(app, "👎", user="bob")
        await react(app, "👍", user="ann")
        assert await ratings(app, reply) == [("Ann", "up")]


async def test_a_repeated_event_changes_nothing(app: AppHarness) -> None:
    reply = await answered(app)
    await react(app, "👍", event_id="e1")
    await react(app, removed=["👍"], event_id="e2")
    await react(app, "👍", event_id="e1")
    assert await ratings(app, reply) == []
