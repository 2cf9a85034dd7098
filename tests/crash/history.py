"""The history of an episode: facts that users, the model and the harness observed from outside the daemon.

A history is plain data without judgement. So a recorded history can be judged again, or changed by hand to prove that
the oracle finds the fault. All instants are seconds of one monotonic clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(r"m-\d{6}")
_ANSWER = re.compile(r"Answer \d+ to m-\d{6}(?: m-\d{6})*\.")


def token_of(number: int) -> str:
    """Return the token that identifies a message: in its text, in the reply to it, and in later prompts."""
    return f"m-{number:06}"


def answers_in(text: str) -> tuple[str, ...]:
    """Return the model's answers that a text contains, each once, in order."""
    return tuple(dict.fromkeys(_ANSWER.findall(text)))


def tokens_in(text: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(text))


@dataclass(frozen=True, slots=True)
class Sent:
    """A message of a user, repeated with the same client id until it was acknowledged."""

    token: str
    channel: str
    first_sent: float
    acked: float | None
    #: The message ids of all its acknowledgements.
    ids: tuple[str, ...]
    tries: int

    @property
    def id(self) -> str | None:
        return self.ids[0] if self.ids else None


@dataclass(frozen=True, slots=True)
class Shown:
    """A `message` push that a socket received."""

    seq: int
    message_id: str
    reply_to: str | None
    answers: tuple[str, ...]
    content: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The API's data about a message after the drain. `status` is `missing` for an unknown message."""

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
    """A request that reached the model. A request for a summary has no prompt."""

    number: int
    #: The number of the boot that made the request.
    boot: int
    started: float
    #: When the server had sent the whole answer; None if it did not.
    finished: float | None
    prompt: tuple[Turn, ...]
    #: Empty if the answer asks for tool calls.
    answer: str
    #: The earlier answers that summaries in the prompt repeat.
    summed_up: tuple[str, ...] = ()
    #: The tool calls that the answer asks for.
    keys: tuple[str, ...] = ()
    dropped: float | None = None

    @property
    def read(self) -> frozenset[str]:
        """Return all messages whose text is in the prompt."""
        return frozenset(tokens_in("\n".join(turn.content for turn in self.prompt if turn.role == "user")))

    @property
    def asked(self) -> tuple[str, ...]:
        """Return the messages that wait for an answer: those after the last reply of the prompt."""
        texts: list[str] = []
        for turn in self.prompt:
            if turn.role == "assistant":
                texts.clear()
            else:
                texts.append(turn.content)
        return tokens_in("\n".join(texts))

    def exchanges(self) -> list[tuple[tuple[str, ...], str]]:
        """Return the earlier part of the prompt as pairs: the messages before a reply, and the reply."""
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
    """A process from its start to its end."""

    number: int
    spawned: float
    #: None if it ended before it was ready.
    ready: float | None
    ended: float | None
    #: The name of the process in all its boots.
    place: str = "daemon"
    #: When it received SIGTERM.
    stop_requested: float | None = None
    #: Whether it received SIGKILL.
    killed: bool = False
    #: The spans in which it was suspended by SIGSTOP.
    suspended: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True, slots=True)
class Poisoned:
    """A message that kills the daemon."""

    token: str
    id: str
    #: Number of kills of the daemon.
    kills: int
    #: The end of the message after the kills, and after a retry by the operator.
    ended: Timeline
    retried: Timeline
    #: The transcript of its channel after both.
    shown: Sequence[Shown]


@dataclass(frozen=True, slots=True)
class History:
    """An episode from its first start to its clean stop."""

    sent: Sequence[Sent]
    #: Channel -> the messages that its user received live, over all connections (web sockets only).
    live: Mapping[str, Sequence[Shown]]
    #: Channel -> its replay from the beginning, after the drain.
    transcripts: Mapping[str, Sequence[Shown]]
    #: Message id -> its timeline.
    timelines: Mapping[str, Timeline]
    calls: Sequence[Call]
    boots: Sequence[Boot]
    #: Refusals and failures that no user should meet.
    problems: Sequence[str] = ()
    #: Correct refusals of a daemon whose disk or server is not available.
    refusals: Sequence[str] = ()
    #: Whether a stop could not hand back its jobs, because the disk was full.
    interrupted: bool = False
    #: Rule -> the offending rows of the stopped daemon's database.
    rows: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: The message that killed the daemon, if the episode has one.
    poison: Poisoned | None = None
    #: Channels whose agent works with tools in a small window.
    working: frozenset[str] = frozenset()
    #: Ids of the messages whose turn waited for a person.
    waited: frozenset[str] = frozenset()
    #: Keys of the calls that must not be repeated, one entry each time that the call was made.
    marks: Sequence[str] = ()
    #: Token of a message -> the number of receipts of its turn.
    receipts: Mapping[str, int] | None = None

    def channels(self) -> Iterable[str]:
        """Return the channels whose transcript was read. The rules cannot judge the others."""
        return sorted(self.transcripts)

    def of_channel(self, channel: str) -> list[Sent]:
        return [sent for sent in self.sent if sent.channel == channel]

    def replies(self, channel: str) -> list[Shown]:
        """Return the transcript without intermediate notices, which do not answer a message."""
        return [shown for shown in self.transcripts[channel] if shown.answers]
