"""What one episode looked like from outside: the facts that users, model and harness wrote down.

Plain data without judgement, so that a recorded history can be judged again, and spoiled by hand to see that the
oracle notices. All instants are seconds of one monotonic clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(r"m-\d{6}")
_ANSWER = re.compile(r"Answer \d+ to m-\d{6}(?: m-\d{6})*\.")


def token_of(number: int) -> str:
    """The word that names a message everywhere: in its text, in the reply to it and in later prompts."""
    return f"m-{number:06}"


def answers_in(text: str) -> tuple[str, ...]:
    """The answers of the campaign's model that stand in a text, each once, in order."""
    return tuple(dict.fromkeys(_ANSWER.findall(text)))


def tokens_in(text: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(text))


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that a user wrote, and repeated with the same client id until it was acknowledged. `ids` holds
    every message id that an acknowledgement named."""

    token: str
    channel: str
    first_sent: float
    acked: float | None
    ids: tuple[str, ...]
    tries: int

    @property
    def id(self) -> str | None:
        return self.ids[0] if self.ids else None


@dataclass(frozen=True, slots=True)
class Shown:
    """A `message` push as the socket brought it."""

    seq: int
    message_id: str
    reply_to: str | None
    answers: tuple[str, ...]
    content: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """What the API says about a message after the drain; `status` is `missing` when it knows no such message."""

    status: str
    reason: str | None
    reply: str | None


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a prompt."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Call:
    """A request that reached the model, made by the life number `boot`.

    `finished` is when the server had sent the whole answer, `dropped` when it saw that its client had left; None if that
    did not happen. `keys` are the tool calls that the answer asks for; such an answer has no text. `summed_up` are the
    earlier answers that summaries in the prompt repeat. A request for a summary has no prompt.
    """

    number: int
    boot: int
    started: float
    finished: float | None
    prompt: tuple[Turn, ...]
    answer: str
    summed_up: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    dropped: float | None = None

    @property
    def read(self) -> frozenset[str]:
        """All messages whose words are in the prompt."""
        return frozenset(tokens_in("\n".join(turn.content for turn in self.prompt if turn.role == "user")))

    @property
    def asked(self) -> tuple[str, ...]:
        """The messages that wait for an answer: those behind the last reply of the prompt."""
        texts: list[str] = []
        for turn in self.prompt:
            if turn.role == "assistant":
                texts.clear()
            else:
                texts.append(turn.content)
        return tokens_in("\n".join(texts))

    def exchanges(self) -> list[tuple[tuple[str, ...], str]]:
        """The earlier part of the prompt: the messages before each reply, and the reply."""
        done: list[tuple[tuple[str, ...], str]] = []
        asked: list[str] = []
        for turn in self.prompt:
            if turn.role == "assistant":
                done.append((tuple(asked), turn.content))
                asked = []
            else:
                asked.extend(tokens_in(turn.content))
        return done


@dataclass(frozen=True, slots=True)
class Boot:
    """One life of one process. `ready` is None when it ended before it was ready; `place` names the process over
    all its lives; `told` is when it was asked to stop, `killed` whether it was given no chance to; `slept` holds
    the spans in which it was stopped by SIGSTOP."""

    number: int
    spawned: float
    ready: float | None
    ended: float | None
    place: str = "daemon"
    told: float | None = None
    killed: bool = False
    slept: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True, slots=True)
class Poisoned:
    """A message at whose sight the daemon died, `deaths` times; how it `ended` then, and how after a retry by hand.
    `shown` is the transcript of its channel after both."""

    token: str
    id: str
    deaths: int
    ended: Timeline
    retried: Timeline
    shown: Sequence[Shown]


@dataclass(frozen=True, slots=True)
class History:
    """An episode from its first start to its clean stop. `live` is what users saw as it happened, over all their
    connections (web socket chats only); `transcripts` is the replay of each channel from its beginning after the
    drain; `timelines` is keyed by message id; `problems` are refusals and failures that no user should meet;
    `rows` are the offending rows that the database gave up, by the name of the rule they break; `poison` is the
    message that killed, where there was one. `working` are the channels whose agent uses tools in a small window; `waited`
    the ids of messages whose turn waited for a person; `marks` the calls that must not be repeated, as often as they were
    made; `receipts` counts those of the turn that each message (by its token) is part of."""

    sent: Sequence[Sent]
    live: Mapping[str, Sequence[Shown]]
    transcripts: Mapping[str, Sequence[Shown]]
    timelines: Mapping[str, Timeline]
    calls: Sequence[Call]
    boots: Sequence[Boot]
    problems: Sequence[str] = ()
    rows: Mapping[str, Sequence[str]] = field(default_factory=dict)
    poison: Poisoned | None = None
    working: frozenset[str] = frozenset()
    waited: frozenset[str] = frozenset()
    marks: Sequence[str] = ()
    receipts: Mapping[str, int] | None = None

    def channels(self) -> Iterable[str]:
        """Those whose transcript was read: of the others nothing can be said."""
        return sorted(self.transcripts)

    def of_channel(self, channel: str) -> list[Sent]:
        return [sent for sent in self.sent if sent.channel == channel]

    def replies(self, channel: str) -> list[Shown]:
        """The transcript without notices on the way, which answer nothing."""
        return [shown for shown in self.transcripts[channel] if shown.answers]
