"""Reactions to messages of bots, and feedback on answers, over SQL."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.ids import first_id_at
from arvis.domain.messages import StoredMessage
from arvis.domain.reactions import Feedback, Rating
from arvis.store.sql.session import Row, Session

#: The maximum number of reactions of a conversation that wait for a prompt.
_MOST_UNREPORTED = 5


class SqlReactions:
    """Implements the port `Reactions` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, message: StoredMessage, principal_id: str, emoji: str, text: str, now: int) -> None:
        conversation = {"conversation_id": message.conversation_id}
        added = self._session.execute(
            "add_reaction",
            id=self._session.new_id(),
            **conversation,
            message_id=message.id,
            principal_id=principal_id,
            emoji=emoji,
            text=text,
            now=now,
        )
        if added:
            self._session.execute("drop_unreported_reactions", **conversation, keep=_MOST_UNREPORTED - 1)

    def remove(self, message_id: str, principal_id: str, emoji: str) -> None:
        self._session.execute("remove_reaction", message_id=message_id, principal_id=principal_id, emoji=emoji)

    def mark_reported(self, conversation_id: str, execution_id: str, upto: str) -> None:
        self._session.execute(
            "mark_reactions_reported", conversation_id=conversation_id, execution_id=execution_id, upto=upto
        )

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_reactions", oldest=first_id_at(before), limit=limit)

    def rate(self, message_id: str, principal_id: str, rating: Rating, now: int) -> None:
        self._session.execute("rate_answer", message_id=message_id, principal_id=principal_id, rating=rating, now=now)

    def unrate(self, message_id: str, principal_id: str, rating: Rating | None = None) -> bool:
        given = {"message_id": message_id, "principal_id": principal_id, "rating": rating}
        return self._session.execute("unrate_answer", **given) == 1

    def feedback(self, message_id: str) -> Sequence[Feedback]:
        return [feedback_of(row) for row in self._session.rows("feedback_on", message_id=message_id)]


def feedback_of(row: Row) -> Feedback:
    return Feedback(
        message_id=row["message_id"],
        principal_id=row["principal_id"],
        rating=Rating(row["rating"]),
        at=row["at"],
        name=row["name"] or "",
        platform=row["platform"] or "",
        user_id=row["user_id"] or "",
    )
