"""Turns of one conversation: one at a time, in order, each answering what waited, and each with its own person."""

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
from tests.flows.house import House, agent_with, open_house
from tests.flows.scripted import Held, said

WAITING, ANSWERED = MessageStatus.WAITING, MessageStatus.ANSWERED


# -- order -------------------------------------------------------------------------------------------------


async def test_a_message_that_waited_sees_the_answer_before_it(either_house: House) -> None:
    """Vector Q3."""
    house, held = either_house, Held("the first answer")
    house.provider.script.append(held)
    await house.say("first")
    await held.until_begun()
    second = await house.say("second")
    held.go.set()
    await house.until_status(second.message_id, ANSWERED)
    assert house.provider.prompts[1] == ["user: first", "assistant: the first answer", "user: second"]


async def test_history_follows_the_turns_of_everybody_in_the_room(house: House) -> None:
    for person, text in (("ann", "one"), ("bob", "two"), ("ann", "three")):
        await house.ask(text, user=person)
    assert house.provider.prompts[2] == [
        "user: Ann: one",
        "assistant: Re: one",
        "user: Bob: two",
        "assistant: Re: Bob: two",
        "user: Ann: three",
    ]


async def test_what_others_wait_with_is_in_nobody_elses_prompt(house: House) -> None:
    held = Held()
    house.provider.script.append(held)
    await house.say("from ann", user="ann")
    await held.until_begun()
    await house.say("from bob", user="bob")
    last = await house.say("from cem", user="cem")
    held.go.set()
    await house.until_status(last.message_id, ANSWERED)
    assert house.provider.prompts[1] == ["user: Ann: from ann", "assistant: held answer", "user: Bob: from bob"]


# -- fold --------------------------------------------------------------------------------------------------


async def behind_a_held_turn(house: House, *messages: tuple[str, str]) -> list[str]:
    """Let (person, text) wait behind a turn of somebody else, then let it go; the ids of their messages."""
    held = Held()
    house.provider.script.append(held)
    await house.say("before", user="zoe")
    await held.until_begun()
    ids = [(await house.say(text, user=person)).message_id for person, text in messages]
    held.go.set()
    for message_id in ids:
        await house.until_status(message_id, ANSWERED)
    return ids


async def test_what_one_person_wrote_meanwhile_is_answered_together(either_house: House) -> None:
    house = either_house
    ids = await behind_a_held_turn(house, ("ann", "one"), ("ann", "two"), ("ann", "three"))
    assert house.provider.prompts[1][-1] == "user: Ann: one\n\nAnn: two\n\nAnn: three"
    timelines = [await house.timeline(message_id) for message_id in ids]
    assert {timeline.reply_id for timeline in timelines} == {timelines[0].reply_id}
    assert all(timeline.answers == ids for timeline in timelines)
    for message_id in ids:
        await house.until_told(message_id, "running", "answered")
    await house.until_sent(2)
    assert house.connector.sent[1].answers == tuple(ids)
    assert house.connector.sent[1].reply_to == ids[-1]
    merged = [job for job in await house.jobs("message") if job.merged_into is not None]
    assert [job.status for job in merged] == [JobStatus.DONE, JobStatus.DONE]


async def test_another_persons_message_ends_the_fold(house: House) -> None:
    await behind_a_held_turn(house, ("ann", "one"), ("ann", "two"), ("bob", "three"), ("ann", "four"))
    asked = [prompt[-1] for prompt in house.provider.prompts[1:]]
    assert asked == ["user: Ann: one\n\nAnn: two", "user: Bob: three", "user: Ann: four"]


async def test_a_fold_takes_ten_messages(house: House) -> None:
    await behind_a_held_turn(house, *(("ann", str(number)) for number in range(12)))
    folded = [prompt[-1].removeprefix("user: ").split("\n\n") for prompt in house.provider.prompts[1:]]
    assert folded == [[f"Ann: {number}" for number in range(10)], ["Ann: 10", "Ann: 11"]]


async def test_a_fold_takes_eight_thousand_tokens(house: House) -> None:
    long = "x" * 10_500  # 3,000 tokens
    await behind_a_held_turn(house, *(("ann", f"{long}{number}") for number in range(4)))
    assert [prompt[-1].count("\n\n") + 1 for prompt in house.provider.prompts[1:]] == [2, 2]


async def test_a_later_turn_reads_a_folded_one_in_order(house: House) -> None:
    await behind_a_held_turn(house, ("ann", "one"), ("ann", "two"))
    await house.ask("three")
    assert house.provider.prompts[2][2:] == [
        "user: Ann: one\n\nAnn: two",
        "assistant: Re: Ann: one\n\nAnn: two",
        "user: Ann: three",
    ]


async def test_nobody_joins_a_turn_that_was_stopped_before_it_began(either_database: Database) -> None:
    async with open_house(either_database, started=False) as house:
        first = await house.say("first")
        behind = [await house.say(text) for text in ("second", "third")]
        now = house.clock.now()
        (head,) = await house.store.write(lambda tx: tx.jobs.claim(Slots(1, 1, 1), "boot", "node", now, now + 30_000))
        await house.operations.cancel_job(head.id)
        with pytest.raises(LeaseLost):
            await house.flow.run(head)
        await house.start()
        for message in behind:
            timeline = await house.until_status(message.message_id, ANSWERED)
            assert timeline.reply == "Re: second\n\nthird"
        assert (await house.timeline(first.message_id)).status is MessageStatus.CANCELLED


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
async def asking(either_database: Database) -> AsyncIterator[House]:
    async with open_house(either_database, agents=AGENTS, graphs=GRAPHS) as house:
        yield house


