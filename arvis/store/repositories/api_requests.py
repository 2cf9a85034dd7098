"""Completion requests whose answer can be continued, and idempotency keys of requests that a client may repeat."""

from __future__ import annotations

from arvis.ports.api_requests import CompletionRequest, KeyedRequest
from arvis.store.sql.session import Row, Session


class SqlCompletionRequests:
    """Implements the port `CompletionRequests` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, request: CompletionRequest) -> bool:
        added = self._session.execute(
            "add_completion_request",
            id=request.id,
            scope=request.scope,
            request_hash=request.request,
            transcript_hash=request.talk,
            system_hash=request.system,
            request_key=request.key,
            thread=request.thread,
            position=request.position,
            created_at=request.created_at,
        )
        return added == 1

    def drop(self, request_id: str) -> None:
        self._session.execute("drop_completion_request", id=request_id)

    def by_key(self, scope: str, key: str) -> CompletionRequest | None:
        return _maybe(self._session.one("completion_by_key", scope=scope, request_key=key))

    def by_request(self, scope: str, request: str, since: int) -> CompletionRequest | None:
        return _maybe(self._session.one("completion_by_request", scope=scope, request_hash=request, since=since))

    def by_talk(self, scope: str, talk: str, answer: str) -> CompletionRequest | None:
        return _maybe(self._session.one("completion_by_talk", scope=scope, transcript_hash=talk, answer_hash=answer))

    def newest(self, scope: str, thread: str) -> CompletionRequest | None:
        return _maybe(self._session.one("newest_completion", scope=scope, thread=thread))

    def answered(self, request_id: str, answer: str) -> None:
        self._session.execute("completion_answered", id=request_id, answer_hash=answer)

    def left(self, request_id: str, now: int) -> None:
        self._session.execute("completion_left", id=request_id, disconnected_at=now)

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_completion_requests", before=before, limit=limit)


def _maybe(row: Row | None) -> CompletionRequest | None:
    if row is None:
        return None
    return CompletionRequest(
        id=row["id"],
        scope=row["scope"],
        request=row["request_hash"],
        talk=row["transcript_hash"],
        system=row["system_hash"],
        thread=row["thread"],
        position=row["position"],
        created_at=row["created_at"],
        key=row["request_key"],
        answer=row["answer_hash"],
        disconnected_at=row["disconnected_at"],
    )


class SqlIdempotencyKeys:
    """Implements the port `IdempotencyKeys` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def reserve(self, asker: str, key: str, request: str, *, before: int, now: int) -> KeyedRequest | None:
        self._session.execute("expire_idempotency_key", asker=asker, key=key, before=before)
        if self._session.execute("reserve_idempotency_key", asker=asker, key=key, request=request, now=now):
            return None
        row = self._session.one("idempotency_key", asker=asker, key=key)
        return KeyedRequest(row["request_hash"], row["status"], row["content"], row["created_at"]) if row else None

    def take_over(self, asker: str, key: str, begun_at: int, now: int) -> bool:
        return self._session.execute("take_over_idempotency_key", asker=asker, key=key, begun_at=begun_at, now=now) == 1

    def finish(self, asker: str, key: str, status: int, content: str) -> None:
        self._session.execute("finish_idempotency_key", asker=asker, key=key, status=status, content=content)

    def release(self, asker: str, key: str) -> None:
        self._session.execute("release_idempotency_key", asker=asker, key=key)

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_idempotency_keys", before=before, limit=limit)
