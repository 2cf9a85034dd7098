"""One model call: the request and its size, its stream of deltas, the result, and the receipt of each try."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from arvis.domain.tools import ToolCall, ToolOutput, ToolSpec


@dataclass(frozen=True, slots=True)
class Measure:
    """Counts of a text or a request. In ASCII, `letters` counts letters and blanks, `marks` everything else, such as
    digits and brackets. `dense` counts Chinese, Japanese, Korean and pictographs; `others` counts all other scripts.
    `words` counts the parts between blanks. `messages` counts the messages of a request including its system text,
    `requests` the request itself: both cost some tokens regardless of their content."""

    letters: int = 0
    marks: int = 0
    words: int = 0
    dense: int = 0
    others: int = 0
    messages: int = 0
    requests: int = 0
    pictures: int = 0

    def __add__(self, other: Measure) -> Measure:
        return Measure(
            self.letters + other.letters,
            self.marks + other.marks,
            self.words + other.words,
            self.dense + other.dense,
            self.others + other.others,
            self.messages + other.messages,
            self.requests + other.requests,
            self.pictures + other.pictures,
        )


#: Why a reply ended, by one name for all vendors: at its natural end, with tool calls, or at a length limit.
END, TOOL_CALLS, LENGTH = "end", "tool_calls", "length"


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a prompt: PNG, JPEG, GIF or WebP. `name` is the sender's name for it."""

    media_type: str
    data: bytes = field(repr=False)
    name: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a prompt. `role` is `user` or `assistant`. An assistant's turn may request tools (`calls`); the
    next user's turn then begins with their `outputs`, one for each call. Only user turns have pictures. `thoughts` is
    the model's reasoning before its calls, in the format that its vendor expects back. `messages` are the ids of the
    stored messages in this turn; they are not sent to vendors."""

    role: str
    content: str
    images: tuple[Image, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    outputs: tuple[ToolOutput, ...] = ()
    thoughts: Mapping[str, Any] | None = None
    messages: tuple[str, ...] = field(default=(), compare=False)

    @property
    def texts(self) -> list[str]:
        """Return everything that is sent to a vendor and counts as text."""
        calls = [json.dumps(call.to_json(), ensure_ascii=False) for call in self.calls]
        thoughts = [] if self.thoughts is None else [json.dumps(self.thoughts, ensure_ascii=False)]
        return [self.content, *calls, *(output.content for output in self.outputs), *thoughts]


def joined(first: Turn, second: Turn) -> Turn:
    """Return two turns of one role as one; the second has no calls and no outputs of tools."""
    return replace(
        first,
        content=f"{first.content}\n\n{second.content}" if first.content else second.content,
        images=(*first.images, *second.images),
        messages=(*first.messages, *second.messages),
    )


def read_in(turns: Iterable[Turn]) -> list[str]:
    """Return the ids of the messages that these turns contain."""
    return list(dict.fromkeys(message for turn in turns for message in turn.messages))


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One request to a model."""

    #: The system text.
    system: str
    #: The messages of the prompt.
    turns: tuple[Turn, ...]
    #: Without provider prefix; None: the account's model.
    model: str | None
    #: The demo provider introduces itself by this name.
    agent_name: str
    max_tokens: int = 4096
    #: Limits the reply.
    max_bytes: int = 262_144
    tools: tuple[ToolSpec, ...] = ()
    #: The tools are still sent, so that the vendor's cache of the prompt stays valid, but the model must not call
    #: them.
    tools_off: bool = False
    #: Identifies the conversation, for providers that keep a folder for each.
    conversation: str = ""
    #: The part of the system text that differs from turn to turn; it follows `system`.
    changing: str = ""
    #: A line with date and time. It follows the user's newest text, because a vendor can cache a prompt only up
    #: to its first change.
    now: str = ""
    #: Seconds until the first byte of a streamed answer; None: no limit besides the provider's own.
    begin_within: float | None = None
    #: A reply without text is valid, because tools have done the work.
    allow_empty: bool = False
    #: Model parameters by OpenAI's names; vendors ignore parameters that they do not support.
    sampling: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a model call: text, or calls of tools with or without text."""

    content: str
    model: str
    provider: str
    account: str
    #: Token counts are None if the provider does not report them.
    input_tokens: int | None = None
    output_tokens: int | None = None
    #: `end`, `tool_calls`, `length` or the vendor's own value.
    stop_reason: str = "end"
    #: The reply exceeded `max_bytes`, and the excess was not read.
    truncated: bool = False
    calls: tuple[ToolCall, ...] = ()
    #: The part of the input that was read from the vendor's cache.
    cached_tokens: int = 0
    #: The part of the input that was written to the vendor's cache.
    written_tokens: int = 0
    #: The context window in tokens, from providers that query their server.
    window: int | None = None
    #: The reasoning before `calls`, which is sent back with them (`Turn`).
    thoughts: Mapping[str, Any] | None = None
    #: Parts of the request that the model did not receive: `pictures`, `tools`.
    left_out: tuple[str, ...] = ()

    @property
    def cut(self) -> bool:
        """Return whether the reply was cut off at its limit of tokens or bytes."""
        return self.truncated or self.stop_reason == LENGTH

    def answers(self, request: RunRequest) -> bool:
        """Return whether this is an answer. A reply without text and calls is none, unless it was cut off or may be
        empty."""
        return bool(self.content.strip() or self.calls or self.cut or request.allow_empty)

    def to_json(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "calls": [call.to_json() for call in self.calls]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunResult:
        """Return the result in the JSON of a graph's result. Other keys are ignored."""
        known = {name: data[name] for name in cls.__slots__ if name in data}
        calls = tuple(ToolCall.from_json(call) for call in data.get("calls", ()))
        return cls(**{**known, "calls": calls, "left_out": tuple(data.get("left_out", ()))})


@dataclass(frozen=True, slots=True)
class ModelCall:
    """The receipt of one call to one account: `explain` shows it and the budget counts it. Times in ms."""

    id: str
    account: str
    provider: str
    model: str
    started_at: int
    duration_ms: int
    input_tokens: int = 0
    output_tokens: int = 0
    #: In millionths of a US dollar.
    cost_micros: int = 0
    #: The part of the input that was read from the vendor's cache.
    cached_tokens: int = 0
    #: A provider error kind, `cancelled`, or None.
    error: str | None = None
    detail: str | None = None
    #: The part of the input that was written to the vendor's cache.
    written_tokens: int = 0
    #: The price of the model was known.
    priced: bool = False


@dataclass(frozen=True, slots=True)
class Account:
    """Credentials with a default model, and the `models` that the account serves (empty: all models of its vendor).
    Accounts with lower `priority` are tried first; `api_key` never leaves the providers."""

    name: str
    provider: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    priority: int = 100
    models: tuple[str, ...] = ()


#: The kind of a `Cooldown` that a circuit breaker made; the other kinds are those of provider errors.
CIRCUIT = "circuit"


@dataclass(frozen=True, slots=True)
class Cooldown:
    """An account that is not used for a model for some time, because it refused. Times in ms."""

    account: str
    model: str
    #: From this time on the account may be used again. With the kind `CIRCUIT`, one request may try it first.
    until: int
    #: The number of refusals in a row; 0: it has answered since.
    refusals: int
    #: The reason of the last refusal. `CIRCUIT`: it failed several times or did not respond.
    kind: str
    #: When this was observed.
    at: int


@dataclass(frozen=True, slots=True)
class CallTimeouts:
    """Time limits of one model call in seconds: `total`, and `silence` between two pieces of a stream (a large model
    on a small machine needs long for the first one)."""

    total: float = 600.0
    silence: float = 120.0
