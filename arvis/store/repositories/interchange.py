"""The rows of exports and imports, over SQL."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.conversations import Compaction, Conversation
from arvis.domain.dataclass import replace
from arvis.domain.knowledge import Document
from arvis.domain.memory import Fact, State
from arvis.domain.messages import Address, Attachment, Principal, StoredMessage
from arvis.domain.past_rounds import rounds_of
from arvis.domain.platforms import OverheardMessage
from arvis.domain.taint import taint_text
from arvis.ports.personal_data import ExportScope
from arvis.store.repositories.conversations import compaction_of, conversation_of
from arvis.store.repositories.erasures import channel_fields, scopes_of_room
from arvis.store.repositories.knowledge import document_of
from arvis.store.repositories.memory import fact_of, state_of
from arvis.store.repositories.messages import attachment_of, message_of, place
from arvis.store.repositories.people import principal_of
from arvis.store.repositories.platforms import overheard_of
from arvis.store.sql.session import Session, dump


class SqlInterchange:
    """Implements the port `Interchange` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def people(self, after: str, scope: ExportScope, limit: int) -> Sequence[Principal]:
        rows = self._session.rows("people_to_export", after=after, **_scope(scope), limit=limit)
        return [principal_of(row) for row in rows]

    def facts(self, after: str, scope: ExportScope, limit: int) -> Sequence[Fact]:
        rows = self._session.rows("facts_to_export", after=after, **self._memory_of(scope), limit=limit)
        return [fact_of(row) for row in rows]

    def values(self, after: str, scope: ExportScope, limit: int) -> Sequence[tuple[str, State]]:
        rows = self._session.rows("values_to_export", after=after, **self._memory_of(scope), limit=limit)
        return [(row["position"], state_of(row)) for row in rows]

    def _memory_of(self, scope: ExportScope) -> dict[str, str | None]:
        scopes = None if scope.channel is None else dump(scopes_of_room(self._session, scope.channel))
        return {"people": _listed(scope.people), "scopes": scopes}

    def overheard(self, after: str, scope: ExportScope, limit: int) -> Sequence[tuple[str, OverheardMessage]]:
        rows = self._session.rows("overheard_to_export", after=after, **_scope(scope), limit=limit)
        return [(row["id"], overheard_of(row)) for row in rows]

    def conversations(self, after: str, scope: ExportScope, limit: int) -> Sequence[Conversation]:
        rows = self._session.rows("conversations_to_export", after=after, **_scope(scope), limit=limit)
        return [conversation_of(row) for row in rows]

    def in_place(self, agent_id: str, address: Address) -> Sequence[Conversation]:
        rows = self._session.rows("all_conversations_in_place", agent_id=agent_id, **place(address))
        return [conversation_of(row) for row in rows]

    def messages(
        self, conversation_id: str, after: str, people: Sequence[str] | None, limit: int, *, inactive: bool = False
    ) -> Sequence[StoredMessage]:
        rows = self._session.rows(
            "messages_to_export",
            conversation_id=conversation_id,
            after=after,
            people=_listed(people),
            superseded=2 if inactive else 0,
            limit=limit,
        )
        return [replace(message_of(row, self._files(row["id"])), rounds=rounds_of(row["rounds"])) for row in rows]

    def summaries(self, conversation_id: str) -> Sequence[Compaction]:
        rows = self._session.rows("summaries_to_export", conversation_id=conversation_id)
        return [compaction_of(row) for row in rows]

    def documents(self, collection_id: str, after: str, limit: int) -> Sequence[Document]:
        rows = self._session.rows("documents_to_export", collection_id=collection_id, after=after, limit=limit)
        return [document_of(row) for row in rows]

    def add_conversation(self, conversation: Conversation, *, turns: int, active: bool, last_message_at: int) -> None:
        self._session.execute(
            "import_conversation",
            id=conversation.id,
            agent_id=conversation.agent_id,
            **place(conversation.address),
            status="active" if active else "closed",
            turns=turns,
            created_at=conversation.created_at,
            last_message_at=last_message_at,
            direct=int(conversation.direct),
        )

    def add_summary(self, summary: Compaction) -> None:
        names = ("id", "conversation_id", "first_turn", "last_turn", "summary", "tokens", "created_at")
        fields = {name: getattr(summary, name) for name in names}
        self._session.execute("import_summary", **fields, taint=taint_text(summary.taint))
        self._session.execute(
            "mark_range",
            compaction_id=summary.id,
            conversation_id=summary.conversation_id,
            first_turn=summary.first_turn,
            last_turn=summary.last_turn,
        )

    def _files(self, message_id: str) -> list[Attachment]:
        return [attachment_of(row) for row in self._session.rows("attachments_of_message", message_id=message_id)]


def _scope(scope: ExportScope) -> dict[str, str | None]:
    channel = scope.channel
    place = dict.fromkeys(("platform", "connector", "channel")) if channel is None else channel_fields(channel)
    return {"people": _listed(scope.people), **place}


def _listed(people: Sequence[str] | None) -> str | None:
    return None if people is None else dump(list(people))
