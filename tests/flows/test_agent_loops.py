"""An agent is done, continues, or waits for the person (seed 000)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from arvis.domain.events import GraphCompleted
from arvis.domain.messages import MessageStatus
from arvis.store.open import Database
from tests.flows.app_harness import AppHarness, agent_with, open_app, steps_of
from tests.flows.scripted import asking, call

CONTINUE = "<AGENT_CONTINUE><STATUS_REPORT>{}</STATUS_REPORT></AGENT_CONTINUE>"
BLOCKED = (
    "<AGENT_BLOCKED><BLOCKER_REASON>{}</BLOCKER_REASON><UNBLOCK_REQUIREMENTS>{}</UNBLOCK_REQUIREMENTS></AGENT_BLOCKED>"
)
DONE = "<AGENT_DONE><KEY_RESULT>{}</KEY_RESULT></AGENT_DONE>"


@pytest.fixture
async def worker(database: Database) -> AsyncIterator[AppHarness]:
    """An app whose agent reports its status in its replies."""
    agent = agent_with(completion="explicit", tools=("look",), allow_users=("ann",))
    async with open_app(database, agents=[agent]) as app:
        yield app


async def test_w1_done_and_blocked_is_blocked(app: AppHarness) -> None:
    app.provider.script.append("Half." + DONE.format("x") + BLOCKED.format("No key", "A key"))
    received = await app.say("Do it")
    timeline = await app.until_status(received.message_id, MessageStatus.WAITING)
    assert (await app.until_sent(1))[0] == "Half.\n\nNo key\n\nA key"
    assert timeline.reply is None


async def test_w2_a_plain_answer_is_done_and_shown_once(app: AppHarness) -> None:
    app.provider.script.append("Hello!")
    assert (await app.ask("Hi")).reply == "Hello!"
    assert await app.until_sent(1) == ["Hello!"]
    assert len(app.provider.asked) == 1


async def test_w3_a_bare_done_shows_nothing(app: AppHarness) -> None:
    app.provider.script.append(DONE.format("all good"))
    assert (await app.ask("Do it")).reply == ""
    assert await app.deliveries() == []


async def test_w4_a_report_is_shown_and_the_agent_goes_on(app: AppHarness) -> None:
    app.provider.script += [CONTINUE.format("Half of it is done."), "All done."]
    timeline = await app.ask("Do it")
    assert timeline.reply == "All done."
    assert await app.until_sent(2) == ["Half of it is done.", "All done."]
    second = app.provider.asked[1]
    assert [turn.role for turn in second.turns] == ["user", "assistant", "user"]
    assert second.turns[1].content == "Half of it is done."
    assert "status_note" in str([step.data for step in timeline.steps])


async def test_what_was_said_on_the_way_is_part_of_the_history(app: AppHarness) -> None:
    app.provider.script += [CONTINUE.format("Half of it."), "All done."]
    await app.ask("Do it")
    await app.ask("And now?")
    assert app.provider.prompts[-1] == ["user: Do it", "assistant: Half of it.\n\nAll done.", "user: And now?"]


async def test_the_same_words_are_not_shown_twice(app: AppHarness) -> None:
    app.provider.script += [CONTINUE.format("Working."), CONTINUE.format("Working."), "Working."]
    assert (await app.ask("Do it")).reply == ""
    await app.until_idle()
    assert app.connector.texts == ["Working."]


async def test_an_agent_goes_on_forty_times_and_no_more(app: AppHarness) -> None:
    app.provider.script += [CONTINUE.format(f"Step {number}.") for number in range(60)]
    timeline = await app.ask("Do it")
    assert len(app.provider.asked) == 40
    assert "the maximum number of steps" in (timeline.reply or "")


async def test_rounds_of_tools_count_anew_in_every_cycle(worker: AppHarness) -> None:
    def look(number: int) -> object:
        return asking(call(number, "look", words=str(number)))

    rounds = [look(number) for number in range(5)]
    more = [look(number) for number in range(5, 10)]
    worker.provider.script += [*rounds, CONTINUE.format("Five."), *more, DONE.format("ten")]  # type: ignore[list-item]
    await worker.ask("Look")
    assert len(worker.tools.look.calls) == 10


async def test_who_is_blocked_in_a_chat_hears_the_answer(app: AppHarness) -> None:
    app.provider.script += [BLOCKED.format("I have no city", "A city"), "It rains in Ulm."]
    first = await app.say("Weather?")
    await app.until_status(first.message_id, MessageStatus.WAITING)
    second = await app.say("Ulm")
    timeline = await app.until_status(second.message_id, MessageStatus.ANSWERED)
    assert (await app.timeline(first.message_id)).status is MessageStatus.ANSWERED
    assert timeline.reply == "It rains in Ulm."
    assert app.provider.prompts[1] == ["user: Weather?", "assistant: I have no city\n\nA city", "user: Ulm"]
    await app.ask("Thanks")
    assert app.provider.prompts[2][:3] == [
        "user: Weather?",
        "assistant: I have no city\n\nA city",
        "user: Ulm",
    ]


async def test_nobody_answers_who_is_blocked(app: AppHarness) -> None:
    app.provider.script.append(BLOCKED.format("I have no city", "A city"))
    first = await app.say("Weather?")
    await app.until_status(first.message_id, MessageStatus.WAITING)
    await app.pass_time(86_401)
    timeline = await app.until_status(first.message_id, MessageStatus.ANSWERED)
    assert timeline.reply == ""
    assert len(app.provider.asked) == 1


async def test_who_works_alone_is_reminded_once_and_text_is_kept(worker: AppHarness) -> None:
    worker.provider.script += ["[MEMORY:x]", "[MEMORY:x]", "never"]
    await worker.ask("Do it")
    assert len(worker.provider.asked) == 2
    assert "You gave no status" in worker.provider.asked[1].turns[-1].content


async def test_visible_text_is_never_asked_for_again(worker: AppHarness) -> None:
    worker.provider.script += ["Here it is.", "never"]
    assert (await worker.ask("Do it")).reply == "Here it is."
    assert len(worker.provider.asked) == 1


async def test_who_works_alone_is_told_how_to_end(worker: AppHarness) -> None:
    worker.provider.script.append(DONE.format("x"))
    await worker.ask("Do it")
    assert "AGENT_DONE" in worker.provider.asked[0].system


async def test_the_end_of_the_graph_is_told(app: AppHarness) -> None:
    told: list[GraphCompleted] = []
    app.bus.subscribe(GraphCompleted, told.append)
    app.provider.script += [BLOCKED.format("Why", "What"), "Done."]
    first = await app.say("Do it")
    await app.until_status(first.message_id, MessageStatus.WAITING)
    await app.ask("So")
    await app.until_idle()
    assert [(each.stop_reason, each.waiting_for_user) for each in told] == [("waiting", True), ("done", False)]


async def test_outcome_and_report_stand_in_the_timeline(app: AppHarness) -> None:
    app.provider.script += [CONTINUE.format("Half."), DONE.format("whole") + "There."]
    timeline = await app.ask("Do it")
    notes = [step.data.get("status_note") for step in timeline.steps if step.step == "node"]
    assert [note for note in notes if note] == ["Half.", "whole"]
    assert "node" in steps_of(timeline)


async def test_an_answer_that_was_said_on_the_way_leaves_no_gap_in_the_history(app: AppHarness) -> None:
    app.provider.script += [CONTINUE.format("Working."), "Working."]
    await app.ask("Do it")
    await app.ask("And now?")
    assert app.provider.prompts[-1] == ["user: Do it", "assistant: Working.", "user: And now?"]


async def test_a_turn_that_is_stuck_again_and_again_comes_to_an_end(app: AppHarness) -> None:
    app.provider.script += [BLOCKED.format(f"Why {number}?", "More") for number in range(45)]
    messages = [await app.say("Do it")]
    for _ in range(39):
        await app.until_status(messages[-1].message_id, MessageStatus.WAITING)
        messages.append(await app.say("Here"))
    timeline = await app.until_status(messages[0].message_id, MessageStatus.ANSWERED)
    assert timeline.reply == "Why 39?\n\nMore"
