"""One model call: the request, its stream of deltas, the result, and the receipt of each try."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from arvis.domain.tools import ToolCall, ToolOutput, ToolSpec

#: Why a reply ended, by one name for all vendors: at its own end, with calls of tools, or at a limit of its length.
END, TOOL_CALLS, LENGTH = "end", "tool_calls", "length"


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a prompt: PNG, JPEG, GIF or WebP. `name` is what its sender called it."""

    media_type: str
    data: bytes = field(repr=False)
    name: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a prompt. `role` is `user` or `assistant`. An assistant's turn may ask for tools (`calls`); the
    user's turn behind it then begins with their `outputs`, one for each call. Pictures come from users only. `thoughts`
    is what a model thought before its calls, in the form in which its vendor wants it back. `messages` are the ids of the
    stored messages of this turn of the conversation whose words stand here; no vendor is told of them."""

    role: str
    content: str
    images: tuple[Image, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    outputs: tuple[ToolOutput, ...] = ()
    thoughts: Mapping[str, Any] | None = None
    messages: tuple[str, ...] = field(default=(), compare=False)


def joined(first: Turn, second: Turn) -> Turn:
    """Return two turns of one role as one; the second has no calls and no outputs of tools."""
    return replace(
        first,
        content=f"{first.content}\n\n{second.content}" if first.content else second.content,
        images=(*first.images, *second.images),
        messages=(*first.messages, *second.messages),
    )


def read_in(turns: Iterable[Turn]) -> list[str]:
    """Return the ids of the messages whose words stand in these turns."""
    return list(dict.fromkeys(message for turn in turns for message in turn.messages))


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a model is asked. `changing` is the part of the system text that differs from turn to turn and stands behind
    `system`; `now` is a line with date and time, which stands behind the user's newest words, because a vendor can keep
    a prompt only as far as it is the same. `model` is without provider prefix (None: the account's own); `max_bytes` bounds the reply;
    `agent_name` lets the demo provider introduce itself. `conversation` names the conversation, for providers that keep
    a folder for each. With `allow_empty` a reply without words is an end, because tools have done the work. With
    `tools_off` the tools are still offered, so that the prompt stays what a vendor may have in its cache, and must not be
    asked for. `begin_within`: seconds until the first byte of a streamed answer (None: no other bound than the provider's
    own). `sampling` tunes the model, by OpenAI's names; a vendor that has no such parameter goes without."""

    system: str
    turns: tuple[Turn, ...]
    model: str | None
    agent_name: str
    max_tokens: int = 4096
    max_bytes: int = 262_144
    tools: tuple[ToolSpec, ...] = ()
    tools_off: bool = False
    conversation: str = ""
    changing: str = ""
    now: str = ""
    begin_within: float | None = None
    allow_empty: bool = False
    sampling: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came back: text, or `calls` of tools with or without some. Token counts are None where the provider does
    not report them; `cached_tokens` of the input were read from the vendor's cache, `written_tokens` put into it.
    `window` is how many tokens the model holds, from a provider that asks its server. `thoughts` belong to `calls` and
    go back with them (`Turn`). `stop_reason` is `end`, `tool_calls`, `length` or the vendor's own word; `truncated`: more
    came than `max_bytes` and was not read. `left_out`
    names what of the request the model was not given: `pictures`, `tools`."""

    content: str
    model: str
    provider: str
    account: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    stop_reason: str = "end"
    truncated: bool = False
    calls: tuple[ToolCall, ...] = ()
    cached_tokens: int = 0
    written_tokens: int = 0
    window: int | None = None
    thoughts: Mapping[str, Any] | None = None
    left_out: tuple[str, ...] = ()

    @property
    def cut(self) -> bool:
        """Return whether the reply ends before its end, at the limit of its tokens or of its bytes."""
        return self.truncated or self.stop_reason == LENGTH

    def answers(self, request: RunRequest) -> bool:
        """Return whether this is an answer. A reply without words and calls is none, unless it was cut, or may be empty."""
        return bool(self.content.strip() or self.calls or self.cut or request.allow_empty)

    def to_json(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "calls": [call.to_json() for call in self.calls]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunResult:
        """What stands beside it in the result of a graph is not read."""
        known = {name: data[name] for name in cls.__slots__ if name in data}
        calls = tuple(ToolCall.from_json(call) for call in data.get("calls", ()))
        return cls(**{**known, "calls": calls, "left_out": tuple(data.get("left_out", ()))})


@dataclass(frozen=True, slots=True)
class ModelCall:
    """The receipt of one try at one account: what `explain` shows and what the budget counts.
    `error` is a provider error kind, `cancelled`, or None; times in ms, cost in millionths of a US dollar. Of the input,
    `cached_tokens` were read from the vendor's cache and `written_tokens` put into it; `priced` says whether anybody
    knew what the model costs."""

    id: str
    account: str
    provider: str
    model: str
    started_at: int
    duration_ms: int
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0
    cached_tokens: int = 0
    error: str | None = None
    detail: str | None = None
    written_tokens: int = 0
    priced: bool = False


@dataclass(frozen=True, slots=True)
class Account:
    """A credential with its own model, and the `models` that it serves (none named: whatever its vendor has). Lower
    `priority` is asked first; `api_key` never leaves the providers."""

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
    """An account that is not to be asked for a model until a time, because it refused for a reason of `kind` the last
    `refusals` times (0: it answered since). `at` is when this was found out; times in ms. The kind `CIRCUIT` means that
    it failed several times or did not answer at all; at `until` one request may try it again."""

    account: str
    model: str
    until: int
    refusals: int
    kind: str
    at: int


@dataclass(frozen=True, slots=True)
class CallTimeouts:
    """How long one model call may take, in seconds: in all, and in silence between two pieces of a stream (the first
    of which a large model on a small machine takes long to give)."""

    total: float = 600.0
    silence: float = 120.0
