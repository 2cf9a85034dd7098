"""The engine: every scenario is cut before and after each of its commits, on both databases, and ends the same."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.errors import ExecutionError, LeaseLost
from arvis.domain.executions import ExecutionStatus, WaitKind
from arvis.domain.jobs import JobStatus
from arvis.graph import lifecycle
from arvis.graph.context import NodeContext
from arvis.graph.decisions import END, Again, Call, Decision, Edge, End, Goto, Graph, Next, Pause
from arvis.ports.store import Store
from arvis.process.clock import SystemClock
from arvis.process.ids import IdMaker
from arvis.store.opening import Database, bring_up_to_date, open_store
from tests.flows.engine_kit import Cut, Scenario, Stage, World


def _straight(world: World) -> Mapping[str, Graph]:
    async def first(context: NodeContext) -> Decision:
        return Next(1, seen=["first"])

    async def second(context: NodeContext) -> Decision:
        await context.once("call", lambda: world.do("call"))
        return Next(context.value + 1, seen=[*context.state["seen"], "second"])

    async def third(context: NodeContext) -> Decision:
        await context.once("call", lambda: world.do("other call"))
        return End([context.value, *context.state["seen"]])

    return _graphs(Graph("main", "first", _nodes(first, second, third), {"first": "second", "second": "third"}))


def _loop(world: World) -> Mapping[str, Graph]:
    async def round_(context: NodeContext) -> Decision:
        rounds = context.state.get("rounds", 0) + 1
        await context.once("call", lambda: world.do(f"round {rounds}"))
        return End(rounds) if rounds == 4 else Again(rounds=rounds)

    return _graphs(Graph("main", "round_", _nodes(round_), {}))


def _branches(world: World) -> Mapping[str, Graph]:
    async def split(context: NodeContext) -> Decision:
        return Next("go")

    async def left(context: NodeContext) -> Decision:
        return Next(left=await context.once("left", lambda: world.do("left")))

    async def right(context: NodeContext) -> Decision:
        return Next(right=await context.once("right", lambda: world.do("right")))

    async def after(context: NodeContext) -> Decision:
        await context.once("after", lambda: world.do("after"))
        return Next("all done")

    edges: dict[str, Edge] = {"split": ["left", "right"], "left": END, "right": lambda _state, _value: "after"}
    return _graphs(Graph("main", "split", _nodes(split, left, right, after), edges))


def _question(world: World) -> Mapping[str, Graph]:
    async def ask(context: NodeContext) -> Decision:
        draft = await context.once("draft", lambda: world.do("draft"))
        if context.answer is None:
            return Pause(WaitKind.APPROVAL, f"Send “{draft}”?", choices=["yes", "no"])
        return Goto("send", context.answer.value["decision"])

    async def send(context: NodeContext) -> Decision:
        await context.once("send", lambda: world.do("send"))
        return End(context.value)

    return _graphs(Graph("main", "ask", _nodes(ask, send), {}))


def _timer(world: World) -> Mapping[str, Graph]:
    async def sleep(context: NodeContext) -> Decision:
        if context.answer is None:
            return Pause(WaitKind.TIMER, "rests", until=context.execution.created_at + 2_500)
        return Next(context.answer.by)

    async def wake(context: NodeContext) -> Decision:
        await context.once("wake", lambda: world.do("wake"))
        return End(context.value)

    return _graphs(Graph("main", "sleep", _nodes(sleep, wake), {"sleep": "wake"}))


def _child(world: World) -> Mapping[str, Graph]:
    async def delegate(context: NodeContext) -> Decision:
        if context.answer is None:
            return Call("helper", {"number": 20})
        return End(context.answer.value["result"] + 2)

    async def work(context: NodeContext) -> Decision:
        await context.once("work", lambda: world.do("work"))
        return Next(context.state["number"] * 2)

    async def report(context: NodeContext) -> Decision:
        return End(context.value)

    return _graphs(
        Graph("main", "delegate", _nodes(delegate), {}),
        Graph("helper", "work", _nodes(work, report), {"work": "report"}),
    )


def _payment(world: World) -> Mapping[str, Graph]:
    async def pay(context: NodeContext) -> Decision:
        await context.once("look", lambda: world.do("look"))
        if context.answer is None:
            return Pause(WaitKind.APPROVAL, "Pay?")
        if context.answer.value["decision"] != "approve":
            return End("refused")
        paid = await context.once("pay", lambda: world.do("pay"), repeatable=False)
        await context.once("log", lambda: world.do("log"))
        return End("paid" if paid else "skipped, for it had happened")

    return _graphs(Graph("main", "pay", _nodes(pay), {}))


def _graphs(*graphs: Graph) -> Mapping[str, Graph]:
    return {graph.name: graph for graph in graphs}


def _nodes(*nodes: Any) -> dict[str, Any]:
    return {node.__name__: node for node in nodes}


SCENARIOS = [
    Scenario("straight", _straight, "main", [2, "first", "second"], {"call": 1, "other call": 1}),
    Scenario("loop", _loop, "main", 4, {f"round {number}": 1 for number in (1, 2, 3, 4)}),
    Scenario("branches", _branches, "main", "all done", {"left": 1, "right": 1, "after": 1}),
    Scenario("question", _question, "main", "approve", {"draft": 1, "send": 1}),
    Scenario("timer", _timer, "main", "timer", {"wake": 1}),
    Scenario("child", _child, "main", 42, {"work": 1}),
]
PAYMENT = Scenario("payment", _payment, "main", "paid", {"look": 1, "pay": 1, "log": 1}, once=frozenset({"pay"}))


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    clock = SystemClock()
    database = Database(tmp_path / "arvis.db", url, tmp_path)
    bring_up_to_date(database, clock.now())
    new_id = IdMaker(clock=clock, random_bits=lambda _bits: 0)
    async with open_store(database, boot="test", new_id=new_id) as (store, _):
        yield store


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_every_scenario_survives_a_cut_at_every_commit(store: Store, scenario: Scenario) -> None:
    whole = Stage(store=store, scenario=scenario, world=World())
    await whole.begin()
    commits = await whole.play()
    await whole.check(cuts=0)
    assert commits > 0
    for at in range(1, commits + 1):
        for committed in (False, True):
            stage = Stage(store=store, scenario=scenario, world=World())
            await stage.begin()
            with pytest.raises(Cut):
                await stage.play(at=at, committed=committed)
            await stage.play()
            await stage.check(cuts=1)


async def test_what_must_not_happen_twice_is_asked_about(store: Store) -> None:
    """A cut between the start and the end of a payment leaves a question, and an honest answer leaves one payment."""
    whole = Stage(store=store, scenario=PAYMENT, world=World())
    await whole.begin()
    commits = await whole.play()
    await whole.check(cuts=0)
    results = set()
    for at in range(1, commits + 1):
        for committed in (False, True):
            world = World()
            stage = Stage(store=store, scenario=PAYMENT, world=world)
            await stage.begin()
            with pytest.raises(Cut):
                await stage.play(at=at, committed=committed)
            await stage.play()
            assert world.happened["pay"] == 1
            assert world.happened["asked"] == 1, "the approval still holds when the effect after it was interrupted"
            results.add((await stage.execution()).result)
    assert results == {"paid", "skipped, for it had happened"}


async def test_a_graph_that_never_ends_is_stopped(store: Store) -> None:
    async def spin(_: NodeContext) -> Decision:
        return Again()

    scenario = Scenario("spin", lambda _: _graphs(Graph("main", "spin", _nodes(spin), {})), "main", None, {})
    stage = Stage(store=store, scenario=scenario, world=World())
    await stage.begin()
    with pytest.raises(ExecutionError, match="40 times"):
        await stage.play()


async def test_a_graph_that_lost_its_node_says_so(store: Store) -> None:
    async def ask(context: NodeContext) -> Decision:
        return Pause(WaitKind.APPROVAL, "go?")

    old = Scenario("old", lambda _: _graphs(Graph("main", "ask", _nodes(ask), {})), "main", None, {})
    stage = Stage(store=store, scenario=old, world=World())
    await stage.begin()
    with pytest.raises(Cut):
        await stage.play(at=1, committed=True)

    async def other(context: NodeContext) -> Decision:
        return End(None)

    new = Scenario("new", lambda _: _graphs(Graph("main", "other", _nodes(other), {})), "main", None, {})
    later = Stage(store=store, scenario=new, world=World())
    later.execution_id = stage.execution_id
    with pytest.raises(ExecutionError, match="no longer has the node ask"):
        await later.play()


async def test_cancel_ends_questions_jobs_and_children(store: Store) -> None:
    scenario = next(each for each in SCENARIOS if each.name == "child")
    stage = Stage(store=store, scenario=scenario, world=World())
    await stage.begin()
    with pytest.raises(Cut):
        await stage.play(at=1, committed=True)  # the parent sleeps, the child waits to run
    cancelled = await store.write(lifecycle.cancel, stage.execution_id, 0)
    children = await store.read(lambda tx: tx.executions.children_of(stage.execution_id))
    assert [child.status for child in children] == [ExecutionStatus.CANCELLED]
    assert (await stage.execution()).status is ExecutionStatus.CANCELLED
    jobs = await store.read(lambda tx: [tx.jobs.get(job_id) for job_id in cancelled])
    assert jobs
    assert {job.status for job in jobs if job} == {JobStatus.CANCELLED}
    assert await store.write(lifecycle.cancel, stage.execution_id, 0) == []


async def test_a_lost_lease_commits_nothing(store: Store) -> None:
    """Somebody cancels while a node works: its step is not committed, and the walk ends with `LeaseLost`."""
    stages: list[Stage] = []

    async def slow(context: NodeContext) -> Decision:
        await store.write(lifecycle.cancel, stages[0].execution_id, 0)
        return End("too late")

    scenario = Scenario("slow", lambda _: _graphs(Graph("main", "slow", _nodes(slow), {})), "main", None, {})
    stages.append(Stage(store=store, scenario=scenario, world=World()))
    await stages[0].begin()
    with pytest.raises(LeaseLost):
        await stages[0].play()
    execution = await stages[0].execution()
    assert (execution.status, execution.result, execution.steps) == (ExecutionStatus.CANCELLED, None, 0)
