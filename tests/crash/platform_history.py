"""The history of an episode with chat platforms: facts that the platforms and the harness recorded.

A history is plain data without judgement. All instants are seconds of one monotonic clock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.crash.history import Boot, tokens_in

DISCORD, TELEGRAM, SLACK = "discord", "telegram", "slack"
#: A complete reply of the campaign's model.
_WHOLE = re.compile(r"Answer \d+ to m-\d{6}(?: m-\d{6})*\. (?:\w+ )*That is all\.")
PLACEHOLDER = "…"
#: The kind of a failure that ends the previous one before it has met a send.
CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Written:
    """A message that a person wrote."""

    token: str
    platform: str
    #: The conversation to which it belongs.
    place: str
    at: float
    #: How often the platform brought it on order of the test. The platform's own repetitions come in addition.
    times: int = 1


@dataclass(frozen=True, slots=True)
class Seen:
    """A message of the bot in its final state."""

    id: str
    text: str

    @property
    def is_whole(self) -> bool:
        return _WHOLE.fullmatch(self.text) is not None

    @property
    def tokens(self) -> tuple[str, ...]:
        return tokens_in(self.text)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure of a platform for one request that sends."""

    platform: str
    at: float
    #: `refused`, `failed` (5xx), cut `before` or `after` the effect of the send, or `broke` (all connections cut).
    kind: str
    #: Seconds.
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True)
class Send:
    """A request that puts something into a chat, and the platform's failure with it."""

    platform: str
    #: The unit to which the platform's rate limit applies.
    channel: str
    at: float
    #: Known only for Telegram.
    text: str = ""
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Underway:
    """A part that was recorded as being sent when the daemon was killed. `fills` is set for an edit."""

    platform: str
    text: str
    fills: bool


@dataclass(frozen=True, slots=True)
class Kill:
    """A kill, and the sends that the database recorded as being in progress."""

    at: float
    under_way: Sequence[Underway] = ()


@dataclass(frozen=True, slots=True)
class History:
    """An episode from its first start to its clean stop. Further fields are those of `tests.crash.history.History`."""

    #: Telegram's delivery guarantee.
    delivery: str
    written: Sequence[Written]
    #: Place -> the messages that it shows at the end, in order.
    seen: Mapping[str, Sequence[Seen]]
    sends: Sequence[Send]
    kills: Sequence[Kill]
    boots: Sequence[Boot]
    #: Texts of the deliveries whose arrival the daemon reports as unknown.
    unknown: Sequence[str] = ()
    problems: Sequence[str] = ()
    rows: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def whole(self, place: str) -> list[Seen]:
        return [each for each in self.seen.get(place, ()) if each.is_whole]

    def copies(self, written: Written) -> list[Seen]:
        """Return the complete replies in the message's place that name it."""
        return [each for each in self.whole(written.place) if written.token in each.tokens]

    @property
    def places(self) -> Mapping[str, str]:
        """Return the platform of each place, including places in which nothing was written."""
        return {place: place.partition(":")[0] for place in self.seen}


def broken(sends: Sequence[Send], platform: str, cuts: Sequence[float], within: float) -> list[Send]:
    """Return the sends with a failure `broke` for each whose connection was cut before its answer, up to `within`
    seconds."""
    return [
        replace(send, failure=Failure(platform, cut, "broke"))
        if send.platform == platform
        and send.failure is None
        and (cut := next((at for at in cuts if send.at <= at <= send.at + within), 0.0))
        else send
        for send in sends
    ]


def with_failures(sends: Sequence[Send], failures: Sequence[Failure]) -> list[Send]:
    """Return the sends with their failures: each meets the first send of its platform before the next failure or
    its cancellation."""
    left = sorted(sends, key=lambda send: send.at)
    met: dict[int, Failure] = {}
    for platform in {failure.platform for failure in failures}:
        own = sorted((each for each in failures if each.platform == platform), key=lambda each: each.at)
        ends = [*(each.at for each in own[1:]), float("inf")]
        for failure, end in ((each, end) for each, end in zip(own, ends, strict=True) if each.kind != CANCELLED):
            for number, send in enumerate(left):
                if send.platform == platform and failure.at <= send.at < end:
                    met[number] = failure
                    break
    return [Send(send.platform, send.channel, send.at, send.text, met.get(number)) for number, send in enumerate(left)]
