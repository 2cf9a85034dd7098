"""A stop ends the running turn at once, tells the person, and frees the lane."""

from __future__ import annotations

import pytest

from arvis.domain.errors import Conflict, NotFound, ProviderError, ProviderErrorKind
from arvis.domain.jobs import JobStatus
from arvis.domain.messages import Address, MessageStatus
from arvis.messaging import notices
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness, agent_with, open_app, steps_of
from tests.flows.scripted import BOT, PLATFORM, Held

CANCELLED, ANSWERED = MessageStatus.CANCELLED, MessageStatus.ANSWERED
ROOM = Address(PLATFORM, BOT, "room")


async def begin_held(app: AppHarness, text: str = "Hello", **more: str) -> tuple[str, Held]:
    """Start a turn that waits for the model, and return the message's id."""
    held = Held()
    app.provider.script.append(held)
    message = await app.say(text, **more)
    await held.until_begun()
    return message.message_id, held


async def test_stop_ends_the_running_turn_and_says_so(either_app: AppHarness) -> None:
    app = either_app
    message, held = await begin_held(app)
    assert await app.inbox.stop(ROOM, "ann") == 1
    timeline = await app.timeline(message)
    assert (timeline.status, timeline.reason, timeline.reply) == (CANCELLED, "stopped", notices.STOPPED)
    await held.until_cancelled()
    assert await app.until_sent(1) == [notices.STOPPED]
    assert app.connector.sent[0].answers == (message,)
    await app.until_told(message, "running", "cancelled")
    assert [step.data["by"] for step in timeline.steps if step.step == "stopped"] == ["ann"]


async def test_stop_frees_the_lane_at_once(either_database: Database) -> None:
    """The only worker is freed, too, while the stopped model call hangs."""
    async with open_app(either_database, workers=2) as app:
        _, held = await begin_held(app, user="ann")
        behind = await app.say("me next", user="bob")
        await app.inbox.stop(ROOM, "ann")
        timeline = await app.until_status(behind.message_id, ANSWERED)
        assert timeline.reply == "Re: Bob: me next"
        assert held.cancelled.is_set()


async def test_a_late_answer_of_a_stopped_turn_is_not_stored(app: AppHarness) -> None:
    message, held = await begin_held(app)
    held.go.set()  # the answer arrives at the same moment
    await app.inbox.stop(ROOM, "ann")
    await app.until_idle()
    timeline = await app.timeline(message)
    assert timeline.status in {CANCELLED, ANSWERED}
    assert len(await app.deliveries()) == 1
    assert [line.content for line in await app.deliveries()] == [timeline.reply]


async def test_stop_ends_every_message_of_a_folded_turn(app: AppHarness) -> None:
    _, first = await begin_held(app, "first", user="bob")
    second = Held()
    app.provider.script.append(second)
    folded = [(await app.say(text)).message_id for text in ("two", "three")]
    first.go.set()
    await second.until_begun()
    await app.inbox.stop(ROOM, "ann")
    assert {(await app.timeline(message)).status for message in folded} == {CANCELLED}
    await app.until_sent(2)
    assert app.connector.sent[-1].answers == tuple(folded)


async def test_stop_ends_a_turn_that_rests(app: AppHarness) -> None:
    app.provider.script.append(ProviderError(ProviderErrorKind.RATE_LIMIT, "not now"))
    message = await app.say("Hello")
    await app.until_noted(message.message_id, "snoozed")
    assert await app.inbox.stop(ROOM, "ann") == 1
    assert (await app.timeline(message.message_id)).status is CANCELLED
    await app.pass_time(60)
    assert (await app.ask("second")).reply == "Re: second"


async def test_stop_is_for_this_place_only(app: AppHarness) -> None:
    message, held = await begin_held(app, channel="elsewhere")
    assert await app.inbox.stop(ROOM, "ann") == 0
    held.go.set()
    await app.until_status(message, ANSWERED)


async def test_stop_reaches_every_agent_of_the_place(either_database: Database) -> None:
    plain = agent_with(id="agent-plain", slug="plain", name="Plain")
    async with open_app(either_database, agents=[agent_with(), plain]) as app:
        messages = [(await begin_held(app, assigned_agent=slug))[0] for slug in ("helper", "plain")]
        assert await app.inbox.stop(ROOM, "ann") == 2
        assert {(await app.timeline(message)).status for message in messages} == {CANCELLED}


async def test_stop_without_a_turn_does_nothing(app: AppHarness) -> None:
    done = await app.ask("Hello")
    assert await app.inbox.stop(ROOM, "ann") == 0
    assert (await app.timeline(done.message.id)).status is ANSWERED


async def test_the_next_prompt_knows_of_the_stop(app: AppHarness) -> None:
    await begin_held(app, "first")
    await app.inbox.stop(ROOM, "ann")
    await app.ask("second")
    assert app.provider.prompts[-1] == ["user: first", f"assistant: {notices.STOPPED}", "user: second"]


# -- cancelling by hand ------------------------------------------------------------------------------------


async def test_a_waiting_message_is_cancelled_alone(either_app: AppHarness) -> None:
    app = either_app
    running, held = await begin_held(app, user="ann")
    waiting = await app.say("never mind", user="bob")
    after = await app.say("and me", user="cem")
    job = (await app.timeline(waiting.message_id)).job
    assert job is not None
    await app.operations.cancel_job(job.id)
    assert (await app.timeline(waiting.message_id)).reply == notices.STOPPED
    assert not held.cancelled.is_set()
    held.go.set()
    for message in (running, after.message_id):
        await app.until_status(message, ANSWERED)
    assert [prompt[-1] for prompt in app.provider.prompts] == ["user: Hello", "user: Cem: and me"]


async def test_a_running_message_is_cancelled_by_hand(app: AppHarness) -> None:
    message, held = await begin_held(app)
    job = (await app.timeline(message)).job
    assert job is not None
    await app.operations.cancel_job(job.id)
    await held.until_cancelled()
    timeline = await app.timeline(message)
    assert timeline.status is CANCELLED
    assert "stopped" in steps_of(timeline)
    assert timeline.job is not None
    assert timeline.job.status is JobStatus.CANCELLED


async def test_what_is_over_cannot_be_cancelled(app: AppHarness) -> None:
    timeline = await app.ask("Hello")
    assert timeline.job is not None
    with pytest.raises(Conflict):
        await app.operations.cancel_job(timeline.job.id)
    with pytest.raises(NotFound):
        await app.operations.cancel_job("nothing")
    assert (await app.timeline(timeline.message.id)).reply == "Re: Hello"


@pytest.mark.parametrize("way", ["stop", "command", "job"])
async def test_what_was_shown_of_the_answer_stays_with_a_mark(app: AppHarness, way: str) -> None:
    held = Held(shown="Once upon a time\n```py\nx = 1")
    app.provider.script.append(held)
    message = (await app.say("Tell me a story")).message_id
    await held.until_begun()
    match way:
        case "stop":
            await app.inbox.stop(ROOM, "ann")
        case "command":
            await app.say("/stop")
        case _:
            await app.operations.cancel_job((await app.jobs("message"))[0].id)
    timeline = await app.timeline(message)
    assert (timeline.status, timeline.reason) == (CANCELLED, "stopped")
    assert timeline.reply == f"Once upon a time\n```py\nx = 1\n```{notices.STOPPED_HERE}"
    assert timeline.reply in await app.until_sent(1)
    app.provider.script.clear()
    await app.ask("And then?")
    assert any("Once upon a time" in line for line in app.provider.prompts[-1])
