"""Executions, cursors, steps, effects and waits, over SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence

from arvis.domain.conversations import Conversation
from arvis.domain.executions import (
    Answer,
    Cursor,
    Effect,
    EffectState,
    Execution,
    ExecutionStatus,
    Step,
    Wait,
    WaitKind,
)
from arvis.domain.ids import first_id_at
from arvis.domain.jobs import Begun
from arvis.domain.messages import Address
from arvis.store.sql.session import Row, Session, dump, each


def execution_of(row: Row) -> Execution:
    return Execution(
        id=row["id"],
        graph=row["graph"],
        version=row["version"],
        state=json.loads(row["state"]),
        status=ExecutionStatus(row["status"]),
        result=json.loads(row["result"]),
        lane=row["lane"],
        priority=row["priority"],
        principal_id=row["principal_id"],
        parent_wait=row["parent_wait"],
        steps=row["steps"],
        error=row["error"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        begun_by=row["begun_by"],
    )


def cursor_of(row: Row) -> Cursor:
    return Cursor(
        id=row["id"],
        execution_id=row["execution_id"],
        node=row["node"],
        value=json.loads(row["value"]),
        repeats=row["repeats"],
        visits=row["visits"],
        wait_id=row["wait_id"],
    )


def wait_of(row: Row) -> Wait:
    answer = None if row["answer"] is None else json.loads(row["answer"])
    return Wait(
        id=row["id"],
        execution_id=row["execution_id"],
        cursor_id=row["cursor_id"],
        kind=WaitKind(row["kind"]),
        prompt=row["prompt"],
        choices=tuple(json.loads(row["choices"])),
        subject=row["subject"],
        resumes=row["resumes"],
        asked_at=row["asked_at"],
        expires_at=row["expires_at"],
        answer=answer and Answer(answer["value"], row["answered_by"], answer["expired"]),
        answered_by=row["answered_by"],
        answered_at=row["answered_at"],
    )


def step_of(row: Row) -> Step:
    return Step(row["execution_id"], row["number"], row["node"], row["decision"], row["changes"], row["at"])


class SqlExecutions:
    """Implements the port `Executions` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, execution: Execution) -> None:
        self._session.execute(
            "add_execution",
            id=execution.id,
            graph=execution.graph,
            version=execution.version,
            state=dump(dict(execution.state)),
            lane=execution.lane,
            priority=execution.priority,
            principal_id=execution.principal_id,
            parent_wait=execution.parent_wait,
            begun_by=execution.begun_by,
            now=execution.created_at,
        )
        if not self._session.locks_rows:
            self._session.notices.begun[execution.id] = Begun(execution, [])

    def put_below(self, execution_id: str, above: str) -> None:
        self._session.execute("set_begun_by", id=execution_id, begun_by=above)

    def get(self, execution_id: str) -> Execution | None:
        row = self._session.one("get_execution", id=execution_id)
        return execution_of(row) if row else None

    def save(self, execution: Execution) -> None:
        self._session.execute(
            "save_execution",
            id=execution.id,
            graph=execution.graph,
            version=execution.version,
            state=dump(dict(execution.state)),
            status=execution.status,
            result=dump(execution.result),
            steps=execution.steps,
            error=execution.error,
            updated_at=execution.updated_at,
        )

    def set_status(self, execution_id: str, status: ExecutionStatus, error: str | None, now: int) -> None:
        self._session.execute("set_execution_status", id=execution_id, status=status, error=error, now=now)

    def discard(self, execution_id: str) -> None:
        self.drop_cursors(execution_id)
        self._session.execute("delete_execution", id=execution_id)

    def cursors(self, execution_id: str) -> list[Cursor]:
        return [cursor_of(row) for row in self._session.rows("cursors_of", execution_id=execution_id)]

    def visited(self, execution_id: str) -> int:
        row = self._session.one("count_visits", execution_id=execution_id)
        return int(row["count"]) if row else 0

    def put_cursor(self, cursor: Cursor) -> None:
        self._session.execute(
            "put_cursor",
            id=cursor.id,
            execution_id=cursor.execution_id,
            node=cursor.node,
            value=dump(cursor.value),
            repeats=cursor.repeats,
            visits=cursor.visits,
            wait_id=cursor.wait_id,
        )

    def drop_cursors(self, execution_id: str, cursor_ids: Sequence[str] | None = None) -> None:
        if cursor_ids is None:
            self._session.execute("delete_execution_cursors", execution_id=execution_id)
        else:
            for cursor_id in cursor_ids:
                self._session.execute("delete_cursor", id=cursor_id)

    def add_steps(self, steps: Sequence[Step]) -> None:
        columns = [
            {
                "execution_id": step.execution_id,
                "number": step.number,
                "node": step.node,
                "decision": step.decision,
                "changes": step.changes,
                "at": step.at,
            }
            for step in steps
        ]
        self._session.execute_many("add_step", columns)

    def effects(self, execution_id: str) -> list[Effect]:
        return [
            Effect(
                execution_id=row["execution_id"],
                cursor_id=row["cursor_id"],
                visit=row["visit"],
                name=row["name"],
                state=EffectState(row["state"]),
                result=json.loads(row["result"]),
                at=row["at"],
            )
            for row in self._session.rows("effects_of", execution_id=execution_id)
        ]

    def put_effect(self, effect: Effect) -> None:
        self._session.execute(
            "put_effect",
            execution_id=effect.execution_id,
            cursor_id=effect.cursor_id,
            visit=effect.visit,
            name=effect.name,
            state=effect.state,
            result=dump(effect.result),
            at=effect.at,
        )

    def below(self, execution_ids: Sequence[str], limit: int) -> list[Execution]:
        rows = self._session.rows("executions_below", ids=dump(list(execution_ids)), limit=limit)
        return [execution_of(row) for row in rows]

    def children_of(self, execution_id: str) -> list[Execution]:
        return [execution_of(row) for row in self._session.rows("children_of", execution_id=execution_id)]

    def prune(self, before: int, limit: int) -> int:
        old = self._session.rows("old_executions", oldest=first_id_at(before), before=before, limit=limit)
        for row in old:
            for query in EXECUTION_PARTS:
                self._session.execute(query, execution_id=row["id"])
        return len(old)


