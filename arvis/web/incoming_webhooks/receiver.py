"""Incoming webhooks: `POST /hooks/PLATFORM/NAME` for chat platforms, and `POST /hooks/PATH` for webhooks of the
product.

A signature identifies the caller. A bot that is off or takes no webhooks, and a webhook that is off, are answered
like an unknown path.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from arvis.domain.errors import DiskLow, SecretLost, TooMany, Unauthorised, Unavailable
from arvis.domain.text import storable, storable_json
from arvis.domain.webhooks import Webhook, fill
from arvis.ports.clock import Clock
from arvis.ports.connector import Connector, TakesWebhooks, WebhookAnswer
from arvis.ports.inbox import Inbox
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store
from arvis.services import webhooks
from arvis.services.webhooks import HookCall, nothing_there
from arvis.web.api.bots import ANY_NAME, PATH_NAMES, PLATFORM
from arvis.web.http.endpoints import Call, Endpoint, answer
from arvis.web.http.errors import failure_of
from arvis.web.http.identity import PUBLIC
from arvis.web.http.rate_limits import Buckets
from arvis.web.http.requests import BodyLimit, read_body
from arvis.web.http.schema import BOOLEAN, STRING, object_schema
from arvis.web.incoming_webhooks.signatures import Headers, VerifiedCall, headers_of, may_be_shown, verify

# Calls of stored webhooks: `POST /hooks/PATH`. The checks run in this order: existence, size, signature, rate. Only
# then is the body parsed, and the call is committed before the caller gets an answer.


#: The size limit of one call in bytes, the time limit for receiving it in seconds, and the number of concurrent
#: calls.
MOST_BYTES = 1_048_576
_TIMEOUT = 10.0
_AT_ONCE = 32
#: The limits of one webhook: concurrent calls, and calls per minute.
_A_MINUTE = 60
#: JSON with more brackets and commas is treated as text.
_MOST_MARKS = 262_144
_THREAD_BYTES = 65_536

TAKEN = object_schema({"ok": BOOLEAN, "id": {**STRING, "description": "The execution that works on it."}})


class WebhookReceiver:
    """Receives calls of webhooks. `room` returns whether the disk has space for new work."""

    def __init__(self, *, store: Store, secrets: SecretBox, clock: Clock, room: Callable[[], bool]) -> None:
        self._store = store
        self._secrets = secrets
        self._clock = clock
        self._room = room
        self._buckets = Buckets(clock=clock, burst=_A_MINUTE, per_second=_A_MINUTE / 60)
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def take(self, path: str, call: Call) -> Response:
        """Answer 202 with the execution that works on the call: the same one for a repeated call."""
        hook = await self._store.read(webhooks.open_at, path)
        if hook is None:
            raise nothing_there()
        if self._places.locked():
            raise Unavailable("Too many calls at a time.", fix="Send it again in a moment.")
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

    async def _genuine(self, hook: Webhook, headers: Headers, body: bytes) -> VerifiedCall:
        secret = await asyncio.to_thread(self._opened, hook.secret)
        found = verify(hook.preset, secret, headers, body, self._clock.now())
        if found is None:
            raise Unauthorised(
                "The signature of this call is missing or wrong.",
                fix="Sign the bytes of the body with the secret of the webhook (docs/21-webhooks.md).",
                code="wrong_signature",
            )
        return found

    def _opened(self, sealed: str) -> str:
        """Return the decrypted secret; an empty one, which matches no signature, if there is none. `arvis doctor`
        reports a lost key."""
        try:
            return self._secrets.open(sealed) if sealed else ""
        except SecretLost:
            raise Unavailable("The secret of this webhook cannot be decrypted.", fix="Rotate its secret.") from None

    def _admit(self) -> None:
        if not self._room():
            raise DiskLow(
                "The disk of Arvis is almost full, so new work is not accepted.",
                fix="Free space on the disk of the data folder, then send it again.",
            )


async def _body(call: Call) -> bytes:
    try:
        async with asyncio.timeout(_TIMEOUT):
            return await read_body(call.request, MOST_BYTES)
    except TimeoutError:
        raise Unavailable("This took too long.", fix="Send it again in a moment.") from None


def _too_many(seconds: int) -> Response:
    """Return the error with the time until the next call is accepted."""
    error = TooMany("This webhook is called too often.", fix=f"Send it again in {seconds} seconds.")
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
    """Return the parsed JSON, or the text if it does not parse."""
    text = storable(body.decode("utf-8-sig", errors="replace"))
    try:
        if not BodyLimit(MOST_BYTES, _MOST_MARKS).holds(text):
            return text
        return storable_json(json.loads(text))
    except (ValueError, RecursionError):
        return text


#: The time limit in seconds for receiving and storing one platform event, and the number of concurrent events.

_PATH = {"path": {**STRING, "minLength": 1, "maxLength": 200, "description": "It may contain slashes."}}


class IncomingWebhookRoutes:
    """Routes of incoming webhooks. `connector_of(platform, name)` returns the connector of an enabled bot. `inbox`
    needs no lease check: an event reaches one of the processes and is stored once. `calls` receives calls of the
    product's own webhooks."""

    def __init__(
        self, *, connector_of: Callable[[str, str], Connector | None], inbox: Inbox, calls: WebhookReceiver
    ) -> None:
        self._connector_of = connector_of
        self._inbox = inbox
        self._calls = calls
        self._room = asyncio.Semaphore(_AT_ONCE)

    def endpoints(self) -> list[Endpoint]:
        bot, any_ = "/hooks/{platform}/{name}", "/hooks/{path}"
        summary = "Receive a signed event of a chat platform, or a call of a webhook"
        taken = {202: TAKEN}
        return [
            Endpoint("POST", bot, summary, PUBLIC, self._take_event, {200: {}, **taken}, names=PATH_NAMES),
            Endpoint(
                "POST", any_, "Receive a call of a webhook", PUBLIC, self._take_call, taken, names=_PATH, deep=True
            ),
        ]

    async def _take_event(self, call: Call) -> Response:
        connector = self._connector(call)
        if not isinstance(connector, TakesWebhooks):
            return await self._calls.take("/{platform}/{name}".format(**call.request.path_params), call)
        try:
            async with asyncio.timeout(_TIMEOUT):
                found = await self._taken(connector, call)
        except TimeoutError:
            raise Unavailable("This took too long.", fix="Send it again in a moment.") from None
        return Response(found.body, found.status, media_type=found.content_type)

    async def _take_call(self, call: Call) -> Response:
        return await self._calls.take(f"/{call.request.path_params['path']}", call)

    def _connector(self, call: Call) -> Connector | None:
        platform, name = call.named("platform", PLATFORM), call.named("name", ANY_NAME)
        return None if platform is None or name is None else self._connector_of(platform, name)

    async def _taken(self, connector: TakesWebhooks, call: Call) -> WebhookAnswer:
        body = await read_body(call.request, MOST_BYTES)
        if self._room.locked():
            raise Unavailable("Too many events at a time.", fix="Send it again in a moment.")
        headers = {name.lower(): value for name, value in call.request.headers.items()}
        async with self._room:
            return await connector.webhook(headers, body, self._inbox)
