"""Turns of one conversation run one at a time and in order, each for one person and all their waiting messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from arvis.domain.errors import LeaseLost
from arvis.domain.events import StatusChanged
from arvis.domain.executions import WaitKind
from arvis.domain.jobs import JobKind, JobStatus
from arvis.domain.messages import MessageStatus
from arvis.engine.graph import Call, Decision, End, Graph, NodeContext, Pause
from arvis.ports.job_store import Slots
from arvis.store.open import Database
from arvis.tasks.state import BY_DAEMON
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.scripted import Held, said

WAITING, ANSWERED = MessageStatus.WAITING, MessageStatus.ANSWERED


# -- order -------------------------------------------------------------------------------------------------


async def test_a_message_that_waited_sees_the_answer_before_it(either_app: AppHarness) -> None:
    app, held = either_app, Held("the first answer")
    app.provider.script.append(held)
    await app.say("first")
    await held.until_begun()
    second = await app.say("second")
    held.go.set()
    await app.until_status(second.message_id, ANSWERED)
    assert app.provider.prompts[1] == ["user: first", "assistant: the first answer", "user: second"]


async def test_history_follows_the_turns_of_everybody_in_the_room(app: AppHarness) -> None:
    for person, text in (("ann", "one"), ("bob", "two"), ("ann", "three")):
        await app.ask(text, user=person)
    assert app.provider.prompts[2] == [
        "user: Ann: one",
        "assistant: Re: one",
        "user: Bob: two",
        "assistant: Re: Bob: two",
        "user: Ann: three",
    ]


async def test_what_others_wait_with_is_in_nobody_elses_prompt(app: AppHarness) -> None:
    held = Held()
    app.provider.script.append(held)
    await app.say("from ann", user="ann")
    await held.until_begun()
    await app.say("from bob", user="bob")
    last = await app.say("from cem", user="cem")
    held.go.set()
    await app.until_status(last.message_id, ANSWERED)
    assert app.provider.prompts[1] == ["user: Ann: from ann", "assistant: held answer", "user: Bob: from bob"]


# -- fold --------------------------------------------------------------------------------------------------


async def behind_a_held_turn(app: AppHarness, *messages: tuple[str, str]) -> list[str]:
    """Let these messages (person, text) wait behind another person's turn, then release it. Return their ids."""
    held = Held()
    app.provider.script.append(held)
    await app.say("before", user="zoe")
    await held.until_begun()
    ids = [(await app.say(text, user=person)).message_id for person, text in messages]
    held.go.set()
    for message_id in ids:
        await app.until_status(message_id, ANSWERED)
    return ids


async def test_what_one_person_wrote_meanwhile_is_answered_together(either_app: AppHarness) -> None:
    app = either_app
    ids = await behind_a_held_turn(app, ("ann", "one"), ("ann", "two"), ("ann", "three"))
    assert app.provider.prompts[1][-1] == "user: Ann: one\n\nAnn: two\n\nAnn: three"
    timelines = [await app.timeline(message_id) for message_id in ids]
    assert {timeline.reply_id for timeline in timelines} == {timelines[0].reply_id}
    assert all(timeline.answers == ids for timeline in timelines)
    for message_id in ids:
        await app.until_told(message_id, "running", "answered")
    await app.until_sent(2)
    assert app.connector.sent[1].answers == tuple(ids)
    assert app.connector.sent[1].reply_to == ids[-1]
    merged = [job for job in await app.jobs("message") if job.merged_into is not None]
    assert [job.status for job in merged] == [JobStatus.DONE, JobStatus.DONE]


async def test_another_persons_message_ends_the_fold(app: AppHarness) -> None:
    await behind_a_held_turn(app, ("ann", "one"), ("ann", "two"), ("bob", "three"), ("ann", "four"))
    asked = [prompt[-1] for prompt in app.provider.prompts[1:]]
    assert asked == ["user: Ann: one\n\nAnn: two", "user: Bob: three", "user: Ann: four"]


