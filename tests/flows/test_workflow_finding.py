"""The graphs of runs: found by the version of the run, compiled once, and refused with a reason."""

from __future__ import annotations

from dataclasses import replace

from arvis.app.graphs import drawn_graphs
from arvis.domain.executions import Execution, ExecutionStatus
from arvis.ports.store import Store, Transaction
from arvis.workflows.runtime.parts import drawn_id, name_of
from tests.flows.drawn_kit import START, Play, Played, WorkflowStage, drawing, node, pause


async def begun(store: Store, play: Play) -> WorkflowStage:
    stage = WorkflowStage(store, play)
    await stage.begin()
    return stage


async def test_a_version_is_compiled_once(store: Store) -> None:
    play = Play(drawing(START, pause("a"), ways=["start > a"]))
    stage = await begun(store, play)
    finder, execution = drawn_graphs(play.parts(store)), await stage.execution()
    first = await store.read(finder.find, execution)
    assert first is not None
    assert first.name == execution.graph
    assert await store.read(finder.find, execution) is first


async def test_what_walks_no_workflow_has_no_drawn_graph(store: Store) -> None:
    play = Play(drawing(START, pause("a"), ways=["start > a"]))
    execution = await (await begun(store, play)).execution()
    finder = drawn_graphs(play.parts(store))
    assert await store.read(finder.find, replace(execution, graph="agent")) is None
    assert await store.read(finder.find, replace(execution, state={})) is None


async def failed(store: Store, stage: WorkflowStage) -> Played:
    await stage.play()
    found = Played(stage, await stage.execution(), await stage.log())
    assert found.execution.status is ExecutionStatus.FAILED
    assert found.log[-1].type == "run_end"
    return found


async def test_a_version_with_errors_fails_the_run_in_words(store: Store) -> None:
    broken = drawing(START, pause("a"), ways=["start > a", "start > nowhere"])
    found = await failed(store, await begun(store, Play(broken)))
    assert found.execution.error
    assert found.lines("system", "error") == [found.execution.error]


async def test_a_version_that_is_gone_fails_the_run_in_words(store: Store) -> None:
    stage = await begun(store, Play(drawing(START, pause("a"), ways=["start > a"])))
    await store.write(_of_version_7, stage.execution_id)
    assert (await failed(store, stage)).execution.error == "There is no version 7 of this workflow."


async def test_a_node_that_is_not_drawn_fails_the_run_in_words(store: Store) -> None:
    stage = await begun(store, Play(drawing(START, pause("a"), ways=["start > a"])))
    await store.write(_at_nowhere, stage.execution_id)
    assert (await failed(store, stage)).execution.error == "The workflow has no node “nowhere” to begin at."


async def test_nodes_may_be_called_as_the_engine_calls_its_own(store: Store) -> None:
    names = ["begin", "end", "finish", "last", "join:a"]
    usable = [node(each, "wait", amount=0) for each in names[:4]]
    document = drawing(START, *usable, ways=["start > begin > end > finish > last"])
    stage = await begun(store, Play(document))
    await stage.play()
    found = Played(stage, await stage.execution(), await stage.log())
    assert found.order == ["start", "begin", "end", "finish", "last"]
    assert [drawn_id(name_of(each)) for each in names] == names
    assert drawn_id("finish") is None


def _changed(tx: Transaction, execution_id: str, **about: object) -> None:
    execution = tx.executions.get(execution_id)
    assert isinstance(execution, Execution)
    workflow = {**execution.state["workflow"], **about}
    tx.executions.save(replace(execution, state={**execution.state, "workflow": workflow}))


def _of_version_7(tx: Transaction, execution_id: str) -> None:
    _changed(tx, execution_id, version=7)


def _at_nowhere(tx: Transaction, execution_id: str) -> None:
    _changed(tx, execution_id, entry="nowhere")
