"""Signatures of webhooks, one scheme per preset, over the raw bytes, and the caller's id of the call.

Pure functions. A header that occurs twice, or a signature in another notation than ours, counts as missing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from arvis.domain.webhooks import Preset

#: The maximum difference between the time of a signature and ours, in seconds.
TOLERANCE = 300

#: Headers by lower-case name, each with all its values.
Headers = Mapping[str, Sequence[str]]

_HUB, _OWN, _STRIPE = "x-hub-signature-256", "x-webhook-signature", "stripe-signature"
_DELIVERY = "x-github-delivery"
_IDS = ("x-webhook-id", _DELIVERY, "idempotency-key")
#: Headers that a prompt must not contain.
SECRET_HEADERS = frozenset({_HUB, "x-hub-signature", _OWN, _STRIPE, "authorization", "proxy-authorization", "cookie"})

#: Further secret headers: those whose names contain one of these words.
_SECRET_NAME = re.compile(r"token|secret|signature|password|credential|authorization|cookie|api-?key")

_FORM = re.compile(r"t=(?P<time>[1-9]\d{0,11})(?P<signatures>(,v\d=[0-9a-f]{64})+)", re.ASCII)
_SIGNATURE = re.compile(r",v1=([0-9a-f]{64})", re.ASCII)
_LONGEST_ID = 200
_MOST_SIGNATURES = 10


@dataclass(frozen=True, slots=True)
class VerifiedCall:
    """A verified call. `id` is the same for every repetition of the call (None: the call has no id and may be
    repeated)."""

    id: str | None


def headers_of(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name.lower(), []).append(value)
    return found


def may_be_shown(header: str) -> bool:
    """Return whether a prompt may contain the header, given in lower case."""
    return header not in SECRET_HEADERS and _SECRET_NAME.search(header) is None


def verify(preset: Preset, secret: str, headers: Headers, body: bytes, now: int) -> VerifiedCall | None:
    """Verify a call. Returns None if its signature is missing, wrong, or (`now` in ms) too old. Without a secret no
    signature is valid."""
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
    """Verify the preset `plain`. One of the two headers is enough; if both are present, both must be valid."""
    given = [value for name in (_HUB, _OWN) for value in headers.get(name, ())]
    doubled = any(len(headers.get(name, ())) > 1 for name in (_HUB, _OWN, *_IDS))
    if not given or doubled or not all(_same(value, signature(secret, body)) for value in given):
        return None
    return VerifiedCall(next((_id(name, headers[name][0]) for name in _IDS if headers.get(name)), None))


def _github(secret: str, headers: Headers, body: bytes) -> VerifiedCall | None:
    """Verify the preset `github`. GitHub gives each call an id, so a call without one is not from GitHub."""
    given, delivery = headers.get(_HUB, ()), headers.get(_DELIVERY, ())
    if len(given) != 1 or len(delivery) != 1 or not _same(given[0], signature(secret, body)):
        return None
    return VerifiedCall(_id(_DELIVERY, delivery[0]))


def _stripe(secret: str, headers: Headers, body: bytes, now: int) -> VerifiedCall | None:
    """Verify the preset `stripe`: `t=SECONDS,v1=HEX`. While Stripe rotates the secret there is one `v1` per secret."""
    given = headers.get(_STRIPE, ())
    if len(given) != 1:
        return None
    form = _FORM.fullmatch(given[0])
    if form is None or abs(now / 1000 - int(form["time"])) > TOLERANCE:
        return None
    offered = _SIGNATURE.findall(form["signatures"])[:_MOST_SIGNATURES]
    signed = form["time"].encode() + b"." + body
    wanted = _digest(secret, signed)
    if not sum(_same(value, wanted) for value in offered):  # all are looked at: each takes the same time
        return None
    return VerifiedCall(_event_id(body) or f"signed:{hashlib.sha256(signed).hexdigest()}")


def _event_id(body: bytes) -> str | None:
    """Return the `id` of a Stripe event."""
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        return None
    found = event.get("id") if isinstance(event, dict) else None
    return _id("event", found) if isinstance(found, str) and found else None


def _id(kind: str, value: str) -> str | None:
    """Return the id as it is stored: the hash of one that is too long or has unusual characters. An empty id counts
    as none."""
    if not value:
        return None
    if len(value) > _LONGEST_ID or not (value.isascii() and value.isprintable()):
        value = hashlib.sha256(value.encode(errors="surrogatepass")).hexdigest()
    return f"{kind}:{value}"


def _digest(secret: str, data: bytes) -> str:
    return hmac.new(secret.encode(), data, hashlib.sha256).hexdigest()


def _same(given: str, wanted: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(given.encode(errors="surrogatepass"), wanted.encode())