async def test_a_fold_takes_ten_messages(app: AppHarness) -> None:
    await behind_a_held_turn(app, *(("ann", str(number)) for number in range(12)))
    folded = [prompt[-1].removeprefix("user: ").split("\n\n") for prompt in app.provider.prompts[1:]]
    assert folded == [[f"Ann: {number}" for number in range(10)], ["Ann: 10", "Ann: 11"]]


async def test_a_fold_takes_eight_thousand_tokens(app: AppHarness) -> None:
    long = "x" * 10_500  # 3,000 tokens
    await behind_a_held_turn(app, *(("ann", f"{long}{number}") for number in range(4)))
    assert [prompt[-1].count("\n\n") + 1 for prompt in app.provider.prompts[1:]] == [2, 2]


async def test_a_later_turn_reads_a_folded_one_in_order(app: AppHarness) -> None:
    await behind_a_held_turn(app, ("ann", "one"), ("ann", "two"))
    await app.ask("three")
    assert app.provider.prompts[2][2:] == [
        "user: Ann: one\n\nAnn: two",
        "assistant: Re: Ann: one\n\nAnn: two",
        "user: Ann: three",
    ]


async def test_nobody_joins_a_turn_that_was_stopped_before_it_began(either_database: Database) -> None:
    async with open_app(either_database, started=False) as app:
        first = await app.say("first")
        behind = [await app.say(text) for text in ("second", "third")]
        now = app.clock.now()
        (head,) = await app.store.write(lambda tx: tx.jobs.claim(Slots(1, 1, 1), "boot", "node", now, now + 30_000))
        await app.operations.cancel_job(head.id)
        with pytest.raises(LeaseLost):
            await app.flow.run(head)
        await app.start()
        for message in behind:
            timeline = await app.until_status(message.message_id, ANSWERED)
            assert timeline.reply == "Re: second\n\nthird"
        assert (await app.timeline(first.message_id)).status is MessageStatus.CANCELLED


# -- questions to the person -------------------------------------------------------------------------------


async def ask_back(context: NodeContext) -> Decision:
    if context.answer is None:
        return Pause(WaitKind.USER, "Which one?")
    return End(said(f"You chose {context.answer.value['text']}.").to_json(), read=BY_DAEMON)


async def consult(context: NodeContext) -> Decision:
    if context.answer is None:
        return Call("counting", {"until": 3})
    return End(said(f"It is {context.answer.value['result']['count']}.").to_json(), read=BY_DAEMON)


async def count(context: NodeContext) -> Decision:
    return End({"count": context.state["until"]})


GRAPHS = [
    Graph(name="asking", start="ask", nodes={"ask": ask_back}, edges={}),
    Graph(name="consulting", start="consult", nodes={"consult": consult}, edges={}),
    Graph(name="counting", start="count", nodes={"count": count}, edges={}),
]
AGENTS = [
    agent_with(graph="asking"),
    agent_with(id="agent-chief", slug="chief", name="Chief", graph="consulting"),
    agent_with(id="agent-plain", slug="plain", name="Plain"),
]


