"""Model calls: the request and its size, the result, the receipts, and the accounts with their cooldowns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, TypeAlias

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.reply_format import ReplyFormat
from arvis.domain.tools import ToolCall, ToolOutput, ToolSpec


@dataclass(frozen=True, slots=True)
class Measure:
    """The counts from which the tokens of a text or a request are estimated. Each message and each request costs some
    tokens in addition to the tokens of its content."""

    #: ASCII letters and spaces.
    letters: int = 0
    #: All other ASCII characters, such as digits and brackets.
    marks: int = 0
    #: The words, separated by spaces.
    words: int = 0
    #: Chinese, Japanese and Korean characters, and pictographs.
    dense: int = 0
    #: The characters of all other scripts.
    others: int = 0
    #: The messages of a request; the system text counts as a message.
    messages: int = 0
    #: 1 for a request, 0 for a text.
    requests: int = 0
    pictures: int = 0


#: The reasons why a reply ended: by itself, with tool calls, or at a length limit. The names are the same for all
#: vendors.
END, TOOL_CALLS, LENGTH = "end", "tool_calls", "length"


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a prompt: PNG, JPEG, GIF or WebP. `name` is the file name that the sender gave."""

    media_type: str
    data: bytes = field(repr=False)
    name: str = ""
    #: True if the picture was sent in an earlier turn.
    past: bool = False


