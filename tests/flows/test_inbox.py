"""Messages of a group are answered, overheard or dropped; each event counts once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.agents import Binding
from arvis.domain.errors import LeaseLost
from arvis.domain.messages import Address, FeedPosition, FileRef, FileState, MessageStatus, Respond, Sender
from arvis.ports.store import Transaction
from arvis.store.open import Database
from tests.flows.app_harness import HELPER, AppHarness, open_app
from tests.flows.scripted import BOT, PLATFORM

ACCEPTED, DROPPED, EXPIRED = MessageStatus.ACCEPTED, MessageStatus.DROPPED, MessageStatus.EXPIRED
ROOM = Address(PLATFORM, BOT, "room")
HOUR = 3_600_000


@pytest.fixture
async def club(either_database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(either_database) as app:
        yield app


async def talk(app: AppHarness, text: str, *, user: str = "ann", **more: Any) -> str:
    """Send a message to a group, and return its result."""
    given: dict[str, Any] = {"is_direct": False, "addressed": False, "observe": 20}
    received = await app.say(text, user=user, **{**given, **more})
    return received.reason if received.status is DROPPED else str(received.status)


async def bind(app: AppHarness, **more: Any) -> None:
    def script(tx: Transaction) -> None:
        tx.agents.bind(Binding(PLATFORM, "room", HELPER.id, **more), app.clock.now())

    await app.store.write(script)


async def test_only_what_addresses_the_bot_is_answered(club: AppHarness) -> None:
    assert await talk(club, "Nice weather") == "not_addressed"
    assert await talk(club, "Helper, is it?", addressed=True) == "accepted"
    await club.until_sent(1)
    assert len(club.provider.asked) == 1


@pytest.mark.parametrize(
    ("respond", "addressed", "outcome"),
    [
        (Respond.MENTION, False, "not_addressed"),
        (Respond.MENTION, True, "accepted"),
        (Respond.ALL, False, "accepted"),
        (Respond.NEVER, True, "not_addressed"),
    ],
)
async def test_the_bot_says_which_messages_are_for_it(
    club: AppHarness, respond: Respond, addressed: bool, outcome: str
) -> None:
    assert await talk(club, "Hello", respond=respond, addressed=addressed) == outcome


async def test_a_binding_knows_better_than_the_bot(club: AppHarness) -> None:
    await bind(club, respond=Respond.ALL)
    assert await talk(club, "Hello") == "accepted"


async def test_never_holds_for_an_agents_name_as_well(club: AppHarness) -> None:
    assert await talk(club, "@helper hello", respond=Respond.NEVER) == "not_addressed"
    assert await talk(club, "@helper hello") == "accepted"


async def test_a_thread_in_which_the_bot_takes_part_needs_no_mention(club: AppHarness) -> None:
    thread = Address(PLATFORM, BOT, "room", "thread-1")

    async def say(text: str, **more: Any) -> MessageStatus:
        message = replace(club.message(text, is_direct=False, **more), address=thread)
        return (await club.inbox.receive(message)).status

    assert await say("Anybody?", addressed=False) is DROPPED
    assert await say("Bot?", addressed=True) is ACCEPTED
    assert await say("And further?", addressed=False) is ACCEPTED


async def test_what_was_read_along_is_in_the_next_prompt_as_data(club: AppHarness) -> None:
    await talk(club, "We meet at six", user="bob")
    await talk(club, "No, at seven", user="eve")
    await talk(club, "When do we meet?", addressed=True)
    await club.until_sent(1)
    (asked,) = club.provider.prompts
    aside, _, question = asked[-1].rpartition("\n\n")
    assert question == "Ann: When do we meet?"
    assert "Bob #bob: We meet at six\nEve #eve: No, at seven" in aside


async def test_reading_along_is_bounded_and_not_everywhere(club: AppHarness) -> None:
    for number in range(30):
        await talk(club, f"line {number}", observe=5)
    await talk(club, "elsewhere", channel="yard", observe=0)
    await talk(club, "nobody lives here", channel="hall", assigned_agent=None)
    kept = await club.store.read(lambda tx: [each.content for each in tx.overheard.newest(ROOM, 0, 100)])
    assert kept == [f"line {number}" for number in range(25, 30)]
    for channel in ("yard", "hall"):
        place = replace(ROOM, channel=channel)
        assert await club.store.read(lambda tx, place: tx.overheard.newest(place, 0, 100), place) == []


async def test_what_is_a_day_old_is_not_read_any_more(club: AppHarness) -> None:
    await talk(club, "long ago", user="bob")
    club.clock.put_forward(25 * 3600)
    await talk(club, "What is new?", addressed=True)
    await club.until_sent(1)
    assert "long ago" not in str(club.provider.prompts)


async def test_a_thread_begins_with_what_was_said_in_its_channel(club: AppHarness) -> None:
    thread = replace(ROOM, thread="thread-1")

    async def ask(text: str) -> None:
        received = await club.inbox.receive(replace(club.message(text, is_direct=False), address=thread))
        await club.until_status(received.message_id, MessageStatus.ANSWERED)

    await talk(club, "We meet at six", user="bob")
    await ask("When do we meet?")
    await talk(club, "And lunch is at one", user="bob")
    await ask("And further?")
    first, second = (prompt[-1] for prompt in club.provider.prompts)
    assert "Bob #bob: We meet at six" in first
    assert "lunch" not in second


@pytest.mark.parametrize("more", [{"is_direct": True}, {"is_direct": False, "addressed": False}])
async def test_a_place_from_which_somebody_is_heard_is_not_shut(club: AppHarness, more: dict[str, Any]) -> None:
    await club.inbox.unreachable(ROOM, "The bot was removed from this chat.")
    await club.say("Back again", **more)
    assert await club.store.read(lambda tx: tx.channel_status.get(ROOM)) is None


async def test_a_message_that_comes_again_says_nothing_new_of_its_place(club: AppHarness) -> None:
    first = club.message("Good bye")
    await club.inbox.receive(first)
    await club.inbox.unreachable(ROOM, "The bot was removed from this chat.")
    await club.inbox.receive(first)
    assert await club.store.read(lambda tx: tx.channel_status.get(ROOM)) is not None


async def test_a_message_of_long_ago_is_kept_and_not_answered(club: AppHarness) -> None:
    now = club.clock.now()
    old = await club.say("Are you there?", sent_at=now - HOUR - 1000)
    young = await club.say("Hello?", sent_at=now - HOUR + 60_000)
    assert (old.status, old.reason) == (EXPIRED, "too_old")
    assert (await club.until_status(young.message_id, MessageStatus.ANSWERED)).reply == "Re: Hello?"
    timeline = await club.timeline(old.message_id)
    assert (timeline.status, timeline.reply, timeline.message.content) == (EXPIRED, None, "Are you there?")
    again = await club.inbox.receive(club.message("Are you there?", event_id="x", sent_at=now - HOUR - 1000))
    assert (await club.inbox.receive(club.message("x", event_id="x"))).message_id == again.message_id


async def test_a_file_that_the_platform_keeps_waits_for_its_turn(club: AppHarness) -> None:
    file = FileRef("plan.pdf", "application/pdf", 1000, '{"id": 7}')
    message = club.message("Look", files=(file,))
    await club.queue.stop(0)
    received = await club.inbox.receive(message)
    (kept,) = await club.store.read(lambda tx: tx.files.of_message(received.message_id))
    assert (kept.filename, kept.state, kept.source, kept.sha256) == ("plan.pdf", FileState.WAITING, '{"id": 7}', "")


async def test_how_far_a_bot_has_read_is_part_of_the_commit(club: AppHarness) -> None:
    await club.say("one", position=FeedPosition("updates", 7))
    await talk(club, "two", position=FeedPosition("updates", 9))
    await club.inbox.passed(PLATFORM, BOT, FeedPosition("updates", 8))
    assert await club.inbox.position(PLATFORM, BOT, "updates") == 9
    assert await club.inbox.position(PLATFORM, BOT, "other") is None
    assert await club.inbox.feeds(PLATFORM, BOT) == {"updates": 9}


async def test_a_bot_that_another_process_runs_commits_nothing(club: AppHarness) -> None:
    def lost(_: Transaction) -> None:
        raise LeaseLost("The role was taken over by another process")

    door = club.inbox.fenced_by(lost)
    with pytest.raises(LeaseLost):
        await door.receive(club.message("Hello", event_id="e1", position=FeedPosition("updates", 7)))
    assert await club.inbox.position(PLATFORM, BOT, "updates") is None
    assert not (await club.inbox.receive(club.message("Hello", event_id="e1"))).duplicate


async def test_a_stranger_is_given_a_code_once_and_then_silence(club: AppHarness) -> None:
    agent = replace(HELPER, tools=("run_shell",))
    await club.store.write(lambda tx: tx.agents.update(agent, club.clock.now()))
    first = await club.say("Hello")
    again = await club.say("Hello?")
    assert (first.status, first.reason, again.reason) == (DROPPED, "not_paired", "not_paired")
    (offered,) = await club.until_sent(1)
    assert "Send this code to the person who runs this bot" in offered
    assert club.provider.asked == []


async def test_another_program_is_given_no_code(club: AppHarness) -> None:
    agent = replace(HELPER, tools=("run_shell",))
    await club.store.write(lambda tx: tx.agents.update(agent, club.clock.now()))
    message = replace(club.message("Hello"), sender=Sender("bot9", "Bot", bot=True))
    assert (await club.inbox.receive(message)).status is DROPPED
    assert await club.deliveries() == []