@pytest.fixture
async def asking(either_database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(either_database, agents=AGENTS, graphs=GRAPHS) as app:
        yield app


async def test_the_next_message_of_the_person_answers_the_question(asking: AppHarness) -> None:
    app = asking
    question = await app.say("Book it")
    await app.until_status(question.message_id, WAITING)
    await app.until_told(question.message_id, "waiting")
    answer = await app.say("the second")
    timeline = await app.until_status(answer.message_id, ANSWERED)
    assert timeline.reply == "You chose the second."
    assert timeline.answers == [question.message_id, answer.message_id]
    assert (await app.timeline(question.message_id)).reply_id == timeline.reply_id
    await app.until_told(question.message_id, "waiting", "running", "answered")
    assert [delivery.content for delivery in await app.deliveries()] == ["Which one?", "You chose the second."]


async def test_a_question_that_is_answered_is_not_waited_for_any_more(asking: AppHarness) -> None:
    """Otherwise, clients that wait for the message would get the old question repeatedly."""
    app = asking
    question = await app.say("Book it")
    await app.until_status(question.message_id, WAITING)
    await app.queue.stop()
    await app.say("the second")
    assert (await app.timeline(question.message_id)).status is MessageStatus.QUEUED


async def test_a_question_leaves_the_lane_to_others(asking: AppHarness) -> None:
    app = asking
    mine = await app.say("Book it", user="ann")
    await app.until_status(mine.message_id, WAITING)
    theirs = await app.say("Me too", user="bob")
    await app.until_status(theirs.message_id, WAITING)
    assert (await app.timeline(mine.message_id)).status is WAITING


@pytest.mark.parametrize("first", ["ann", "bob"])
async def test_everybody_answers_their_own_question(asking: AppHarness, first: str) -> None:
    app = asking
    questions = {}
    for person in ("ann", "bob"):
        questions[person] = (await app.say(f"Book it for {person}", user=person)).message_id
        await app.until_status(questions[person], WAITING)
    for person in (first, "bob" if first == "ann" else "ann"):
        answer = await app.say(f"{person}'s choice", user=person)
        timeline = await app.until_status(answer.message_id, ANSWERED)
        assert timeline.answers == [questions[person], answer.message_id]


async def test_two_answers_at_the_same_moment_are_an_answer_and_a_turn(asking: AppHarness) -> None:
    app = asking
    question = await app.say("Book it")
    await app.until_status(question.message_id, WAITING)
    received = await asyncio.gather(app.say("left"), app.say("right"))
    ends = [await app.until_status(one.message_id, ANSWERED, WAITING) for one in received]
    assert sorted(end.status for end in ends) == [ANSWERED, WAITING]


async def test_the_result_of_a_graph_that_was_called_is_data(asking: AppHarness) -> None:
    """A child answers its caller, not the chat, and may return any data."""
    app = asking
    timeline = await app.ask("How many?", assigned_agent="chief")
    assert timeline.reply == "It is 3."
    assert len(await app.deliveries()) == 1


async def test_a_question_to_one_agent_is_not_answered_by_words_to_another(asking: AppHarness) -> None:
    app = asking
    question = await app.say("Book it")
    await app.until_status(question.message_id, WAITING)
    await app.ask("Hello", assigned_agent="plain")
    assert (await app.timeline(question.message_id)).status is WAITING


# -- drain -------------------------------------------------------------------------------------------------


async def test_a_drain_in_the_middle_of_a_turn_hands_it_back(either_app: AppHarness) -> None:
    app, held = either_app, Held()
    app.provider.script.append(held)
    message = await app.say("Hello")
    await held.until_begun()
    await app.restart()
    timeline = await app.until_status(message.message_id, ANSWERED)
    assert held.cancelled.is_set()
    assert timeline.job is not None
    assert (timeline.job.kind, timeline.job.attempts, timeline.job.crashes) == (JobKind.MESSAGE, 0, 0)
    await app.until_idle()
    assert app.connector.texts == ["Re: Hello"]


async def test_a_drain_lets_a_turn_end_that_is_quick(app: AppHarness) -> None:
    held = Held()
    app.provider.script.append(held)
    message = await app.say("Hello")
    await held.until_begun()
    stopping = asyncio.create_task(app.queue.stop(10))
    held.go.set()
    await stopping
    assert (await app.timeline(message.message_id)).status is ANSWERED
    assert not held.cancelled.is_set()


async def test_what_arrives_during_a_drain_is_answered_after_it(app: AppHarness) -> None:
    await app.queue.stop(0)
    message = await app.say("Hello")
    assert (await app.timeline(message.message_id)).status is MessageStatus.QUEUED
    await app.restart()
    await app.until_status(message.message_id, ANSWERED)


async def test_statuses_are_told_once_each(app: AppHarness) -> None:
    message = await app.ask("Hello")
    await app.until_idle()
    told = [event for event in app.events if isinstance(event, StatusChanged)]
    assert [event.status for event in told] == [MessageStatus.RUNNING, ANSWERED]
    assert {event.message_id for event in told} == {message.message.id}