async def test_the_next_message_of_the_person_answers_the_question(asking: House) -> None:
    house = asking
    question = await house.say("Book it")
    await house.until_status(question.message_id, WAITING)
    await house.until_told(question.message_id, "waiting")
    answer = await house.say("the second")
    timeline = await house.until_status(answer.message_id, ANSWERED)
    assert timeline.reply == "You chose the second."
    assert timeline.answers == [question.message_id, answer.message_id]
    assert (await house.timeline(question.message_id)).reply_id == timeline.reply_id
    await house.until_told(question.message_id, "waiting", "running", "answered")
    assert [delivery.content for delivery in await house.deliveries()] == ["Which one?", "You chose the second."]


async def test_a_question_that_is_answered_is_not_waited_for_any_more(asking: House) -> None:
    """Else whoever waits for the message is told of the old question again and again."""
    house = asking
    question = await house.say("Book it")
    await house.until_status(question.message_id, WAITING)
    await house.queue.stop()
    await house.say("the second")
    assert (await house.timeline(question.message_id)).status is MessageStatus.QUEUED


async def test_a_question_leaves_the_lane_to_others(asking: House) -> None:
    house = asking
    mine = await house.say("Book it", user="ann")
    await house.until_status(mine.message_id, WAITING)
    theirs = await house.say("Me too", user="bob")
    await house.until_status(theirs.message_id, WAITING)
    assert (await house.timeline(mine.message_id)).status is WAITING


@pytest.mark.parametrize("first", ["ann", "bob"])
async def test_everybody_answers_their_own_question(asking: House, first: str) -> None:
    house = asking
    questions = {}
    for person in ("ann", "bob"):
        questions[person] = (await house.say(f"Book it for {person}", user=person)).message_id
        await house.until_status(questions[person], WAITING)
    for person in (first, "bob" if first == "ann" else "ann"):
        answer = await house.say(f"{person}'s choice", user=person)
        timeline = await house.until_status(answer.message_id, ANSWERED)
        assert timeline.answers == [questions[person], answer.message_id]


async def test_two_answers_at_the_same_moment_are_an_answer_and_a_turn(asking: House) -> None:
    house = asking
    question = await house.say("Book it")
    await house.until_status(question.message_id, WAITING)
    received = await asyncio.gather(house.say("left"), house.say("right"))
    ends = [await house.until_status(one.message_id, ANSWERED, WAITING) for one in received]
    assert sorted(end.status for end in ends) == [ANSWERED, WAITING]


async def test_the_result_of_a_graph_that_was_called_is_data(asking: House) -> None:
    """A child answers its caller, not the chat, and may return what it likes."""
    house = asking
    timeline = await house.ask("How many?", assigned_agent="chief")
    assert timeline.reply == "It is 3."
    assert len(await house.deliveries()) == 1


async def test_a_question_to_one_agent_is_not_answered_by_words_to_another(asking: House) -> None:
    house = asking
    question = await house.say("Book it")
    await house.until_status(question.message_id, WAITING)
    await house.ask("Hello", assigned_agent="plain")
    assert (await house.timeline(question.message_id)).status is WAITING


# -- drain -------------------------------------------------------------------------------------------------


async def test_a_drain_in_the_middle_of_a_turn_hands_it_back(either_house: House) -> None:
    house, held = either_house, Held()
    house.provider.script.append(held)
    message = await house.say("Hello")
    await held.until_begun()
    await house.restart()
    timeline = await house.until_status(message.message_id, ANSWERED)
    assert held.cancelled.is_set()
    assert timeline.job is not None
    assert (timeline.job.kind, timeline.job.attempts, timeline.job.crashes) == (JobKind.MESSAGE, 0, 0)
    await house.until_idle()
    assert house.connector.texts == ["Re: Hello"]


async def test_a_drain_lets_a_turn_end_that_is_quick(house: House) -> None:
    held = Held()
    house.provider.script.append(held)
    message = await house.say("Hello")
    await held.until_begun()
    stopping = asyncio.create_task(house.queue.stop(10))
    held.go.set()
    await stopping
    assert (await house.timeline(message.message_id)).status is ANSWERED
    assert not held.cancelled.is_set()


async def test_what_arrives_during_a_drain_is_answered_after_it(house: House) -> None:
    await house.queue.stop(0)
    message = await house.say("Hello")
    assert (await house.timeline(message.message_id)).status is MessageStatus.QUEUED
    await house.restart()
    await house.until_status(message.message_id, ANSWERED)


async def test_statuses_are_told_once_each(house: House) -> None:
    message = await house.ask("Hello")
    await house.until_idle()
    told = [event for event in house.events if isinstance(event, StatusChanged)]
    assert [event.status for event in told] == [MessageStatus.RUNNING, ANSWERED]
    assert {event.message_id for event in told} == {message.message.id}
