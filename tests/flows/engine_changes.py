"""Graphs that change while an execution waits in one of their steps."""

from __future__ import annotations

from typing import Any

from arvis.domain.executions import Wait, WaitKind
from arvis.engine.engine import START_OVER
from arvis.engine.graph import Decision, End, Graph, Next, NodeContext, Pause
from tests.flows.engine_kit import Graphs, World, graphs, nodes, say_yes


def asking(world: World) -> Graphs:
    async def ask(context: NodeContext) -> Decision:
        if context.answer is None:
            return Pause(WaitKind.APPROVAL, "Well?")
        return Next(context.answer.value["decision"])

    async def act(context: NodeContext) -> Decision:
        await context.once("act", lambda: world.do("act"))
        return End(["old", context.value])

    return graphs(Graph("main", "ask", nodes(ask, act), {"ask": "act"}))


def grown(world: World) -> Graphs:
    """Return the graph with one more step at the end; a waiting execution continues at its step."""
    old = asking(world)["main"]

    async def finish(context: NodeContext) -> Decision:
        return End(["new", context.value])

    async def act(context: NodeContext) -> Decision:
        await context.once("act", lambda: world.do("act"))
        return Next(context.value)

    return graphs(Graph("main", "ask", {**old.nodes, "act": act, "finish": finish}, {"ask": "act", "act": "finish"}))


def replaced(world: World) -> Graphs:
    """Return another graph with the same name, without the step where executions wait."""

    async def begin(context: NodeContext) -> Decision:
        await context.once("begin", lambda: world.do("begin"))
        return End(["new", None])

    return graphs(Graph("main", "begin", nodes(begin), {}))


def start_over(wait: Wait, world: World) -> dict[str, Any] | None:
    if START_OVER in wait.choices:
        world.happened["told of the change"] += 1
        return {"decision": "answer", "text": START_OVER}
    return say_yes(wait, world)
