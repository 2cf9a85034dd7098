"""Workflows described in few words and stored in a real store, and their runs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.workflows import Workflow
from arvis.workflows.service import Wanted, check_document, create
from tests.flows.app_harness import AppHarness

OVER = frozenset({ExecutionStatus.DONE, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED})


def node(node_id: str, kind_of: str, /, **data: Any) -> dict[str, Any]:
    return {"id": node_id, "type": kind_of, "x": 0, "y": 0, "label": node_id, "data": data}


def chain(*nodes: dict[str, Any], agent: str = "") -> dict[str, Any]:
    """Return a document in which each node leads to the next."""
    ways = [
        {"id": f"c{number}", "source": one["id"], "target": other["id"], "sourceHandle": "", "targetHandle": ""}
        for number, (one, other) in enumerate(pairwise(nodes))
    ]
    return {"schema": 1, "settings": {"agent": agent}, "nodes": list(nodes), "connections": ways}


def asks(prompt: str = "{{PREVIOUS_OUTPUT}}") -> dict[str, Any]:
    return node("Work", "agent", userPrompt=prompt)


def triggered(words: str = "", agent: str = "", kind: str = "message", **data: Any) -> dict[str, Any]:
    return chain(node("begin", "trigger", kind=kind, words=words, **data), asks(), agent=agent)


async def draw(
    app: AppHarness, name: str, document: dict[str, Any], *, description: str = "", on: bool = True
) -> Workflow:
    checked = check_document(document)
    assert not checked.errors, checked.problems
    wanted = Wanted(name=name, description=description, enabled=on, checked=checked)
    return await app.store.write(create, wanted, app.clock.now(), by=None)


async def runs_of(app: AppHarness, workflow: Workflow) -> list[Execution]:
    """Return the runs of a workflow, oldest first."""

    page = await app.insights.executions(graph=workflow.graph, status=None, limit=50, cursor=None)
    return sorted(page.items, key=lambda each: each.id)


async def ended_run(app: AppHarness, workflow: Workflow, number: int = 1) -> Execution:
    async def check() -> Execution | None:
        found = await runs_of(app, workflow)
        return found[number - 1] if len(found) >= number and found[number - 1].status in OVER else None

    return await app.until(check)


async def log_of(app: AppHarness, run_id: str) -> list[tuple[str, str, str]]:
    entries = await app.store.read(lambda tx: tx.workflow_runs.entries(run_id, 0, 200))
    return [(each.node_id, each.type, each.content) for each in entries]
