"""The versions of conversations over SQL."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.conversations import Compaction, ConversationVersion
from arvis.domain.dataclass import replace
from arvis.domain.messages import StoredMessage
from arvis.domain.past_rounds import rounds_of
from arvis.store.repositories.conversations import compaction_of
from arvis.store.repositories.message_index import SqlMessageIndex
from arvis.store.repositories.messages import message_of
from arvis.store.sql.session import Row, Session


def version_of(row: Row) -> ConversationVersion:
    return ConversationVersion(
        id=row["id"],
        conversation_id=row["conversation_id"],
        point_id=row["point_id"],
        first_turn=row["first_turn"],
        message_id=row["message_id"],
        active=bool(row["active"]),
        created_at=row["created_at"],
    )


class SqlConversationVersions:
    """Implements the port `ConversationVersions` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, version: ConversationVersion) -> None:
        self._session.execute(
            "add_conversation_version",
            id=version.id,
            conversation_id=version.conversation_id,
            point_id=version.point_id,
            first_turn=version.first_turn,
            message_id=version.message_id,
            active=int(version.active),
            created_at=version.created_at,
        )

    def get(self, version_id: str) -> ConversationVersion | None:
        row = self._session.one("get_conversation_version", id=version_id)
        return version_of(row) if row else None

    def beginning_with(self, message_id: str) -> ConversationVersion | None:
        row = self._session.one("version_of_message", message_id=message_id)
        return version_of(row) if row else None

    def active_of(self, point_id: str) -> ConversationVersion | None:
        row = self._session.one("active_version", point_id=point_id)
        return version_of(row) if row else None

    def of(self, conversation_id: str, limit: int) -> Sequence[ConversationVersion]:
        rows = self._session.rows("versions_of_conversation", conversation_id=conversation_id, limit=limit)
        return [version_of(row) for row in rows]

    def messages_from(self, conversation_id: str, turn: int, limit: int) -> Sequence[StoredMessage]:
        rows = self._session.rows("messages_from_turn", conversation_id=conversation_id, first_turn=turn, limit=limit)
        return [replace(message_of(row), rounds=rounds_of(row["rounds"])) for row in rows]

    def summaries_from(self, conversation_id: str, turn: int) -> Sequence[Compaction]:
        rows = self._session.rows("summaries_from_turn", conversation_id=conversation_id, first_turn=turn)
        return [compaction_of(row) for row in rows]

    def deactivate(self, version: ConversationVersion, now: int) -> int:
        self._session.execute("set_version_active", id=version.id, active=0, inactive_since=now)
        return self._session.execute(
            "deactivate_turns",
            version_id=version.id,
            conversation_id=version.conversation_id,
            first_turn=version.first_turn,
        )

    def activate(self, version: ConversationVersion) -> int:
        self._session.execute("set_version_active", id=version.id, active=1, inactive_since=None)
        return self._session.execute("activate_turns", version_id=version.id)

    def outlived(self, before: int, limit: int) -> Sequence[ConversationVersion]:
        return [version_of(row) for row in self._session.rows("outlived_versions", before=before, limit=limit)]

    def forget(self, version: ConversationVersion) -> None:
        SqlMessageIndex(self._session).empty_version(version.id)
        self._session.execute("empty_version", version_id=version.id)
        self._session.execute("remove_version", conversation_id=version.conversation_id, version_id=version.id)
        self._session.execute("remove_single_versions", conversation_id=version.conversation_id)
