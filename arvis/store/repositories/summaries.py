"""Summaries that replace messages in prompts, over SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence

from arvis.domain.conversations import Compaction, CompactionStatus
from arvis.domain.messages import PastMessage
from arvis.domain.taint import taint_of, taint_text
from arvis.ports.compactions import Calibration, Size
from arvis.store.repositories.messages import past_message_of
from arvis.store.sql.session import Row, Session, dump

# Calibrations of token estimates by model, over SQL.


class SqlCalibrations:
    """`Calibrations` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> list[Calibration]:
        return [_calibration_of(row) for row in self._session.rows("all_calibrations")]

    def get(self, model: str) -> Calibration | None:
        row = self._session.one("get_calibration", model=model)
        return _calibration_of(row) if row else None

    def put(self, calibration: Calibration, now: int) -> None:
        self._session.execute(
            "put_calibration",
            model=calibration.model,
            weights=dump(list(calibration.weights)),
            samples=calibration.samples,
            context_window=calibration.most,
            now=now,
        )


def _calibration_of(row: Row) -> Calibration:
    return Calibration(row["model"], tuple(json.loads(row["weights"])), row["samples"], row["context_window"])


def compaction_of(row: Row) -> Compaction:
    return Compaction(
        id=row["id"],
        conversation_id=row["conversation_id"],
        execution_id=row["execution_id"],
        first_turn=row["first_turn"],
        last_turn=row["last_turn"],
        summary=row["summary"],
        tokens=row["tokens"],
        taint=taint_of(row["taint"]),
        messages_before=row["messages_before"],
        messages_after=row["messages_after"],
        tokens_saved=row["tokens_saved"],
        status=CompactionStatus(row["status"]),
        created_at=row["created_at"],
    )


class SqlCompactions:
    """`Compactions` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def size(self, conversation_id: str) -> Size:
        row = self._session.one("size_of_prompts", conversation_id=conversation_id)
        return Size(row["messages"], row["tokens"]) if row else Size(0, 0)

    def oldest(self, conversation_id: str, limit: int) -> list[PastMessage]:
        rows = self._session.rows("oldest_messages", conversation_id=conversation_id, limit=limit)
        return [past_message_of(row) for row in rows]

    def add(self, compaction: Compaction, message_ids: Sequence[str]) -> bool:
        place = {
            "conversation_id": compaction.conversation_id,
            "first_turn": compaction.first_turn,
            "last_turn": compaction.last_turn,
        }
        uncompacted = [row["id"] for row in self._session.rows("hold_range", **place)]
        if not uncompacted or sorted(uncompacted) != sorted(message_ids):
            return False
        self._session.execute("mark_range", compaction_id=compaction.id, **place)
        self._session.execute(
            "add_compaction",
            id=compaction.id,
            **place,
            execution_id=compaction.execution_id,
            summary=compaction.summary,
            tokens=compaction.tokens,
            taint=taint_text(compaction.taint),
            messages_before=compaction.messages_before,
            messages_after=compaction.messages_after,
            tokens_saved=compaction.tokens_saved,
            status=compaction.status,
            created_at=compaction.created_at,
        )
        return True

    def get(self, compaction_id: str) -> Compaction | None:
        row = self._session.one("get_compaction", id=compaction_id)
        return compaction_of(row) if row else None

    def summaries(self, conversation_id: str, limit: int) -> list[Compaction]:
        rows = self._session.rows("newest_summaries", conversation_id=conversation_id, limit=limit)
        return [compaction_of(row) for row in reversed(rows)]

    def restore(self, compaction_id: str, now: int) -> int | None:
        if not self._end(compaction_id, CompactionStatus.RESTORED, now):
            return None
        return self._session.execute("bring_back_messages", compaction_id=compaction_id)

    def postpone(self, conversation_id: str, turns: int, *, planned_only: bool = False) -> None:
        query = "rest_from_planned_compaction" if planned_only else "rest_from_compaction"
        self._session.execute(query, id=conversation_id, turns=turns)

    def is_postponed(self, conversation_id: str, *, planned: bool) -> bool:
        row = self._session.one("rest_of_conversation", id=conversation_id)
        if row is None:
            return False
        until = max(row["compact_after"], row["plan_after"]) if planned else row["compact_after"]
        return bool(row["turns"] < until)

    def forget(self, before: int, limit: int, now: int) -> int:
        rows = self._session.rows("outlived_compactions", before=before, limit=limit)
        return sum(self._forget(row["id"], now) for row in rows)

    def _forget(self, compaction_id: str, now: int) -> bool:
        """Delete each text once, and not the texts of summaries that were restored meanwhile."""
        ended = self._end(compaction_id, CompactionStatus.FINAL, now)
        if ended:
            self._session.execute("empty_messages", compaction_id=compaction_id)
        return ended

    def _end(self, compaction_id: str, status: CompactionStatus, now: int) -> bool:
        return self._session.execute("end_compaction", id=compaction_id, status=status, now=now) > 0
