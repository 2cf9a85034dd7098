"""Conversations, with their summaries, handover threads and plugin additions; and calibrations, which correct the token
estimates for a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.conversations import Compaction, CompactionStatus, Conversation
from arvis.domain.dataclass import replace
from arvis.domain.messages import Address, PastMessage
from arvis.domain.taint import taint_of, taint_text
from arvis.ports.conversations import Calibration, Size
from arvis.store.repositories.message_index import SqlMessageIndex
from arvis.store.repositories.messages import address_of, past_messages_of, place
from arvis.store.sql.session import Row, Session, dump, each, first


class SqlCalibrations:
    """Implements the port `Calibrations` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> Sequence[Calibration]:
        return self._session.held("all_calibrations", _CALIBRATIONS)

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


_CALIBRATIONS = each(_calibration_of)


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
        sources=tuple(row["sources"].splitlines()),
    )


_COMPACTIONS = each(compaction_of)


class SqlCompactions:
    """Implements the port `Compactions` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def size(self, conversation_id: str) -> Size:
        row = self._session.one("size_of_prompts", conversation_id=conversation_id)
        return Size(row["messages"], row["tokens"]) if row else Size(0, 0)

    def oldest(self, conversation_id: str, limit: int) -> list[PastMessage]:
        rows = self._session.rows("oldest_messages", conversation_id=conversation_id, limit=limit)
        return past_messages_of(self._session, conversation_id, rows)

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
            sources="\n".join(compaction.sources),
        )
        return True

    def get(self, compaction_id: str) -> Compaction | None:
        row = self._session.one("get_compaction", id=compaction_id)
        return compaction_of(row) if row else None

    def summaries(self, conversation_id: str, limit: int) -> Sequence[Compaction]:
        newest = self._session.held("newest_summaries", _COMPACTIONS, conversation_id=conversation_id, limit=limit)
        return newest[::-1]

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
        """Make a summary final, and delete the texts of the messages that it replaces. If the summary is not active any
        more, delete nothing and return False."""
        ended = self._end(compaction_id, CompactionStatus.FINAL, now)
        if ended:
            SqlMessageIndex(self._session).empty(compaction_id)
            self._session.execute("empty_messages", compaction_id=compaction_id)
        return ended

    def _end(self, compaction_id: str, status: CompactionStatus, now: int) -> bool:
        return self._session.execute("end_compaction", id=compaction_id, status=status, now=now) > 0


def conversation_of(row: Row) -> Conversation:
    return Conversation(
        id=row["id"],
        agent_id=row["agent_id"],
        address=address_of(row),
        created_at=row["created_at"],
        direct=bool(row["direct"]),
        room=row["room"],
        remembers=bool(row["remembers"]),
        effort=row["effort"],
    )


_CONVERSATION = first(conversation_of)


class SqlConversations:
    """Implements the port `Conversations` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def open(self, agent_id: str, address: Address, now: int, *, direct: bool = False, room: str = "") -> Conversation:
        known = self._session.held("open_conversation", _CONVERSATION, agent_id=agent_id, **place(address))
        if known is not None:
            if direct and not known.direct:
                # The agent may have opened the conversation with a message that it posted by itself. Such a message
                # does not state whether the chat is direct, so `direct` may be missing.
                self._session.execute("note_direct", id=known.id)
                known = replace(known, direct=True)
            if room not in {"", known.room}:
                self._session.execute("note_room", id=known.id, room=room)
                known = replace(known, room=room)
            return known
        channel = {"platform": address.platform, "connector": address.connector, "channel": address.channel}
        newest = self._session.one("newest_conversation", agent_id=agent_id, **channel)
        remembers = newest is None or bool(newest["remembers"])
        made = Conversation(
            self._session.new_id(), agent_id, address, created_at=now, direct=direct, room=room, remembers=remembers
        )
        self._session.execute(
            "add_conversation",
            id=made.id,
            agent_id=agent_id,
            now=now,
            direct=int(direct),
            room=room,
            remembers=int(remembers),
            **place(address),
        )
        return made

    def set_remembers(self, conversation: Conversation, *, remembers: bool) -> None:
        address = conversation.address
        self._session.execute(
            "set_remembers",
            agent_id=conversation.agent_id,
            platform=address.platform,
            connector=address.connector,
            channel=address.channel,
            remembers=int(remembers),
        )

    def set_effort(self, conversation_id: str, effort: str | None) -> None:
        self._session.execute("set_effort", id=conversation_id, effort=effort)

    def close(self, conversation_id: str, now: int) -> None:
        self._session.execute("close_conversation", id=conversation_id, now=now)

    def get(self, conversation_id: str) -> Conversation | None:
        return self._session.held("get_conversation", _CONVERSATION, id=conversation_id)

    def in_place(self, address: Address) -> list[Conversation]:
        return [conversation_of(row) for row in self._session.rows("conversations_in_place", **place(address))]

    def last_messages(self) -> dict[str, int]:
        return {row["agent_id"]: row["at"] for row in self._session.rows("last_messages")}

    def next_turn(self, conversation_id: str, now: int) -> int:
        row = self._session.one("next_turn", id=conversation_id, now=now)
        assert row is not None  # noqa: S101 conversations are never deleted
        turns: int = row["turns"]
        return turns


class SqlHandoverThreads:
    """Implements the port `HandoverThreads` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, conversation_id: str, name: str) -> Mapping[str, Any] | None:
        row = self._session.one("get_thread", conversation_id=conversation_id, name=name)
        return None if row is None else _object(row["data"])

    def put(self, conversation_id: str, name: str, data: Mapping[str, Any], now: int) -> None:
        self._session.execute("put_thread", conversation_id=conversation_id, name=name, data=dump(data), now=now)

    def names(self, conversation_id: str) -> list[str]:
        return [row["name"] for row in self._session.rows("thread_names", conversation_id=conversation_id)]

    def drop_all(self, conversation_id: str) -> None:
        self._session.execute("drop_threads", conversation_id=conversation_id)


class SqlPluginAdditions:
    """Implements the port `PluginAdditions` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, message_id: str, conversation_id: str, data: Mapping[str, Any]) -> None:
        fields = {"message_id": message_id, "conversation_id": conversation_id, "data": dump(data)}
        self._session.execute("put_addition", **fields)

    def of(self, conversation_id: str, limit: int) -> Sequence[tuple[str, Mapping[str, Any]]]:
        rows = self._session.rows("additions_of", conversation_id=conversation_id, limit=limit)
        return [(row["message_id"], _object(row["data"])) for row in rows]

    def drop(self, message_id: str) -> None:
        self._session.execute("drop_addition", message_id=message_id)

    def drop_all(self, conversation_id: str) -> None:
        self._session.execute("drop_additions", conversation_id=conversation_id)


def _object(text: str) -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads(text)
    return data