#: The name, the media type and the hash of a stored picture.
PictureRef: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a prompt."""

    #: `user` or `assistant`.
    role: str
    content: str
    #: Only a user's message has pictures.
    images: tuple[Image, ...] = ()
    #: The tool calls that an assistant's message requests.
    calls: tuple[ToolCall, ...] = ()
    #: The outputs of the calls in the previous message, one for each call. A user's message begins with them.
    outputs: tuple[ToolOutput, ...] = ()
    #: The model's reasoning before its calls, in the format that the vendor expects back.
    thoughts: Mapping[str, Any] | None = None
    #: The ids of the stored messages that this message contains. They are not sent to vendors.
    messages: tuple[str, ...] = field(default=(), compare=False)
    #: The pictures that become `images` when the call is made.
    pictures: tuple[PictureRef, ...] = ()

    @property
    def texts(self) -> list[str]:
        """The texts of this message that are sent to a vendor: content, calls, outputs and thoughts."""
        calls = [json.dumps(call.to_json(), ensure_ascii=False) for call in self.calls]
        thoughts = [] if self.thoughts is None else [json.dumps(self.thoughts, ensure_ascii=False)]
        return [self.content, *calls, *(output.content for output in self.outputs), *thoughts]


def joined(first: Turn, second: Turn) -> Turn:
    """Join two messages of the same role. The second message must not have outputs, and the first one must not have
    calls."""
    return replace(
        first,
        content="\n\n".join(filter(None, [first.content, second.content])),
        images=(*first.images, *second.images),
        calls=second.calls,
        messages=(*first.messages, *second.messages),
        pictures=(*first.pictures, *second.pictures),
    )


def read_in(turns: Iterable[Turn]) -> list[str]:
    """Return the ids of the stored messages that the messages of a prompt contain, each id once."""
    return list(dict.fromkeys(message for turn in turns for message in turn.messages))


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One request to a model."""

    #: The part of the system text that is the same in every turn.
    system: str
    #: The messages of the prompt.
    turns: tuple[Turn, ...]
    #: The model's name without the prefix `provider/`. None means the default model of the account.
    model: str | None
    #: The agent's name, with which the demo provider introduces itself.
    agent_name: str
    max_tokens: int = 4096
    #: The maximum size of the reply in bytes. The remaining bytes of a larger reply are not read.
    max_bytes: int = 262_144
    tools: tuple[ToolSpec, ...] = ()
    #: True if the model must not call the tools. Vendors that cache prompts still get the descriptions of the tools,
    #: because a changed list of tools would make their cache useless.
    tools_off: bool = False
    #: The id of the conversation, for providers that use a folder for each conversation.
    conversation: str = ""
    #: The part of the system text that differs from turn to turn. It is placed after `system`.
    changing: str = ""
    #: A line with date and time. It is placed after the user's newest text, because vendors cache a prompt only up to
    #: its first difference from the previous prompt.
    now: str = ""
    #: The maximum number of seconds until the first byte of a streamed answer. If None, only the provider's own limit
    #: applies.
    begin_within: float | None = None
    #: True if a reply without text is valid, because tools have done the work.
    allow_empty: bool = False
    #: Model parameters under OpenAI's names. Parameters that a vendor does not support are ignored.
    sampling: Mapping[str, Any] = field(default_factory=dict)
    #: The reasoning effort, one of `EFFORTS`; None means the model's default.
    effort: str | None = None
    #: The format that the reply must have; None means any text. The system text describes it as well.
    format: ReplyFormat | None = None

    @property
    def texts(self) -> list[str]:
        """All texts that are sent to a vendor, including the descriptions of the tools."""
        texts = [self.system, self.changing, self.now]
        for turn in self.turns:
            if turn.calls or turn.outputs or turn.thoughts is not None:
                texts += turn.texts
            else:
                texts.append(turn.content)
        for tool in self.tools:
            texts.append(json.dumps([tool.name, tool.description, tool.parameters], ensure_ascii=False, default=dict))
        return texts


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a model call: a text, or tool calls with or without a text."""

    content: str
    model: str
    provider: str
    account: str
    #: Token counts are None if the provider does not report them.
    input_tokens: int | None = None
    output_tokens: int | None = None
    #: `end`, `tool_calls`, `length` or the vendor's own value.
    stop_reason: str = "end"
    #: True if the reply was larger than `max_bytes`, so that its remaining bytes were not read.
    truncated: bool = False
    calls: tuple[ToolCall, ...] = ()
    #: The part of the input that was read from the vendor's cache.
    cached_tokens: int = 0
    #: The part of the input that was written to the vendor's cache.
    written_tokens: int = 0
    #: The model's context window in tokens, if the provider has asked its server for the size.
    window: int | None = None
    #: The model's reasoning before `calls`. The next request sends it back (`Turn.thoughts`).
    thoughts: Mapping[str, Any] | None = None
    #: The parts of the request that were not sent to the model: `pictures`, `tools`, `effort`, or the names of
    #: parameters.
    left_out: tuple[str, ...] = ()

    @property
    def cut(self) -> bool:
        """Return whether the reply was cut off at a limit of tokens or bytes."""
        return self.truncated or self.stop_reason == LENGTH

    def answers(self, request: RunRequest) -> bool:
        """Return whether this result answers the request. A reply without text and calls is an answer only if it was
        cut off, or if the request allows an empty reply."""
        return bool(self.content.strip() or self.calls or self.cut or request.allow_empty)

    def to_json(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "calls": [call.to_json() for call in self.calls]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunResult:
        """Return the result from its JSON form; other keys of `data` are ignored."""
        known = {name: data[name] for name in cls.__slots__ if name in data}
        calls = tuple(ToolCall.from_json(call) for call in data.get("calls", ()))
        return cls(**{**known, "calls": calls, "left_out": tuple(data.get("left_out", ()))})


@dataclass(frozen=True, slots=True)
class ModelCall:
    """The receipt of one call to one account. `explain` shows it, and budgets count its cost. Times in ms."""

    id: str
    account: str
    provider: str
    model: str
    started_at: int
    duration_ms: int
    input_tokens: int = 0
    output_tokens: int = 0
    #: The cost in millionths of a US dollar.
    cost_micros: int = 0
    #: The part of the input that was read from the vendor's cache.
    cached_tokens: int = 0
    #: The kind of the provider error, or `cancelled`; None if the call succeeded.
    error: str | None = None
    detail: str | None = None
    #: The part of the input that was written to the vendor's cache.
    written_tokens: int = 0
    #: True if the price of the model was known.
    priced: bool = False


#: The values of `Account.api`.
CHAT, RESPONSES = APIS = ("chat", "responses")


@dataclass(frozen=True, slots=True)
class Account:
    """Credentials at a model vendor."""

    name: str
    provider: str
    #: The default model.
    model: str
    #: The API key. Only providers use it.
    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    #: Accounts with a lower priority are tried first.
    priority: int = 100
    #: The models for which the account may be used. If empty, it may be used for all models of the vendor.
    models: tuple[str, ...] = ()
    #: The API of OpenAI's format that calls use: `chat` or `responses`. None: the API that the model needs.
    api: str | None = None


#: The kind of a `Cooldown` after several failures in a row. Any other kind of a `Cooldown` is a `ProviderErrorKind`.
CIRCUIT = "circuit"


@dataclass(frozen=True, slots=True)
class Cooldown:
    """A time in which an account is not used for a model, because calls failed. Times in ms."""

    account: str
    model: str
    #: The time at which the account may be used again. If the kind is `CIRCUIT`, a single request then tests the
    #: account first.
    until: int
    #: The number of refusals in a row. It is 0 if the account has answered since the last refusal.
    refusals: int
    #: The kind of the last error. `CIRCUIT` means that the account failed several times or did not respond.
    kind: str
    #: The time of the last success or failure of this account and model.
    at: int


@dataclass(frozen=True, slots=True)
class CallTimeouts:
    """Time limits of one model call in seconds."""

    #: The limit of the whole call.
    total: float = 600.0
    #: The limit of the silence before each piece of a stream. It is long because a large model on a small machine takes
    #: a long time to produce the first piece.
    silence: float = 120.0
