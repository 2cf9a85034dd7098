"""Queries for the pages about executions, and for their receipts. `SqlInsights` inherits from the classes of this
module."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arvis.domain.executions import EffectState, Execution
from arvis.ports.insights import ExecutionView
from arvis.ports.pages import Page
from arvis.ports.receipts import ModelCall, Receipts, ToolUse
from arvis.store.repositories.executions import execution_of, step_of, wait_of
from arvis.store.sql.session import LAST, Row, Snapshot, Snapshots, page
from arvis.store.views.queue import WorkState, call_of

#: The beginning of the names of effects that are tool calls, such as `tool 2: web_search`.
_TOOL = "tool "
#: The maximum number of callers of an execution (direct and indirect) that are read.
_MOST_ANCESTORS = 20


class SqlReceiptInsights:
    """Implements the port `ReceiptInsights` on both databases."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def receipts(self, of: str) -> Receipts | None:
        async with self._snapshots.snapshot() as snapshot:
            found = await snapshot.rows("get_execution", id=of)
            if not found:
                messages = await snapshot.rows("get_message", id=of)
                found = await snapshot.rows("get_execution", id=messages[0]["execution_id"]) if messages else []
            if not found:
                return None
            execution = execution_of(found[0])
            execution_id = execution.id
            work = WorkState.from_json(execution.state)
            agent_id = work.agent
            agents = await snapshot.rows("get_agent", id=agent_id)
            asked = await snapshot.rows("messages_of_turn", execution_id=execution_id)
            notes = await snapshot.rows("notes_of_message", message_id=asked[0]["id"]) if asked else []
            return Receipts(
                execution=execution,
                ancestors=await _ancestors(snapshot, execution.parent_wait),
                agent_id=agent_id,
                agent=agents[0]["slug"] if agents else agent_id,
                conversation_id=work.conversation,
                calls=[_call_of(row) for row in await snapshot.rows("usage_of_turn", execution_id=execution_id)],
                tools=list(await _tools(snapshot, execution_id, execution.created_at, notes)),
                question="\n\n".join(row["content"] for row in asked),
                reply=await _reply(snapshot, asked),
            )


async def _ancestors(snapshot: Snapshot, parent_wait: str | None) -> Sequence[str]:
    found: list[str] = []
    while parent_wait is not None and len(found) < _MOST_ANCESTORS:
        waits = await snapshot.rows("get_wait", id=parent_wait)
        parents = await snapshot.rows("get_execution", id=waits[0]["execution_id"]) if waits else []
        if not parents:
            break
        found.append(parents[0]["id"])
        parent_wait = parents[0]["parent_wait"]
    return found


async def _reply(snapshot: Snapshot, asked: Sequence[Row]) -> str:
    reply_id = asked[-1]["answered_by"] if asked else None
    rows = await snapshot.rows("get_message", id=reply_id) if reply_id else []
    return str(rows[0]["content"]) if rows else ""


async def _tools(snapshot: Snapshot, execution_id: str, created_at: int, notes: Sequence[Row]) -> Iterator[ToolUse]:
    """Return the finished tool calls. If the duration of a call was not recorded, the call counts as started at the
    last step or answer before it."""
    steps = await snapshot.rows("steps_of", execution_id=execution_id)
    waits = await snapshot.rows("waits_of", execution_id=execution_id)
    moments = sorted([created_at, *(row["at"] for row in steps), *(row["answered_at"] or 0 for row in waits)])
    effects = await snapshot.rows("effects_of", execution_id=execution_id)
    tool_notes = [{**json.loads(row["data"]), "at": row["at"]} for row in notes if row["step"] == "tool"]
    made = [row for row in effects if row["name"].startswith(_TOOL) and row["state"] == EffectState.FINISHED]
    return (_tool_of(row, moments, tool_notes) for row in sorted(made, key=lambda row: (row["at"], row["name"])))


def _tool_of(row: Row, moments: Sequence[int], tool_notes: list[dict[str, Any]]) -> ToolUse:
    """Return the tool call of an effect. `tool_notes` are timeline entries about tool calls. The entry about this call
    is removed from `tool_notes`, so that no other call uses the entry."""
    name, at = row["name"].partition(": ")[2], row["at"]
    result: Mapping[str, Any] = json.loads(row["result"]) or {}
    note = next((each for each in tool_notes if each["tool"] == name and each["at"] >= at), None)
    if note is not None:
        tool_notes.remove(note)
    before = max((moment for moment in moments if moment <= at), default=at)
    took = note.get("durationMs") if note is not None else None
    return ToolUse(
        id=f"{row['cursor_id']}/{row['visit']}/{row['name']}",
        name=name,
        began_at=max(before, at - took) if took is not None else before,
        at=at,
        failed=bool(result.get("failed")),
        arguments=str((note or {}).get("arguments", "")),
        output=str((note or {}).get("output", "")),
    )


def _call_of(row: Row) -> ModelCall:
    return ModelCall(
        id=row["id"],
        provider=row["provider"],
        model=row["model"],
        account=row["account"],
        started_at=row["started_at"],
        duration_ms=row["duration_ms"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        cached_tokens=row["cached_tokens"],
        written_tokens=row["written_tokens"],
        cost_micros=row["cost_micros"],
        error=row["error"],
    )


class SqlExecutionInsights:
    """Implements the port `ExecutionInsights` on both databases."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def executions(
        self, *, graph: str | None, status: str | None, limit: int, cursor: str | None
    ) -> Page[Execution]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows(
                "list_executions", before=cursor or LAST, graph=graph, status=status, limit=limit + 1
            )
        return page(rows, execution_of, limit)

    async def execution_costs(
        self, *, graph: str | None, status: str | None, oldest: str, newest: str
    ) -> Mapping[str, int]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("costs_of_executions", graph=graph, status=status, oldest=oldest, newest=newest)
        return {row["id"]: int(row["micros"]) for row in rows if row["micros"]}

    async def execution(self, execution_id: str) -> ExecutionView | None:
        async with self._snapshots.snapshot() as snapshot:
            found = await snapshot.rows("get_execution", id=execution_id)
            if not found:
                return None
            return ExecutionView(
                execution_of(found[0]),
                [step_of(row) for row in await snapshot.rows("steps_of", execution_id=execution_id)],
                [wait_of(row) for row in await snapshot.rows("waits_of", execution_id=execution_id)],
                [execution_of(row) for row in await snapshot.rows("children_of", execution_id=execution_id)],
                [call_of(row) for row in await snapshot.rows("usage_of_turn", execution_id=execution_id)],
            )
