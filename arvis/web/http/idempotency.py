"""Repeatable writes: `Idempotency-Key` identifies a write, and a second request with the same key gets the first
response.

Equal keys of two callers are independent of each other. The stored request and response are encrypted, because both can
contain secrets, such as a new API key. If a crash interrupted the first request, its outcome is unknown. The write then
runs again if the method is PUT or DELETE, or if the route can use the key to find the rows that the first request
created (`Endpoint.repeatable`, `request_of`). All other routes return an error, and the caller must check whether the
first request had an effect.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from arvis.domain.dataclass import replace
from arvis.domain.errors import Conflict, SecretLost, Unprocessable
from arvis.domain.regex import regex
from arvis.ports.api_requests import KEYS_KEPT_MS, KeyedRequest
from arvis.ports.clock import Clock
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store, Transaction
from arvis.web.http.endpoints import IDEMPOTENCY_KEY, WRITES, Call, Endpoint
from arvis.web.http.errors import Failure, attempt
from arvis.web.http.identity import PUBLIC
from arvis.web.http.requests import read_body

REPLAYED = "Idempotency-Replayed"

_KEY = regex(r"[\x21-\x7e]{1,200}", re.ASCII)
_REPEATABLE = frozenset({"PUT", "DELETE"})
#: The headers that are stored with a response.
_KEPT_HEADERS = ("content-type", "etag", "location")
#: The time in ms after which Arvis assumes that no other process still works on the first request.
_IN_PROGRESS_MS = 120_000
_SERVER_ERROR = 500
#: Responses with this status or with a server error are not stored, because the same request can succeed later.
_TOO_MANY = 429

Handler = Callable[[Call], Awaitable[Response]]
#: The user id of the caller, and the `Idempotency-Key`.
Mark = tuple[str, str]


class Idempotency:
    """The handler that runs each write with an `Idempotency-Key` once. It passes a request without a key directly to
    the handler of the route."""

    def __init__(self, *, store: Store, secrets: SecretBox, clock: Clock) -> None:
        self._store = store
        self._box = secrets.unheard()
        self._clock = clock
        self._running: set[Mark] = set()

    async def serve(self, endpoint: Endpoint, call: Call) -> Response:
        """Return the response of the handler, or the stored response to the same request."""
        key = call.request.headers.get(IDEMPOTENCY_KEY)
        if key is None or not takes_key(endpoint):
            return await endpoint.handler(call)
        if not _KEY.fullmatch(key):
            raise Unprocessable(
                f"`{IDEMPOTENCY_KEY}` must be 1 to 200 visible ASCII characters.",
                fix="Use a new UUID for each write.",
            )
        call, fingerprint = await _fingerprint(call)
        mark = (call.identity.user_id, key)
        if mark in self._running:
            raise _still_running()
        self._running.add(mark)
        try:
            return await self._once(endpoint, call, mark, fingerprint)
        finally:
            self._running.discard(mark)

    async def _once(self, endpoint: Endpoint, call: Call, mark: Mark, fingerprint: str) -> Response:
        now = self._clock.now()
        known = await self._store.write(_reserve, mark, self._box.seal(fingerprint), now)
        if known is None:
            return await self._do(endpoint.handler, call, mark)
        if self._opened(known.request) != fingerprint:
            raise Unprocessable(
                f"This `{IDEMPOTENCY_KEY}` was used for another request.",
                fix="Use a new key for each write. To repeat a write, send the same body.",
                code="key_reused",
            )
        if known.status is not None:
            return self._replay(known, known.status)
        if self._store.shared and now - known.created_at < _IN_PROGRESS_MS:
            raise _still_running()
        if endpoint.method not in _REPEATABLE and not endpoint.repeatable:
            raise _outcome_unknown()
        if not await self._store.write(_take_over, mark, known.created_at, now):
            raise _still_running()
        return await self._do(endpoint.handler, call, mark)

    async def _do(self, handler: Handler, call: Call, mark: Mark) -> Response:
        """Run the handler, and store its response before the response is sent. If the response cannot be stored, send
        it anyway; a repetition of the request then gets the error that the outcome is unknown."""
        found = await attempt(handler(call))
        response = found.to_response() if isinstance(found, Failure) else found
        body = getattr(response, "body", None)  # a stream has no body
        final = response.status_code < _SERVER_ERROR and response.status_code != _TOO_MANY
        if not final or not isinstance(body, bytes) or response.headers.get("content-type") != "application/json":
            await attempt(self._store.write(_release, mark))
            return response
        headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        content = self._box.seal(json.dumps({"headers": headers, "body": body.decode()}))
        await attempt(self._store.write(_finish, mark, response.status_code, content))
        return response

    def _replay(self, known: KeyedRequest, status: int) -> Response:
        kept = json.loads(self._opened(known.content or ""))
        return Response(kept["body"], status, headers={**kept["headers"], REPLAYED: "true"})

    def _opened(self, sealed: str) -> str:
        try:
            return self._box.open(sealed)
        except SecretLost:
            raise _outcome_unknown() from None


def request_of(call: Call) -> str | None:
    """Return the id of this write, or None if the request has no `Idempotency-Key`. The rows that the write creates
    contain this id."""
    key = call.request.headers.get(IDEMPOTENCY_KEY)
    return None if key is None else hashlib.sha256(f"{call.identity.user_id}\n{key}".encode()).hexdigest()


def takes_key(endpoint: Endpoint) -> bool:
    """Return whether the route accepts `Idempotency-Key`: it writes, requires a credential, and its `keyed` is True."""
    return endpoint.method in WRITES and endpoint.access != PUBLIC and endpoint.keyed


async def _fingerprint(call: Call) -> tuple[Call, str]:
    """Read the body. Return the call with the body in memory, and the fingerprint of the request."""
    body = await read_body(call.request, call.body_limit.size)
    url = call.request.url
    parts = (call.request.method.encode(), f"{url.path}?{url.query}".encode(), body)
    fingerprint = hashlib.sha256()
    for part in parts:
        fingerprint.update(hashlib.sha256(part).digest())
    return replace(call, request=_with_body(call.request, body)), fingerprint.hexdigest()


def _with_body(request: Request, body: bytes) -> Request:
    """Return the request with this body, so that the handler can read the body again."""
    parts = [body]

    async def receive() -> Message:
        if parts:
            return {"type": "http.request", "body": parts.pop(), "more_body": False}
        return await request.receive()

    return Request(request.scope, receive)


def _still_running() -> Conflict:
    return Conflict(
        "The first request with this key is still running.",
        fix="Send the request again in a few seconds.",
        code="in_progress",
    )


def _outcome_unknown() -> Conflict:
    return Conflict(
        "The first request with this key was interrupted, and its outcome is unknown.",
        fix="Check whether the change was made. If not, send the request with a new key.",
        code="outcome_unknown",
    )


def _reserve(tx: Transaction, mark: Mark, request: str, now: int) -> KeyedRequest | None:
    return tx.idempotency.reserve(*mark, request, before=now - KEYS_KEPT_MS, now=now)


def _take_over(tx: Transaction, mark: Mark, begun_at: int, now: int) -> bool:
    return tx.idempotency.take_over(*mark, begun_at, now)


def _release(tx: Transaction, mark: Mark) -> None:
    tx.idempotency.release(*mark)


def _finish(tx: Transaction, mark: Mark, status: int, content: str) -> None:
    tx.idempotency.finish(*mark, status, content)
