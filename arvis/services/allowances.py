"""Limits for each person: messages per minute, bytes of files per day. Transaction scripts.

The limit on bytes is ten times as high for owners and operators. Owners have no limit on messages; the limit of
operators is ten times as high. The counts are rows, so they survive a restart and apply to all processes together. The
count of messages also orders the work of several people (`behind` in `domain/jobs.py`).
"""

from __future__ import annotations

import math

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import TooMany
from arvis.domain.messages import Principal, PrincipalRole
from arvis.ports.people import Allowance
from arvis.ports.store import Transaction

MINUTE_MS = 60_000
DAY_MS = 86_400_000
MESSAGES, BYTES = "messages", "bytes"
_MORE = 10
_NO_LIMIT = 1 << 53


@dataclass(frozen=True, slots=True)
class Allowed:
    """The configured limits of a person. A limit of None means that there is no limit."""

    messages_per_minute: int | None = None
    bytes_per_day: int | None = None


NO_LIMITS = Allowed()


@dataclass(frozen=True, slots=True)
class UsedUp:
    """A limit that a person has reached. `most` is the value of the limit. The next window begins after `seconds`.
    `tell` is True if the person must be notified, because no notice has been sent in this window."""

    most: int
    seconds: int
    tell: bool


def count_message(
    tx: Transaction, person: Principal | None, role: PrincipalRole, allowed: Allowed, now: int
) -> int | UsedUp:
    """Count a message. Return the number of the person's messages in this minute, or the limit if it was reached. The
    messages of unknown people are not counted; the number is then 0."""
    if person is None:
        return 0
    most = None if role is PrincipalRole.OWNER else _most(allowed.messages_per_minute, role)
    return _use(tx, person, MESSAGES, now, size=1, most=_NO_LIMIT if most is None else most, window=MINUTE_MS)


def limit_of_messages(
    tx: Transaction, person: Principal, role: PrincipalRole, allowed: Allowed, now: int
) -> UsedUp | None:
    """Return the limit of messages if the person has reached it, so that `count_message` would refuse a message now;
    otherwise return None."""
    most = None if role is PrincipalRole.OWNER else _most(allowed.messages_per_minute, role)
    known = tx.allowances.get(person.id, MESSAGES)
    if most is None or known is None or known.used < most or not 0 <= now - known.since < MINUTE_MS:
        return None
    return UsedUp(most, _seconds_left(known, now, MINUTE_MS), tell=False)


def use_bytes(
    tx: Transaction, person: Principal | None, role: PrincipalRole, allowed: Allowed, now: int, *, size: int
) -> UsedUp | None:
    """Count the bytes of files. Return None if they are within the limit; if not, count nothing and return the
    limit."""
    most = _most(allowed.bytes_per_day, role)
    if person is None or most is None:
        return None
    used = _use(tx, person, BYTES, now, size=size, most=most, window=DAY_MS)
    return used if isinstance(used, UsedUp) else None


def too_many_messages(used: UsedUp) -> TooMany:
    return TooMany(
        f"You have reached the limit of {used.most} messages per minute.",
        fix=f"Send this message again in {used.seconds} seconds. An owner can raise limits.messages_per_minute.",
        code="too_many_messages",
        seconds=used.seconds,
    )


def too_many_bytes(used: UsedUp) -> TooMany:
    return TooMany(
        f"With this file you would exceed the limit of {used.most} bytes of files per day.",
        fix=f"Send the file again in {_in_words(used.seconds)}. An owner can raise limits.upload_bytes_per_day.",
        code="too_many_bytes",
        seconds=used.seconds,
    )


def notice_of(used: UsedUp) -> str:
    """Return the notice that a person on a chat platform gets after reaching the limit, once in each window."""
    return (
        f"You have sent more than {used.most} messages within a minute, which is the limit. "
        f"I have not read this message. Please send it again in {used.seconds} seconds."
    )


def _most(base: int | None, role: PrincipalRole) -> int | None:
    more = role in {PrincipalRole.OWNER, PrincipalRole.OPERATOR}
    return base if base is None or not more else base * _MORE


def _use(tx: Transaction, person: Principal, kind: str, now: int, *, size: int, most: int, window: int) -> int | UsedUp:
    used = tx.allowances.use(person.id, kind, size, most=most, after=now - window, now=now)
    if used is not None:
        return used
    known = tx.allowances.get(person.id, kind)
    if known is None or not 0 <= now - known.since < window:
        known = Allowance(now, 0)
    if known.used + size <= most:
        tx.allowances.put(person.id, kind, replace(known, used=known.used + size))
        return known.used + size
    tell = known.notified_at is None
    if tell:
        tx.allowances.put(person.id, kind, replace(known, notified_at=now))
    return UsedUp(most, _seconds_left(known, now, window), tell)


def _seconds_left(known: Allowance, now: int, window: int) -> int:
    return math.ceil((known.since + window - now) / 1000)


def _in_words(seconds: int) -> str:
    hours = math.ceil(seconds / 3600)
    return f"{hours} hours" if hours > 1 else "an hour"