#: Queries that delete the rows of an execution, in this order. A row is deleted before the rows to which it refers.
EXECUTION_PARTS = (
    "delete_execution_steps",
    "delete_execution_effects",
    "delete_execution_waits",
    "delete_execution_cursors",
    "delete_execution_delegation",
    "forget_run_log",
    "delete_workflow_run",
    "delete_old_execution",
)


_WAITS = each(wait_of)


def _any(rows: Sequence[Row]) -> bool:
    return bool(rows)


class SqlWaits:
    """Implements the port `Waits` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, wait: Wait) -> None:
        self._session.execute(
            "add_wait",
            id=wait.id,
            execution_id=wait.execution_id,
            cursor_id=wait.cursor_id,
            kind=wait.kind,
            prompt=wait.prompt,
            choices=dump(list(wait.choices)),
            subject=wait.subject,
            resumes=wait.resumes,
            asked_at=wait.asked_at,
            expires_at=wait.expires_at,
        )
        if wait.expires_at is not None:
            self._session.notices.due(wait.expires_at)

    def get(self, wait_id: str) -> Wait | None:
        row = self._session.one("get_wait", id=wait_id)
        return wait_of(row) if row else None

    def of_execution(self, execution_id: str) -> list[Wait]:
        return [wait_of(row) for row in self._session.rows("waits_of", execution_id=execution_id)]

    def answered(self, execution_id: str) -> set[str]:
        return {row["id"] for row in self._session.rows("answered_waits", execution_id=execution_id)}

    def any_open(self) -> bool:
        return self._session.held("any_open_wait", _any)

    def open_in_lane(
        self, lane: str, kind: WaitKind, second: WaitKind | None = None, third: WaitKind | None = None
    ) -> list[Wait]:
        kinds = {"kind": kind, "second": second or kind, "third": third or kind}
        return list(self._session.held("open_waits_in_lane", _WAITS, lane=lane, **kinds))

    def find_in(self, wait_id: str, lane: str) -> None:
        self._session.execute("find_wait_in", id=wait_id, lane=lane)

    def shown_as(self, address: Address, ref: str) -> str | None:
        row = self._session.one(
            "question_shown_as",
            platform=address.platform,
            connector=address.connector,
            channel=address.channel,
            ref=ref,
        )
        return row["wait_id"] if row else None

    def is_overtaken(self, talk: Conversation, wait_id: str, principal_id: str) -> bool:
        row = self._session.one(
            "said_since_question",
            platform=talk.address.platform,
            connector=talk.address.connector,
            channel=talk.address.channel,
            wait_id=wait_id,
            conversation_id=talk.id,
            principal_id=principal_id,
        )
        return row is not None

    def answer(self, wait_id: str, answer: Answer, now: int) -> bool:
        text = dump({"value": answer.value, "expired": answer.expired})
        return self._session.one("answer_wait", id=wait_id, answer=text, answered_by=answer.by, now=now) is not None

    def close(self, execution_id: str, now: int) -> None:
        self._session.execute("close_waits", execution_id=execution_id, now=now)

    def due(self, now: int, limit: int) -> list[Wait]:
        return [wait_of(row) for row in self._session.rows("due_waits", now=now, limit=limit)]

    def next_due(self) -> int | None:
        row = self._session.one("next_due_wait")
        return row["expires_at"] if row else None
