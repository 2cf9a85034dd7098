"""What an episode with chat platforms looked like from outside: facts that the platforms and the harness wrote down.

Plain data without judgement. All instants are seconds of one monotonic clock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.crash.history import Boot, tokens_in

DISCORD, TELEGRAM, SLACK = "discord", "telegram", "slack"
#: A whole reply of the campaign's model, from its first word to its last.
_WHOLE = re.compile(r"Answer \d+ to m-\d{6}(?: m-\d{6})*\. (?:\w+ )*That is all\.")
PLACEHOLDER = "…"
#: The end of a trouble that met nobody.
PEACE = "peace"


@dataclass(frozen=True, slots=True)
class Said:
    """A message that a person wrote: the conversation that it belongs to is `place`; the platform brought it `times`
    times, besides what it repeats by itself."""

    token: str
    platform: str
    place: str
    at: float
    times: int = 1


@dataclass(frozen=True, slots=True)
class Seen:
    """A message of the bot as it stands in a place at the end."""

    id: str
    text: str

    @property
    def is_whole(self) -> bool:
        return _WHOLE.fullmatch(self.text) is not None

    @property
    def tokens(self) -> tuple[str, ...]:
        return tokens_in(self.text)


@dataclass(frozen=True, slots=True)
class Trouble:
    """What a platform did to one request that sends: `refused`, `failed` (5xx), or cut `before` or `after` it was
    carried out; `broke`, when every connection did just then. `retry_after` in seconds."""

    platform: str
    at: float
    kind: str
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True)
class Send:
    """A request that puts something into a chat, and what the platform did to it. `channel` is what the platform limits.
    `text` is known of Telegram only."""

    platform: str
    channel: str
    at: float
    text: str = ""
    trouble: Trouble | None = None


@dataclass(frozen=True, slots=True)
class Underway:
    """A part that was on record as being sent when the daemon was killed; `fills` when it is an edit."""

    platform: str
    text: str
    fills: bool


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill, and what lay in the database behind it."""

    at: float
    under_way: Sequence[Underway] = ()


@dataclass(frozen=True, slots=True)
class History:
    """An episode from its first start to its clean stop. `delivery` is Telegram's guarantee; `seen` holds by place what
    stands there at the end, in its order; `unknown` are the texts of deliveries of which the daemon says that it does
    not know whether they arrived. The rest as in `tests.crash.history.History`."""

    delivery: str
    said: Sequence[Said]
    seen: Mapping[str, Sequence[Seen]]
    sends: Sequence[Send]
    kills: Sequence[Kill]
    boots: Sequence[Boot]
    unknown: Sequence[str] = ()
    problems: Sequence[str] = ()
    rows: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def whole(self, place: str) -> list[Seen]:
        return [each for each in self.seen.get(place, ()) if each.is_whole]

    def copies(self, said: Said) -> list[Seen]:
        """The whole replies in its place that name this message."""
        return [each for each in self.whole(said.place) if said.token in each.tokens]

    @property
    def places(self) -> Mapping[str, str]:
        """The platform of each place, also of those where nobody wrote."""
        return {place: place.partition(":")[0] for place in self.seen}


def broken(sends: Sequence[Send], platform: str, cuts: Sequence[float], within: float) -> list[Send]:
    """A send that was answered `within` seconds at most heard nothing when its connection was cut meanwhile."""
    return [
        replace(send, trouble=Trouble(platform, cut, "broke"))
        if send.platform == platform
        and send.trouble is None
        and (cut := next((at for at in cuts if send.at <= at <= send.at + within), 0.0))
        else send
        for send in sends
    ]


def troubled(sends: Sequence[Send], troubles: Sequence[Trouble]) -> list[Send]:
    """Each trouble meets the first send of its platform after it was made, unless another, or peace, took its place."""
    left = sorted(sends, key=lambda send: send.at)
    met: dict[int, Trouble] = {}
    for platform in {trouble.platform for trouble in troubles}:
        own = sorted((each for each in troubles if each.platform == platform), key=lambda each: each.at)
        ends = [*(each.at for each in own[1:]), float("inf")]
        for trouble, end in ((each, end) for each, end in zip(own, ends, strict=True) if each.kind != PEACE):
            for number, send in enumerate(left):
                if send.platform == platform and trouble.at <= send.at < end:
                    met[number] = trouble
                    break
    return [Send(send.platform, send.channel, send.at, send.text, met.get(number)) for number, send in enumerate(left)]
