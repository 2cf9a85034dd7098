"""Incoming webhooks: `POST /hooks/PLATFORM/NAME` for chat platforms, and `POST /hooks/PATH` for webhooks that people
have created.

A signature identifies the caller. A call of a disabled webhook gets the same error as a call of an unknown path, and so
does a call for a bot that is disabled or does not support webhooks.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

from starlette.responses import Response

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import DiskLow, SecretLost, TooMany, Unauthorised, Unavailable
from arvis.domain.regex import regex
from arvis.domain.text import storable, storable_json
from arvis.domain.webhooks import Preset, Webhook, fill
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
from arvis.web.http.limits import BodyLimit
from arvis.web.http.models import About, View
from arvis.web.http.rate_limits import Buckets
from arvis.web.http.requests import read_body
from arvis.web.http.schema import STRING, Schema

# The verification of calls: the signature of the raw body, in the form that the preset of the webhook defines, and the
# id that the caller gave the call. A header that occurs twice, or a signature in any other notation, counts as missing.

#: The maximum difference in seconds between the time in a signature and the daemon's clock.
TOLERANCE = 300

#: The headers: all values of each header, by its name in lower case.
Headers = Mapping[str, Sequence[str]]

_HUB, _OWN, _STRIPE = "x-hub-signature-256", "x-webhook-signature", "stripe-signature"
_DELIVERY = "x-github-delivery"
_IDS = ("x-webhook-id", _DELIVERY, "idempotency-key")
#: Headers that a prompt must not contain.
SECRET_HEADERS = frozenset({_HUB, "x-hub-signature", _OWN, _STRIPE, "authorization", "proxy-authorization", "cookie"})

#: The headers whose names contain one of these words are also secret.
_SECRET_NAME = regex(r"token|secret|signature|password|credential|authorization|cookie|api-?key")

_FORM = regex(r"t=(?P<time>[1-9]\d{0,11})(?P<signatures>(,v\d=[0-9a-f]{64})+)", re.ASCII)
_SIGNATURE = regex(r",v1=([0-9a-f]{64})", re.ASCII)
_LONGEST_ID = 200
_MOST_SIGNATURES = 10


@dataclass(frozen=True, slots=True)
class VerifiedCall:
    """A call with a valid signature. Every repetition of the call has the same `id`. If `id` is None, Arvis cannot
    recognise repetitions."""

    id: str | None


def headers_of(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name.lower(), []).append(value)
    return found


def may_be_shown(header: str) -> bool:
    """Return whether a prompt may contain this header. `header` is its name in lower case."""
    return header not in SECRET_HEADERS and _SECRET_NAME.search(header) is None


def verify(preset: Preset, secret: str, headers: Headers, body: bytes, now: int) -> VerifiedCall | None:
    """Return the verified call. Return None if the signature is missing or wrong, or if a signature of the preset
    `stripe` is too old. With an empty secret no signature is valid. `now` is in ms."""
    if not secret:
        return None
    match preset:
        case Preset.PLAIN:
            return _plain(secret, headers, body)
        case Preset.GITHUB:
            return _github(secret, headers, body)
        case Preset.STRIPE:
            return _stripe(secret, headers, body, now)


def signature(secret: str, body: bytes) -> str:
    return f"sha256={_digest(secret, body)}"


def _plain(secret: str, headers: Headers, body: bytes) -> VerifiedCall | None:
    """Verify the preset `plain`. One of the two signature headers is enough. If a call has both, both must be valid."""
    given = [value for name in (_HUB, _OWN) for value in headers.get(name, ())]
    doubled = any(len(headers.get(name, ())) > 1 for name in (_HUB, _OWN, *_IDS))
    if not given or doubled or not all(_same(value, signature(secret, body)) for value in given):
        return None
    return VerifiedCall(next((_id(name, headers[name][0]) for name in _IDS if headers.get(name)), None))


def _github(secret: str, headers: Headers, body: bytes) -> VerifiedCall | None:
    """Verify the preset `github`. GitHub gives each call an id, so a call without an id is not from GitHub."""
    given, delivery = headers.get(_HUB, ()), headers.get(_DELIVERY, ())
    if len(given) != 1 or len(delivery) != 1 or not _same(given[0], signature(secret, body)):
        return None
    return VerifiedCall(_id(_DELIVERY, delivery[0]))


def _stripe(secret: str, headers: Headers, body: bytes, now: int) -> VerifiedCall | None:
    """Verify the preset `stripe`: `t=SECONDS,v1=HEX`. While Stripe rotates the secret, there is a `v1` for each
    secret."""
    given = headers.get(_STRIPE, ())
    if len(given) != 1:
        return None
    form = _FORM.fullmatch(given[0])
    if form is None or abs(now / 1000 - int(form["time"])) > TOLERANCE:
        return None
    offered = _SIGNATURE.findall(form["signatures"])[:_MOST_SIGNATURES]
    signed = form["time"].encode() + b"." + body
    wanted = _digest(secret, signed)
    if not sum(_same(value, wanted) for value in offered):  # `sum` compares all, so the duration reveals nothing
        return None
    return VerifiedCall(_event_id(body) or f"signed:{hashlib.sha256(signed).hexdigest()}")


def _event_id(body: bytes) -> str | None:
    """Return the stored form of the `id` in the body of a Stripe event, or None if the body has no id."""
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        return None
    found = event.get("id") if isinstance(event, dict) else None
    return _id("event", found) if isinstance(found, str) and found else None


def _id(kind: str, value: str) -> str | None:
    """Return the stored form of the id that a caller gave a call, or None for an empty id. The stored form begins with
    the kind of the id. An id that is too long or has unusual characters is stored as a hash."""
    if not value:
        return None
    if len(value) > _LONGEST_ID or not (value.isascii() and value.isprintable()):
        value = hashlib.sha256(value.encode(errors="surrogatepass")).hexdigest()
    return f"{kind}:{value}"


def _digest(secret: str, data: bytes) -> str:
    return hmac.new(secret.encode(), data, hashlib.sha256).hexdigest()


def _same(given: str, wanted: str) -> bool:
    """Compare two signatures in constant time."""
    return hmac.compare_digest(given.encode(errors="surrogatepass"), wanted.encode())


# Calls of stored webhooks: `POST /hooks/PATH`. The checks run in this order: existence, size, signature, rate, disk.
# Then the body is parsed, and the call is committed before the caller gets an answer.

#: The limits of calls and of platform events: the maximum size of a body in bytes, the seconds in which it must be
#: received (an event must also be stored in this time), and the maximum number of concurrent calls or events.
MOST_BYTES = 1_048_576
_TIMEOUT = 10.0
_AT_ONCE = 32
#: The maximum number of calls of one webhook per minute.
_A_MINUTE = 60
#: The maximum number of opening brackets and commas in a JSON text. A text with more of them is not parsed and counts
#: as plain text.
_MOST_MARKS = 262_144
_THREAD_BYTES = 65_536


class TakenView(View):
    ok: bool
    id: Annotated[str, About("The execution that works on the call.")]


class WebhookReceiver:
    """The receiver of calls of stored webhooks. `room` returns whether the disk has space for new work."""

    def __init__(self, *, store: Store, secrets: SecretBox, clock: Clock, room: Callable[[], bool]) -> None:
        self._store = store
        self._secrets = secrets
        self._clock = clock
        self._room = room
        self._buckets = Buckets(clock=clock, burst=_A_MINUTE, per_second=_A_MINUTE / 60)
        self._places = asyncio.Semaphore(_AT_ONCE)
        #: The number of refused calls since the last accepted one, by the id of the webhook.
        self._refused: dict[str, int] = {}

    async def take(self, path: str, call: Call) -> Response:
        """Return status 202 with the id of the execution that works on the call. A repeated call gets the same id."""
        hook = await self._store.read(webhooks.open_at, path)
        if hook is None:
            raise nothing_there()
        body = await _body(call)  # before the semaphore is acquired, because any caller can send a body slowly
        if self._places.locked():
            raise Unavailable("Too many calls run at the same time.", fix="Send the request again in a few seconds.")
        async with self._places:
            headers = headers_of(call.request.headers.items())
            genuine = await self._counted(hook, headers, body)
            if seconds := self._buckets.take(hook.id):
                return _too_many(seconds)
            self._admit()
            prompt = await _prompt(hook.template, headers, body)
        taken = await self._store.write(webhooks.take_call, HookCall(hook, genuine.id, prompt), self._clock.now())
        return answer(TakenView(ok=True, id=taken.execution_id), 202)

    async def _counted(self, hook: Webhook, headers: Headers, body: bytes) -> VerifiedCall:
        """Return the verified call. After several refusals in a row, alert the owners. Resolve this alert as soon as a
        call is accepted."""
        try:
            genuine = await self._genuine(hook, headers, body)
        except (Unauthorised, Unavailable) as error:
            self._refused[hook.id] = number = self._refused.get(hook.id, 0) + 1
            if number == webhooks.ALERT_AFTER:
                await self._store.write(webhooks.alert_refusals, hook, error.what, self._clock.now())
            raise
        if self._refused.pop(hook.id, 0) >= webhooks.ALERT_AFTER:
            await self._store.write(webhooks.resolve_refusals, hook, self._clock.now())
        return genuine

    async def _genuine(self, hook: Webhook, headers: Headers, body: bytes) -> VerifiedCall:
        secret = await asyncio.to_thread(self._opened, hook.secret)
        found = verify(hook.preset, secret, headers, body, self._clock.now())
        if found is None:
            raise Unauthorised(
                "The signature of this call is missing or wrong.",
                fix="Sign the bytes of the body with the secret of the webhook (docs/how-to/webhooks.md).",
                code="wrong_signature",
            )
        return found

    def _opened(self, sealed: str) -> str:
        """Return the decrypted secret. If the webhook has no secret, return "", so that no signature is valid. Raise
        `Unavailable` if the key for decryption is lost."""
        try:
            return self._secrets.open(sealed) if sealed else ""
        except SecretLost:
            raise Unavailable(
                "The secret of this webhook cannot be decrypted.",
                fix="Create a new secret: `arvis webhooks rotate ID`.",
            ) from None

    def _admit(self) -> None:
        if not self._room():
            raise DiskLow(
                "The disk of Arvis is almost full, so new work is not accepted.",
                fix="Free space on the disk of the data folder, then send the request again.",
            )


async def _body(call: Call) -> bytes:
    try:
        async with asyncio.timeout(_TIMEOUT):
            return await read_body(call.request, MOST_BYTES)
    except TimeoutError:
        raise Unavailable("The request took too long.", fix="Send the request again in a few seconds.") from None


def _too_many(seconds: int) -> Response:
    """Return the error with the time until the next call is accepted."""
    error = TooMany("This webhook is called too often.", fix=f"Send the request again in {seconds} seconds.")
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
    """Return the parsed JSON of a body. If the body is not JSON or exceeds `_MOST_MARKS`, return its text."""
    text = storable(body.decode("utf-8-sig", errors="replace"))
    try:
        if not BodyLimit(MOST_BYTES, _MOST_MARKS).holds(text):
            return text
        return storable_json(json.loads(text))
    except (ValueError, RecursionError):
        return text


_PATH = {"path": {**STRING, "minLength": 1, "maxLength": 200, "description": "It may contain slashes."}}


class IncomingWebhookRoutes:
    """Routes of incoming webhooks. `connector_of(platform, name)` returns the connector of an enabled bot. `inbox` does
    not check the lease of the bot, because any process may store an event that it received. `calls` receives calls of
    stored webhooks."""

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
        taken: Mapping[int, Schema | type[View]] = {202: TakenView}
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
            raise Unavailable("The request took too long.", fix="Send the request again in a few seconds.") from None
        return Response(found.body, found.status, media_type=found.content_type)

    async def _take_call(self, call: Call) -> Response:
        return await self._calls.take(f"/{call.request.path_params['path']}", call)

    def _connector(self, call: Call) -> Connector | None:
        platform, name = call.named("platform", PLATFORM), call.named("name", ANY_NAME)
        return None if platform is None or name is None else self._connector_of(platform, name)

    async def _taken(self, connector: TakesWebhooks, call: Call) -> WebhookAnswer:
        body = await read_body(call.request, MOST_BYTES)
        if self._room.locked():
            raise Unavailable("Too many events run at the same time.", fix="Send the request again in a few seconds.")
        headers = {name.lower(): value for name, value in call.request.headers.items()}
        async with self._room:
            return await connector.webhook(headers, body, self._inbox)
