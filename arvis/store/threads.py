"""What stands between the turns of a conversation, over SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from arvis.store.session import Session, dump


class SqlThreads:
    """`Threads` in one transaction."""

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


class SqlAdditions:
    """`Additions` in one transaction."""

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
