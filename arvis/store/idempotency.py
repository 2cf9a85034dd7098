"""Writes that named an `Idempotency-Key`, over SQL."""

from __future__ import annotations

from arvis.ports.idempotency import KeyedRequest
from arvis.store.session import Row, Session


class SqlIdempotencyKeys:
    """`IdempotencyKeys` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def reserve(self, asker: str, key: str, request: str, *, before: int, now: int) -> KeyedRequest | None:
        self._session.execute("expire_idempotency_key", asker=asker, key=key, before=before)
        if self._session.execute("reserve_idempotency_key", asker=asker, key=key, request=request, now=now):
            return None
        row = self._session.one("idempotency_key", asker=asker, key=key)
        return _request_of(row) if row else None

    def take_over(self, asker: str, key: str, begun_at: int, now: int) -> bool:
        return self._session.execute("take_over_idempotency_key", asker=asker, key=key, begun_at=begun_at, now=now) == 1

    def finish(self, asker: str, key: str, status: int, content: str) -> None:
        self._session.execute("finish_idempotency_key", asker=asker, key=key, status=status, content=content)

    def release(self, asker: str, key: str) -> None:
        self._session.execute("release_idempotency_key", asker=asker, key=key)

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_idempotency_keys", before=before, limit=limit)


def _request_of(row: Row) -> KeyedRequest:
    return KeyedRequest(
        request=row["request_hash"], status=row["status"], content=row["content"], created_at=row["created_at"]
    )
