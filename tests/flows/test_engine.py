"""The engine's rules, one by one. `test_engine_cuts.py` tests that its scenarios survive every cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest

from arvis.bus import EventBus
from arvis.domain.executions import Answer, Execution, ExecutionStatus, Wait, WaitKind
from arvis.domain.jobs import Job, JobStatus, NewJob
from arvis.domain.messages import MessageStatus
from arvis.engine import lifecycle
from arvis.engine.engine import LOOK_AGAIN, START_OVER, Engine, nothing
from arvis.engine.graph import Call, Decision, Edge, End, Goto, Graph, Next, NodeContext, Pause, Repeat
from arvis.ports.store import Store, Transaction
from arvis.store.open import Database
from arvis.testing.clock import SteppedClock
from tests.conformance.databases import opened
from tests.flows.app_harness import agent_with, open_app, steps_of
from tests.flows.engine_kit import Cut, Death, Graphs, Scenario, Stage, World, claim, graphs, nodes, say_yes
from tests.flows.engine_scenarios import SCENARIOS
from tests.flows.scripted import said

CANCELLED, FAILED = ExecutionStatus.CANCELLED, ExecutionStatus.FAILED


@pytest.fixture
async def store(either_database: Database) -> AsyncIterator[Store]:
    async with opened(either_database) as store:
        yield store


def scenario_of(*graph_nodes: Any, **more: Any) -> Scenario:
    """Return a scenario with one graph, which starts at the first node."""
    graph = Graph("main", graph_nodes[0].__name__, nodes(*graph_nodes), {})
    return Scenario("one", lambda _: graphs(graph), [None], {}, **more)


async def played(store: Store, scenario: Scenario) -> Execution:
    stage = Stage(store=store, scenario=scenario)
    await stage.begin()
    await stage.play()
    return await stage.execution()


async def asleep(store: Store, name: str) -> Stage:
    """Return a scenario whose process died directly after its first commit."""
    stage = Stage(store=store, scenario=next(each for each in SCENARIOS if each.name == name))
    await stage.begin()
    with pytest.raises(Cut):
        await stage.play(Death(1, committed=True))
    return stage


async def waits_of(store: Store, execution_id: str) -> list[Wait]:
    return await store.read(lambda tx: tx.waits.of_execution(execution_id))


# -- limits ------------------------------------------------------------------------------------------------


async def test_a_graph_that_never_ends_is_stopped(store: Store) -> None:
    async def spin(_: NodeContext) -> Decision:
        return Repeat()

    execution = await played(store, scenario_of(spin))
    assert (execution.status, execution.error) == (FAILED, "The node spin was visited 40 times in a row")


async def test_a_graph_that_goes_nowhere_is_stopped(store: Store) -> None:
    async def stray(_: NodeContext) -> Decision:
        return Goto("nowhere")

    execution = await played(store, scenario_of(stray))
    assert (execution.status, execution.error) == (FAILED, "The graph main has no node nowhere")


# -- openings ----------------------------------------------------------------------------------------------


async def test_what_is_read_is_handed_to_the_next_node_until_it_is_out_of_date(store: Store) -> None:
    seen: list[Any] = []

    async def first(context: NodeContext) -> Decision:
        seen.append(context.prefetched)
        context.carry_over("from the first")
        return Next()

    async def second(context: NodeContext) -> Decision:
        seen.append(context.prefetched)
        return Next()

    async def third(context: NodeContext) -> Decision:
        seen.append(context.prefetched)
        context.carry_over("from the third")
        context.commit_first()
        return Next()

    async def last(context: NodeContext) -> Decision:
        seen.append(context.prefetched)
        return End()

    edges: dict[str, Edge] = {"first": "second", "second": "third", "third": "last"}
    graph = Graph("main", "first", nodes(first, second, third, last), edges, opening=_opening)
    await played(store, Scenario("one", lambda _: graphs(graph), [None], {}))
    assert seen == ["the opening of main", "from the first", None, None]


async def test_an_execution_that_goes_on_has_no_opening(store: Store) -> None:
    seen: list[Any] = []

    async def wait(context: NodeContext) -> Decision:
        seen.append(context.prefetched)
        return Pause(WaitKind.APPROVAL, "go?") if context.answer is None else End()

    graph = Graph("main", "wait", nodes(wait), {}, opening=_opening)
    await played(store, Scenario("one", lambda _: graphs(graph), [None], {}))
    assert seen == ["the opening of main", None]


def _opening(tx: Transaction, execution: Execution, now: int, messages: object) -> str:
    assert tx.executions.get(execution.id) == execution
    assert now > 0
    return f"the opening of {execution.graph}"


# -- a graph that changed during a wait --------------------------------------------------------------------


async def ask(context: NodeContext) -> Decision:
    return Pause(WaitKind.APPROVAL, "go?") if context.answer is None else End(context.answer.value["decision"])


async def other(_: NodeContext) -> Decision:
    return End("the new way")


def _asking(_: World) -> Graphs:
    return graphs(Graph("main", "ask", nodes(ask), {}))


def _changed(_: World) -> Graphs:
    return graphs(Graph("main", "other", nodes(other), {}))


async def changed_asleep(
    store: Store, answers: list[str], *later: Callable[[World], Graphs]
) -> tuple[Stage, list[str]]:
    """Approve a question, then run each later process with the next of the `later` graphs. People give `answers` to the
    questions about the missing step; these questions are returned."""
    asked: list[str] = []
    graphs_of = iter(later)

    def people(wait: Wait, world: World) -> dict[str, Any] | None:
        if wait.subject is None:
            return say_yes(wait, world)
        asked.append(wait.prompt)
        return {"decision": "answer", "text": answers[len(asked) - 1]}

    def changed(world: World) -> Graphs:
        return next(graphs_of)(world)

    scenario = Scenario("changed", _asking, [], {}, people=people, later=changed)
    stage = Stage(store=store, scenario=scenario)
    await stage.begin()
    with pytest.raises(Cut):
        await stage.play(Death(1, committed=True))
    return stage, asked


async def test_a_step_that_is_gone_is_asked_about(store: Store) -> None:
    stage, asked = await changed_asleep(store, [START_OVER], _changed)
    await stage.play()
    (prompt,) = asked
    assert prompt.startswith(
        "The graph “main” was changed while this execution waited, and its step “ask” no longer exists."
    )
    assert (await stage.execution()).result == "the new way"
    choices = [wait.choices for wait in await waits_of(store, stage.execution_id) if wait.subject]
    assert choices == [(LOOK_AGAIN, START_OVER)]


async def test_a_step_that_is_still_gone_is_asked_about_again(store: Store) -> None:
    stage, asked = await changed_asleep(store, [LOOK_AGAIN, LOOK_AGAIN, START_OVER], _changed)
    await stage.play()
    assert len(asked) == 3
    assert (await stage.execution()).result == "the new way"


async def test_a_step_that_was_put_back_goes_on_with_the_answer_that_it_had(store: Store) -> None:
    stage, asked = await changed_asleep(store, [LOOK_AGAIN], _changed, _asking)
    with pytest.raises(Cut):
        await stage.play(Death(1, committed=True))  # the next process has the step again
    await stage.play()
    assert len(asked) == 1
    assert (await stage.execution()).result == "approve"


async def test_a_turn_whose_graph_was_changed_says_so(database: Database) -> None:
    async def question(context: NodeContext) -> Decision:
        if context.answer is None:
            return Pause(WaitKind.USER, "Which?")
        return End(said(context.answer.value["text"]).to_json())

    async def more(_: NodeContext) -> Decision:
        return Next()

    old = Graph("asking", "question", {"question": question}, {})
    new = Graph("asking", "question", {"question": question, "more": more}, {})
    async with open_app(database, agents=[agent_with(graph="asking")], graphs=[old]) as app:
        asked = await app.say("Hello")
        await app.until_status(asked.message_id, MessageStatus.WAITING)
    async with open_app(database, agents=[], graphs=[new]) as app:
        answer = await app.say("the second")
        timeline = await app.until_status(answer.message_id, MessageStatus.ANSWERED)
        assert timeline.reply == "the second"
        assert steps_of(await app.timeline(asked.message_id)).count("graph_changed") == 1


# -- the end of an execution -------------------------------------------------------------------------------


async def test_cancel_ends_questions_jobs_and_children(store: Store) -> None:
    stage = await asleep(store, "child")  # the parent sleeps, the child waits to run
    cancelled = await store.write(lifecycle.cancel, stage.execution_id, 0)
    children = await store.read(lambda tx: tx.executions.children_of(stage.execution_id))
    assert [child.status for child in children] == [CANCELLED]
    assert (await stage.execution()).status is CANCELLED
    jobs = await store.read(lambda tx: [tx.jobs.get(job_id) for job_id in cancelled])
    assert jobs
    assert {job.status for job in jobs if job} == {JobStatus.CANCELLED}
    ids = [stage.execution_id, children[0].id]
    assert await store.write(lambda tx: [job for each in ids for job in tx.jobs.live_of_execution(each)]) == []
    assert await store.write(lifecycle.cancel, stage.execution_id, 0) == []


def answered_during_a_walk(ended: list[str], child_ended: asyncio.Event) -> Graphs:
    """Return a graph with a child beside a slow branch, and another one that waits in the same lane."""

    async def at_once() -> None:
        """Do nothing; the call makes the engine commit."""

    async def split(_: NodeContext) -> Decision:
        return Next()

    async def delegate(context: NodeContext) -> Decision:
        await context.once("called", at_once)
        if context.answer is None:
            return Call("child", {})
        ended.append("first")
        return End()

    async def slow(context: NodeContext) -> Decision:
        await context.once("waited", child_ended.wait)
        return Pause(WaitKind.USER, "Well?")

    async def child(_: NodeContext) -> Decision:
        return End()

    async def follow(_: NodeContext) -> Decision:
        ended.append("second")
        return End()

    return graphs(
        Graph("main", "split", nodes(split, delegate, slow), {"split": ["delegate", "slow"]}),
        Graph("child", "child", nodes(child), {}),
        Graph("later", "follow", nodes(follow), {}),
    )


async def test_an_answer_during_a_walk_lets_the_execution_go_on_before_its_lane(store: Store) -> None:
    """A separate job for the answer would come after the messages that wait in the lane."""
    ended: list[str] = []
    child_ended = asyncio.Event()
    bus = EventBus()
    clock = SteppedClock()
    family = answered_during_a_walk(ended, child_ended)
    engine = Engine(store=store, graphs=family, clock=clock, bus=bus, new_id=lambda: uuid4().hex)

    def begin(tx: Transaction) -> None:
        for graph in ("main", "later"):
            execution_id = tx.new_id()
            lifecycle.begin(tx, execution_id, graph, {}, lane="lane", priority=5, principal_id=None, now=0)
            tx.jobs.add(NewJob.advance(execution_id, "lane", 5), 0)

    async def claimed() -> list[Job]:
        return await store.write(claim, "boot", clock.now())

    await store.write(begin)
    (first,) = await claimed()
    walk = asyncio.create_task(engine.advance(first, completion=nothing))
    while not (calls := await claimed()):  # noqa: ASYNC110 - the store has no event for new jobs
        await asyncio.sleep(0.001)
    await engine.advance(calls[0], completion=nothing)  # the child ends while its parent's job runs
    child_ended.set()
    await walk
    while jobs := await claimed():
        for job in jobs:
            await engine.advance(job, completion=nothing)
    assert ended == ["first", "second"]


async def test_what_has_ended_neither_fails_nor_begins_again(store: Store) -> None:
    stage = await asleep(store, "question")
    await store.write(lifecycle.cancel, stage.execution_id, 0)
    await store.write(lifecycle.fail, stage.execution_id, "too late", 0)
    assert await store.write(lifecycle.try_again, stage.execution_id, 0) is False
    assert (await stage.execution()).status is CANCELLED


async def test_a_failed_execution_takes_no_persons_word(store: Store) -> None:
    """Otherwise, a retry would use an approval that was given after the failure."""
    stage = await asleep(store, "question")
    await store.write(lifecycle.fail, stage.execution_id, "broken", 0)
    (wait,) = await waits_of(store, stage.execution_id)
    yes = Answer({"decision": "approve"}, "ann")
    assert await store.write(lifecycle.answer, wait.id, yes, 0) is False
    assert await store.write(lifecycle.try_again, stage.execution_id, 0) is True
    assert await store.write(lifecycle.answer, wait.id, yes, 0) is True


async def test_what_time_says_to_a_failed_execution_is_kept(store: Store) -> None:
    """Otherwise, the wait would stay due forever, and a retry by hand would never wake."""
    stage = await asleep(store, "timer")

    def due(tx: Transaction) -> int | None:
        return tx.waits.next_due()

    at = await store.read(due)
    assert at is not None
    await store.write(lifecycle.fail, stage.execution_id, "broken", 0)
    await store.write(lifecycle.expire, at)
    assert await store.read(due) is None
    (wait,) = await waits_of(store, stage.execution_id)
    assert wait.answer == Answer(None, "timer")
