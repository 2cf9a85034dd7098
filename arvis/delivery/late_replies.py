"""The rules for late replies, and the pauses that platforms request. A late reply is either dropped, or marked and sent
at a limited rate."""

from __future__ import annotations

from enum import Enum

from arvis.domain.dataclass import replace
from arvis.domain.ids import first_id_at
from arvis.domain.messages import Address, Delivery
from arvis.ports.clock import Clock
from arvis.ports.connector import Capabilities


class ChannelBackoff:
    """The pauses that platforms have requested. A pause applies to a channel, its threads and its drafts."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        #: The end of the pause of each channel, on the monotonic clock.
        self._until: dict[Address, float] = {}

    def note(self, address: Address, seconds: float) -> None:
        """Record that the platform asks for a pause in this channel."""
        now = self._clock.monotonic()
        self._until = {channel: until for channel, until in self._until.items() if until > now}
        channel = replace(address, thread="")
        self._until[channel] = max(now + seconds, self._until.get(channel, 0.0))

    def remaining(self, address: Address) -> float:
        """Return the remaining seconds of the pause; 0 if messages may be sent."""
        until = self._until.get(replace(address, thread=""), 0.0)
        return max(0.0, until - self._clock.monotonic())


#: The minimum time (ms) between two late messages of a channel.
PACE_MS = 1000

MARK = "(delayed)"


class Timing(Enum):
    IN_TIME = "in_time"
    LATE = "late"
    EXPIRED = "expired"


class LateReplies:
    """The daemon's rules about late deliveries; a connector's capabilities can replace `after` and `late`. A delivery
    is late if it has waited for more than `after` ms. It is also late if the answered message was written more than
    `answer_within` ms ago (None: no limit). `late` is `mark` or `drop`."""

    def __init__(self, *, after: int = 900_000, late: str = "mark", answer_within: int | None = None) -> None:
        self._after = after
        self._late = late
        self._answer_within = answer_within
        #: The time (ms) at which a late message was last sent to a channel. Times older than `PACE_MS` are removed.
        self._sent_at: dict[Address, int] = {}

    def judge(self, delivery: Delivery, capabilities: Capabilities, now: int, *, asked_at: int | None = None) -> Timing:
        """Return the timing of a delivery before its first send. `asked_at` is the time (ms) at which the answered
        message was written."""
        after = self._after if capabilities.late_after is None else capabilities.late_after
        overdue = asked_at is not None and self._answer_within is not None and now - asked_at > self._answer_within
        if now - delivery.created_at <= after and not overdue:
            return Timing.IN_TIME
        return Timing.EXPIRED if (capabilities.late or self._late) == "drop" else Timing.LATE

    def may_be_overdue(self, delivery: Delivery) -> bool:
        """Return True if the id of an answered message shows that the message may be older than `answer_within`."""
        if self._answer_within is None:
            return False
        oldest = first_id_at(delivery.created_at - self._answer_within)
        return any(each < oldest for each in delivery.answers)

    def wait_for(self, address: Address, now: int) -> float:
        """Return the seconds that a late message for this channel must wait. If the message need not wait, record that
        it is sent now and return 0."""
        self._sent_at = {place: at for place, at in self._sent_at.items() if 0 <= now - at < PACE_MS}
        channel = replace(address, thread="")
        if (remaining := self._sent_at.get(channel)) is not None:
            return (remaining + PACE_MS - now) / 1000
        self._sent_at[channel] = now
        return 0


def marked(delivery: Delivery) -> Delivery:
    """Return the delivery with `MARK` as its first line."""
    return replace(delivery, content=f"{MARK}\n\n{delivery.content}".rstrip())
