"""Stop: the turn that runs ends at once, says so, and leaves its place to what waits."""

from __future__ import annotations

import pytest

from arvis.domain.errors import Conflict, NotFound, ProviderError, ProviderErrorKind
from arvis.domain.jobs import JobStatus
from arvis.domain.messages import Address, MessageStatus
from arvis.messaging import notices
from arvis.store.open import Database
from tests.flows.house import House, agent_with, open_house, steps_of
from tests.flows.scripted import BOT, PLATFORM, Held

CANCELLED, ANSWERED = MessageStatus.CANCELLED, MessageStatus.ANSWERED
ROOM = Address(PLATFORM, BOT, "room")


async def begin_held(house: House, text: str = "Hello", **more: str) -> tuple[str, Held]:
    """A turn whose model is at work; the message's id."""
    held = Held()
    house.provider.script.append(held)
    message = await house.say(text, **more)
    await held.until_begun()
    return message.message_id, held


async def test_stop_ends_the_running_turn_and_says_so(either_house: House) -> None:
    house = either_house
    message, held = await begin_held(house)
    assert await house.inbox.stop(ROOM, "ann") == 1
    timeline = await house.timeline(message)
    assert (timeline.status, timeline.reason, timeline.reply) == (CANCELLED, "stopped", notices.STOPPED)
    await held.until_cancelled()
    assert await house.until_sent(1) == [notices.STOPPED]
    assert house.connector.sent[0].answers == (message,)
    await house.until_told(message, "running", "cancelled")
    assert [step.data["by"] for step in timeline.steps if step.step == "stopped"] == ["ann"]


async def test_stop_frees_the_lane_at_once(either_database: Database) -> None:
    """Also the one worker, while the stopped model still hangs."""
    async with open_house(either_database, workers=2) as house:
        _, held = await begin_held(house, user="ann")
        behind = await house.say("me next", user="bob")
        await house.inbox.stop(ROOM, "ann")
        timeline = await house.until_status(behind.message_id, ANSWERED)
        assert timeline.reply == "Re: Bob: me next"
        assert held.cancelled.is_set()


async def test_a_late_answer_of_a_stopped_turn_is_not_stored(house: House) -> None:
    message, held = await begin_held(house)
    held.go.set()  # the answer arrives in the same moment
    await house.inbox.stop(ROOM, "ann")
    await house.until_idle()
    timeline = await house.timeline(message)
    assert timeline.status in {CANCELLED, ANSWERED}
    assert len(await house.deliveries()) == 1
    assert [line.content for line in await house.deliveries()] == [timeline.reply]


async def test_stop_ends_every_message_of_a_folded_turn(house: House) -> None:
    _, first = await begin_held(house, "first", user="bob")
    second = Held()
    house.provider.script.append(second)
    folded = [(await house.say(text)).message_id for text in ("two", "three")]
    first.go.set()
    await second.until_begun()
    await house.inbox.stop(ROOM, "ann")
    assert {(await house.timeline(message)).status for message in folded} == {CANCELLED}
    await house.until_sent(2)
    assert house.connector.sent[-1].answers == tuple(folded)


async def test_stop_ends_a_turn_that_rests(house: House) -> None:
    house.provider.script.append(ProviderError(ProviderErrorKind.RATE_LIMIT, "not now"))
    message = await house.say("Hello")
    await house.until_noted(message.message_id, "snoozed")
    assert await house.inbox.stop(ROOM, "ann") == 1
    assert (await house.timeline(message.message_id)).status is CANCELLED
    await house.pass_time(60)
    assert (await house.ask("second")).reply == "Re: second"


async def test_stop_is_for_this_place_only(house: House) -> None:
    message, held = await begin_held(house, channel="elsewhere")
    assert await house.inbox.stop(ROOM, "ann") == 0
    held.go.set()
    await house.until_status(message, ANSWERED)


async def test_stop_reaches_every_agent_of_the_place(either_database: Database) -> None:
    plain = agent_with(id="agent-plain", slug="plain", name="Plain")
    async with open_house(either_database, agents=[agent_with(), plain]) as house:
        messages = [(await begin_held(house, assigned_agent=slug))[0] for slug in ("helper", "plain")]
        assert await house.inbox.stop(ROOM, "ann") == 2
        assert {(await house.timeline(message)).status for message in messages} == {CANCELLED}


async def test_stop_without_a_turn_does_nothing(house: House) -> None:
    done = await house.ask("Hello")
    assert await house.inbox.stop(ROOM, "ann") == 0
    assert (await house.timeline(done.message.id)).status is ANSWERED


async def test_the_next_prompt_knows_of_the_stop(house: House) -> None:
    await begin_held(house, "first")
    await house.inbox.stop(ROOM, "ann")
    await house.ask("second")
    assert house.provider.prompts[-1] == ["user: first", f"assistant: {notices.STOPPED}", "user: second"]


# -- cancelled by hand -------------------------------------------------------------------------------------


async def test_a_waiting_message_is_cancelled_alone(either_house: House) -> None:
    house = either_house
    running, held = await begin_held(house, user="ann")
    waiting = await house.say("never mind", user="bob")
    after = await house.say("and me", user="cem")
    job = (await house.timeline(waiting.message_id)).job
    assert job is not None
    await house.operations.cancel_job(job.id)
    assert (await house.timeline(waiting.message_id)).reply == notices.STOPPED
    assert not held.cancelled.is_set()
    held.go.set()
    for message in (running, after.message_id):
        await house.until_status(message, ANSWERED)
    assert [prompt[-1] for prompt in house.provider.prompts] == ["user: Hello", "user: Cem: and me"]


async def test_a_running_message_is_cancelled_by_hand(house: House) -> None:
    message, held = await begin_held(house)
    job = (await house.timeline(message)).job
    assert job is not None
    await house.operations.cancel_job(job.id)
    await held.until_cancelled()
    timeline = await house.timeline(message)
    assert timeline.status is CANCELLED
    assert "stopped" in steps_of(timeline)
    assert timeline.job is not None
    assert timeline.job.status is JobStatus.CANCELLED


async def test_what_is_over_cannot_be_cancelled(house: House) -> None:
    timeline = await house.ask("Hello")
    assert timeline.job is not None
    with pytest.raises(Conflict):
        await house.operations.cancel_job(timeline.job.id)
    with pytest.raises(NotFound):
        await house.operations.cancel_job("nothing")
    assert (await house.timeline(timeline.message.id)).reply == "Re: Hello"


@pytest.mark.parametrize("way", ["stop", "command", "job"])
async def test_what_was_shown_of_the_answer_stays_with_a_mark(house: House, way: str) -> None:
    held = Held(shown="Once upon a time\n```py\nx = 1")
    house.provider.script.append(held)
    message = (await house.say("Tell me a story")).message_id
    await held.until_begun()
    match way:
        case "stop":
            await house.inbox.stop(ROOM, "ann")
        case "command":
            await house.say("/stop")
        case _:
            await house.operations.cancel_job((await house.jobs("message"))[0].id)
    timeline = await house.timeline(message)
    assert (timeline.status, timeline.reason) == (CANCELLED, "stopped")
    assert timeline.reply == f"Once upon a time\n```py\nx = 1\n```{notices.STOPPED_HERE}"
    assert timeline.reply in await house.until_sent(1)
    house.provider.script.clear()
    await house.ask("And then?")
    assert any("Once upon a time" in line for line in house.provider.prompts[-1])
