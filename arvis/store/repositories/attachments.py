"""`Files` over SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arvis.domain.messages import Attachment, FileKind, FileState
from arvis.store.sql.session import Row, Session

#: Prompts show the names in brackets.
_NO_BRACKETS = str.maketrans("[]", "()")


def attachment_of(row: Row) -> Attachment:
    return Attachment(
        filename=row["filename"],
        content_type=row["content_type"],
        size=row["size"],
        sha256=row["sha256"],
        state=FileState(row["state"]),
        kind=FileKind(row["kind"]) if row["kind"] else None,
        content=row["content"],
        problem=row["problem"],
        source=row["source"],
    )


def _on_one_line(name: str) -> str:
    return " ".join(name.translate(_NO_BRACKETS).split())


def _columns(attachment: Attachment) -> dict[str, Any]:
    return {
        "filename": attachment.filename,
        "content_type": attachment.content_type,
        "size": attachment.size,
        "sha256": attachment.sha256,
        "state": attachment.state,
        "kind": attachment.kind or "",
        "content": attachment.content,
        "problem": attachment.problem,
        "source": attachment.source,
    }


class SqlFiles:
    """`Files` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def of_message(self, message_id: str) -> list[Attachment]:
        return [attachment_of(row) for row in self._session.rows("attachments_of_message", message_id=message_id)]

    def add(self, message_id: str, attachments: Sequence[Attachment]) -> None:
        if not attachments:
            return
        row = self._session.one("next_ordinal", message_id=message_id)
        first = row["ordinal"] if row else 0
        for ordinal, attachment in enumerate(attachments, start=first):
            self._session.execute("add_attachment", message_id=message_id, ordinal=ordinal, **_columns(attachment))
        # A voice message is shown as its transcript and needs no name.
        named = [_on_one_line(each.filename) for each in attachments if each.kind is not FileKind.VOICE]
        if named:
            self._session.execute("name_files", message_id=message_id, names=", ".join(named))

    def put(self, message_id: str, ordinal: int, attachment: Attachment) -> None:
        self._session.execute("put_attachment", message_id=message_id, ordinal=ordinal, **_columns(attachment))
