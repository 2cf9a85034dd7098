"""Replies that come late are marked or dropped, and sent at a limited rate (reliability.md §3)."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from arvis.domain.ids import first_id_at
from arvis.domain.messages import Address, Delivery
from arvis.ports.clock import Clock
from arvis.ports.connector import Capabilities

# The pauses that platforms requested, one per channel, which covers its threads and drafts.


class ChannelBackoff:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        #: The end of the pause by channel, on the monotonic clock.
        self._until: dict[Address, float] = {}

    def note(self, address: Address, seconds: float) -> None:
        """Record that the platform asks for a pause in this channel."""
        now = self._clock.monotonic()
        self._until = {channel: until for channel, until in self._until.items() if until > now}
        channel = replace(address, thread="")
        self._until[channel] = max(now + seconds, self._until.get(channel, 0.0))

    def remaining(self, address: Address) -> float:
        """Return the remaining seconds of the pause; 0 when messages may be sent."""
        until = self._until.get(replace(address, thread=""), 0.0)
        return max(0.0, until - self._clock.monotonic())


#: Milliseconds between two late messages of a channel.
PACE_MS = 1000

MARK = "(delayed)"


class Timing(Enum):
    IN_TIME = "in_time"
    LATE = "late"
    EXPIRED = "expired"


class LateReplies:
    """The daemon's rules, which a bot's own rules replace. A delivery is late when it has waited `after` ms, and an
    answer when its message was written `answer_within` ms ago (None: no limit); `late` is `mark` or `drop`."""

    def __init__(self, *, after: int = 900_000, late: str = "mark", answer_within: int | None = None) -> None:
        self._after = after
        self._late = late
        self._answer_within = answer_within
        #: The time at which a late message was last sent to a channel; only those of the last second are kept, and
        #: losing them does no harm.
        self._sent_at: dict[Address, int] = {}

    def judge(self, delivery: Delivery, capabilities: Capabilities, now: int, *, asked_at: int | None = None) -> Timing:
        """Judge a delivery that is about to be sent for the first time; `asked_at` is the time (ms) at which its
        message was written."""
        after = self._after if capabilities.late_after is None else capabilities.late_after
        overdue = asked_at is not None and self._answer_within is not None and now - asked_at > self._answer_within
        if now - delivery.created_at <= after and not overdue:
            return Timing.IN_TIME
        return Timing.EXPIRED if (capabilities.late or self._late) == "drop" else Timing.LATE

    def may_be_overdue(self, delivery: Delivery) -> bool:
        """Return whether a message that it answers was written long enough ago, judged by the ids alone."""
        if self._answer_within is None:
            return False
        oldest = first_id_at(delivery.created_at - self._answer_within)
        return any(each < oldest for each in delivery.answers)

    def wait_for(self, address: Address, now: int) -> float:
        """Return the seconds that a late message for this channel must wait; 0: it may be sent now."""
        self._sent_at = {place: at for place, at in self._sent_at.items() if 0 <= now - at < PACE_MS}
        channel = replace(address, thread="")
        if (remaining := self._sent_at.get(channel)) is not None:
            return (remaining + PACE_MS - now) / 1000
        self._sent_at[channel] = now
        return 0


def marked(delivery: Delivery) -> Delivery:
    """Return the delivery with a first line that says that it is late."""
    return replace(delivery, content=f"{MARK}\n\n{delivery.content}".rstrip())
