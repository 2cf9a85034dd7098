"""Conversations over SQL."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.conversations import Conversation
from arvis.domain.messages import Address
from arvis.store.repositories.messages import address_of, place
from arvis.store.sql.session import Row, Session


def conversation_of(row: Row) -> Conversation:
    return Conversation(
        id=row["id"],
        agent_id=row["agent_id"],
        address=address_of(row),
        turns=row["turns"],
        created_at=row["created_at"],
        direct=bool(row["direct"]),
    )


class SqlConversations:
    """`Conversations` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def open(self, agent_id: str, address: Address, now: int, *, direct: bool = False) -> Conversation:
        row = self._session.one("open_conversation", agent_id=agent_id, **place(address))
        if row is not None:
            return self._known(conversation_of(row), direct=direct)
        made = Conversation(self._session.new_id(), agent_id, address, turns=0, created_at=now, direct=direct)
        self._session.execute(
            "add_conversation", id=made.id, agent_id=agent_id, now=now, direct=int(direct), **place(address)
        )
        return made

    def _known(self, known: Conversation, *, direct: bool) -> Conversation:
        """A caller that posts without a message of a person does not know whether the chat is direct; the message of
        a person shows it."""
        if direct and not known.direct:
            self._session.execute("note_direct", id=known.id)
            return replace(known, direct=True)
        return known

    def close(self, conversation_id: str, now: int) -> None:
        self._session.execute("close_conversation", id=conversation_id, now=now)

    def get(self, conversation_id: str) -> Conversation | None:
        row = self._session.one("get_conversation", id=conversation_id)
        return conversation_of(row) if row else None

    def in_place(self, address: Address) -> list[Conversation]:
        return [conversation_of(row) for row in self._session.rows("conversations_in_place", **place(address))]

    def last_messages(self) -> dict[str, int]:
        return {row["agent_id"]: row["at"] for row in self._session.rows("last_messages")}

    def next_turn(self, conversation_id: str, now: int) -> int:
        row = self._session.one("next_turn", id=conversation_id, now=now)
        assert row is not None  # noqa: S101 conversations are never deleted
        turns: int = row["turns"]
        return turns
