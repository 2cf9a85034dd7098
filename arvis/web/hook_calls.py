"""Calls of stored web hooks: `POST /hooks/PATH` (behaviour.md 1.18).

What comes is looked at in this order: is there such a hook, is it small enough, who signed it, is it too often. Only then
is it read, and it is committed before the caller is told.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from arvis.agents import webhooks
from arvis.agents.webhooks import HookCall, nothing_there
from arvis.domain.errors import DiskLow, SecretLost, TooMany, Unauthorised, Unavailable
from arvis.domain.templates import fill
from arvis.domain.text import storable, storable_json
from arvis.domain.webhooks import Webhook
from arvis.ports.clock import Clock
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store
from arvis.web.bodies import BodyLimit, read_body
from arvis.web.buckets import Buckets
from arvis.web.endpoints import Call, answer
from arvis.web.errors import failure_of
from arvis.web.schemas import BOOLEAN, STRING, record
from arvis.web.signatures import Genuine, Headers, examine, headers_of, may_be_shown

#: Bytes of one call, seconds for it to come, and how many are looked at at once.
MOST_BYTES = 1_048_576
_PATIENCE = 10.0
_AT_ONCE = 32
#: Calls of one hook: so many at once, and a minute.
_A_MINUTE = 60
#: JSON with more brackets and commas is read as a text.
_MOST_MARKS = 262_144
_THREAD_BYTES = 65_536

TAKEN = record({"ok": BOOLEAN, "id": {**STRING, "description": "The execution that works on it."}})


class HookCalls:
    """`room` says whether the disk has some for new work."""

    def __init__(self, *, store: Store, secrets: SecretBox, clock: Clock, room: Callable[[], bool]) -> None:
        self._store = store
        self._secrets = secrets
        self._clock = clock
        self._room = room
        self._buckets = Buckets(clock=clock, burst=_A_MINUTE, per_second=_A_MINUTE / 60)
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def take(self, path: str, call: Call) -> Response:
        """202 with the execution that works on the call, the same one when the call was taken before."""
        hook = await self._store.read(webhooks.open_at, path)
        if hook is None:
            raise nothing_there()
        if self._places.locked():
            raise Unavailable("Too many calls come at once.", fix="Bring it again in a moment.")
        async with self._places:
            body = await _body(call)
            headers = headers_of(call.request.headers.items())
            genuine = await self._genuine(hook, headers, body)
            if seconds := self._buckets.take(hook.id):
                return _too_many(seconds)
            self._admit()
            prompt = await _prompt(hook.template, headers, body)
        taken = await self._store.write(webhooks.take_call, HookCall(hook, genuine.id, prompt), self._clock.now())
        return answer({"ok": True, "id": taken.execution_id}, 202)

    async def _genuine(self, hook: Webhook, headers: Headers, body: bytes) -> Genuine:
        secret = await asyncio.to_thread(self._opened, hook.secret)
        found = examine(hook.preset, secret, headers, body, self._clock.now())
        if found is None:
            raise Unauthorised(
                "The signature of this call is missing or wrong.",
                fix="Sign the bytes of the body with the secret of the web hook (docs/21-webhooks.md).",
                code="wrong_signature",
            )
        return found

    def _opened(self, sealed: str) -> str:
        """Empty, with which nothing is right, where there is none. `arvis doctor` tells the owner what became of the key."""
        try:
            return self._secrets.open(sealed) if sealed else ""
        except SecretLost:
            raise Unavailable("The secret of this web hook cannot be opened.", fix="Give it another secret.") from None

    def _admit(self) -> None:
        if not self._room():
            raise DiskLow(
                "There is little room left on Arvis's disk, so nothing new is accepted.",
                fix="Free some space on the disk of the data folder. Then bring it again.",
            )


async def _body(call: Call) -> bytes:
    try:
        async with asyncio.timeout(_PATIENCE):
            return await read_body(call.request, MOST_BYTES)
    except TimeoutError:
        raise Unavailable("This took too long.", fix="Bring it again in a moment.") from None


def _too_many(seconds: int) -> Response:
    """With the time that it is until the next one may come."""
    error = TooMany("This web hook is called too often.", fix=f"Bring it again in {seconds} seconds.")
    response = failure_of(error).to_response()
    response.headers["Retry-After"] = str(seconds)
    return response


async def _prompt(template: str, headers: Headers, body: bytes) -> str:
    if len(body) <= _THREAD_BYTES:
        return _filled(template, headers, body)
    return await asyncio.to_thread(_filled, template, headers, body)


def _filled(template: str, headers: Headers, body: bytes) -> str:
    shown = {name: storable(", ".join(values)) for name, values in headers.items() if may_be_shown(name)}
    return fill(template, {"payload": payload_of(body), "headers": shown})


def payload_of(body: bytes) -> Any:
    """JSON if it parses, else a text."""
    text = storable(body.decode("utf-8-sig", errors="replace"))
    try:
        if not BodyLimit(MOST_BYTES, _MOST_MARKS).holds(text):
            return text
        return storable_json(json.loads(text))
    except (ValueError, RecursionError):
        return text
