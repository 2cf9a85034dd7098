"""The parser of chat completion requests. It reads the agent, the conversation, the question, the history and the
parameters from a request.

A parameter that an agent cannot apply is refused with an error that names the parameter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.regex import regex
from arvis.domain.taint import Label, Taint
from arvis.domain.text import CURRENT_MESSAGE, EARLIER_MESSAGES
from arvis.web.http.requests import Fields, unusable

# The history that a client sends becomes a text for the agent, with the labels of its sources. The client can write
# anything into the history, even in the role of a tool or of the agent. The text therefore says that a program sent the
# history, and it quotes every line. Its taint (ADR 0017) has the effect that actions based on the text need an
# approval.

SYSTEM_ROLES = frozenset({"system", "developer"})
_LABELS: Mapping[str, Label] = {
    "user": Label.PEOPLE,
    "assistant": Label.AGENTS,
    "tool": Label.TOOLS,
    "function": Label.TOOLS,
}


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message of the request."""

    role: str
    text: str
    #: The files of the message, in the form that the API uses for attachments.
    files: tuple[Mapping[str, str], ...] = ()
    #: The other fields of the message as JSON, such as the client's tool calls.
    more: str = ""


def history_text(before: Sequence[HistoryMessage], most_bytes: int) -> str:
    """Return the newest messages that fit into `most_bytes` as one text. Above each message is a line with its role.
    Each line of a message begins with `> `, so that no line looks like a line that Arvis wrote."""
    blocks: list[str] = []
    left = most_bytes
    for number, message in enumerate(reversed(before)):
        block = _block(message)
        left -= len(block.encode()) + 1
        if left < 0:
            blocks.append(f"[… {len(before) - number} earlier messages are omitted]")
            break
        blocks.append(block)
    return "\n".join(reversed(blocks))


def taint_of_history(before: Iterable[HistoryMessage], *, owner: bool) -> Taint:
    """Return the taint of these messages. System text that was sent with an owner's key adds no label, because it
    counts as the owner's own text. System text that was sent with any other key counts as text of other people."""
    labels = {
        Label.PEOPLE if each.role in SYSTEM_ROLES else _LABELS[each.role]
        for each in before
        if not (owner and each.role in SYSTEM_ROLES)
    }
    return frozenset(labels)


def _block(message: HistoryMessage) -> str:
    # `splitlines` splits at every character that a reader could interpret as a line break.
    text = "\n".join(part for part in (message.text, message.more) if part)
    return "\n".join([f"[{message.role}]", *(f"> {line}" for line in text.splitlines() or [""])])


# The parameters besides the messages. Parameters for the model become `wishes` of the message. A parameter that an
# agent cannot apply is refused with status 400.

_MOST_STOPS = 4
_LONGEST_STOP = 200
_MOST_TOKENS = 1_000_000
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
#: Parameters that are accepted without a check here. Other functions read some of these parameters. The remaining ones
#: do not change an agent's answer: notes of the client, settings for the vendor's storage and billing, and the
#: permission for parallel tool calls.
_HEEDED = frozenset(
    {
        "model", "messages", "user", "stream", "stream_options", "metadata", "store", "safety_identifier", "prompt_cache_key",
        "prompt_cache_retention", "prediction", "parallel_tool_calls", "max_tokens", "max_completion_tokens", "stop",
    }
)  # fmt: skip
_RANGES: Mapping[str, tuple[float, float]] = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "frequency_penalty": (-2, 2),
    "presence_penalty": (-2, 2),
}
#: Parameters that Arvis does not support. A value is accepted only if it requests the behaviour that Arvis has anyway.
#: Each parameter has a function that accepts such a value, and an error text for all other values.
_REFUSED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "tools": (lambda value: not value, "is not supported: an agent has its own tools"),
    "functions": (lambda value: not value, "is not supported: an agent has its own tools"),
    "tool_choice": (
        lambda value: value in ("none", "auto"),
        "must be `auto` or `none`: the agent chooses its own tools",
    ),
    "function_call": (lambda value: value in ("none", "auto"), "must be `auto` or `none`: an agent has its own tools"),
    "n": (lambda value: value == 1, "must be 1: an agent gives one answer"),
    "logprobs": (lambda value: not value, "is not supported"),
    "top_logprobs": (lambda value: not value, "is not supported"),
    "logit_bias": (lambda value: not value, "is not supported"),
    "modalities": (lambda value: value == ["text"], "must be `text`"),
    "audio": (lambda value: not value, "is not supported: answers are texts"),
    "web_search_options": (lambda value: not value, "is not supported: an agent searches with its own tools"),
    "verbosity": (
        lambda value: value == "medium",
        "must be `medium`: state the wanted length in the question",
    ),
    "service_tier": (lambda value: value in ("auto", "default"), "must be `auto` or `default`"),
    "response_format": (
        lambda value: isinstance(value, dict) and value.get("type", "text") == "text",
        "must be `text`: an agent answers in its own words",
    ),
}


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a request."""

    #: The stop sequences. The answer ends before the first stop sequence that occurs in it.
    stops: tuple[str, ...] = ()
    #: The parameters for the model: `max_tokens`, and `sampling`, which contains all others under OpenAI's names.
    wishes: Mapping[str, Any] = field(default_factory=dict)


def parameters_of(fields: Fields, names: Sequence[str]) -> Parameters:
    """Parse the parameters. `names` are the names of all fields of the request. Raise `Unprocessable` for a parameter
    that cannot be applied."""
    for name in names:
        value = fields.raw(name)
        if value is None or name in _HEEDED or name in _RANGES or name in {"seed", "reasoning_effort"}:
            continue
        says_so, why = _REFUSED.get(name, (lambda value: not value, "is not supported"))
        if not says_so(value):
            raise unusable(name[:100], why)
    sampling: dict[str, Any] = {name: value for name in _RANGES if (value := _number(fields, name)) is not None}
    if (seed := fields.raw("seed")) is not None:
        if not isinstance(seed, int) or isinstance(seed, bool) or abs(seed) >= 2**63:
            raise unusable("seed", "must be a whole number")
        sampling["seed"] = seed
    if (effort := fields.text("reasoning_effort")) is not None:
        if effort not in _EFFORTS:
            raise unusable("reasoning_effort", f"must be one of {', '.join(_EFFORTS)}")
        sampling["reasoning_effort"] = effort
    most = _tokens(fields)
    wishes = {**({"sampling": sampling} if sampling else {}), **({"max_tokens": most} if most is not None else {})}
    return Parameters(_stops(fields), wishes)


def cut(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """Return the text before the first stop sequence, and whether the text contains a stop sequence."""
    found = min((at for stop in stops if (at := text.find(stop)) >= 0), default=-1)
    return (text, False) if found < 0 else (text[:found], True)


def certain(text: str, stops: Sequence[str]) -> str:
    """Return the part of a growing text that certainly belongs to the answer. Omit the end of the text if it could be
    the beginning of a stop sequence."""
    text, ended = cut(text, stops)
    if ended:
        return text
    held = max((size for stop in stops for size in range(1, len(stop)) if text.endswith(stop[:size])), default=0)
    return text[: len(text) - held] if held else text


def _number(fields: Fields, name: str) -> float | None:
    value, (least, most) = fields.raw(name), _RANGES[name]
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise unusable(name, f"must be a number from {least} to {most}")
    return value


def _tokens(fields: Fields) -> int | None:
    found = None
    for name in ("max_tokens", "max_completion_tokens"):
        value = fields.whole(name)
        if value is not None and not 1 <= value <= _MOST_TOKENS:
            raise unusable(name, f"must be a whole number from 1 to {_MOST_TOKENS}")
        found = value if value is not None else found
    return found


def _stops(fields: Fields) -> tuple[str, ...]:
    given = fields.raw("stop")
    stops = [given] if isinstance(given, str) else given or []
    if not isinstance(stops, list) or len(stops) > _MOST_STOPS:
        raise unusable("stop", f"must be a string or a list of at most {_MOST_STOPS}")
    if not all(isinstance(each, str) and 0 < len(each) <= _LONGEST_STOP for each in stops):
        raise unusable("stop", f"must contain strings of 1 to {_LONGEST_STOP} characters")
    return tuple(stops)


# The request.

_DATA_URL = regex(r"data:(?P<kind>[\w.+-]+/[\w.+-]+)(?:;[\w.+-]+=[\w.+-]+)*;base64,(?P<data>.*)", re.DOTALL)
_SOUNDS = {"wav": "audio/wav", "mp3": "audio/mpeg", "ogg": "audio/ogg", "flac": "audio/flac"}
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_USER = "user"
#: The fields of a message, besides its role and content, that are part of the conversation.
_OTHER_FIELDS = ("name", "tool_calls", "function_call", "tool_call_id")


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A chat completion request."""

    #: The slug of an agent.
    model: str
    #: The field `user`, which names the conversation.
    conversation: str | None
    #: The last message.
    question: HistoryMessage
    #: The messages before the question.
    before: tuple[HistoryMessage, ...]
    stream: bool
    #: True: the last event of the stream contains the token usage.
    usage: bool
    parameters: Parameters

    @property
    def system(self) -> tuple[HistoryMessage, ...]:
        return tuple(each for each in self.before if each.role in SYSTEM_ROLES)

    @property
    def talk(self) -> tuple[HistoryMessage, ...]:
        """Return the history without system texts."""
        return tuple(each for each in self.before if each.role not in SYSTEM_ROLES)

    def content(self, history: Sequence[HistoryMessage], most_bytes: int) -> str:
        """Return the text for the inbox: the newest part of the history that fits into `most_bytes`, then the
        question."""
        question = self.question.text
        if not history:
            return question
        left = most_bytes - len(question.encode()) - len(EARLIER_MESSAGES) - len(CURRENT_MESSAGE) - 100
        return "\n".join([EARLIER_MESSAGES, history_text(history, left), "", CURRENT_MESSAGE, question])


def parse_request(fields: Fields) -> ParsedRequest:
    """Parse a request. Raise `Unprocessable` with the name of a field that cannot be used."""
    model = fields.label("model")
    if model is None:
        raise unusable("model", "is missing: name the slug of an agent")
    parameters = parameters_of(fields, fields.names)
    messages = [_message(message, index) for index, message in enumerate(fields.objects("messages"))]
    if not messages:
        raise unusable("messages", "must contain at least one message")
    if messages[-1].role != _USER:
        raise unusable(
            "messages",
            "must end with a message of the role `user` (prefilled answers and tool results are not supported)",
        )
    options = Fields(fields.mapping("stream_options") or {})
    return ParsedRequest(
        model=model,
        conversation=fields.label("user") if fields.text("user") else None,
        question=messages[-1],
        before=tuple(messages[:-1]),
        stream=_flag(fields, "stream"),
        usage=_flag(options, "include_usage"),
        parameters=parameters,
    )


def _message(message: Fields, index: int) -> HistoryMessage:
    role = message.text("role")
    if role not in _ROLES:
        raise unusable(f"messages[{index}].role", f"must be one of {', '.join(sorted(_ROLES))}")
    content, more = message.raw("content"), _more(message)
    if content is None or isinstance(content, str):
        return HistoryMessage(role, content or "", more=more)
    where = f"messages[{index}].content"
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise unusable(where, "must be a string or a list of parts")
    return replace(_of_parts(role, [Fields(part) for part in content], where), more=more)


def _more(message: Fields) -> str:
    """Return the fields in `_OTHER_FIELDS` as JSON in a fixed order, or "" if all are empty. Empty fields are left out,
    because clients that send an answer back include its empty fields."""
    found = {name: value for name in _OTHER_FIELDS if (value := message.raw(name))}
    return json.dumps(found, ensure_ascii=False, sort_keys=True) if found else ""


def _of_parts(role: str, parts: Sequence[Fields], where: str) -> HistoryMessage:
    """Return the message with the text and the files of its parts. The agent gets only the files of the question. The
    files of the history only serve to recognise the conversation."""
    texts: list[str] = []
    files: list[Mapping[str, str]] = []
    for part in parts:
        match part.text("type"):
            case "text" | "refusal" as kind:
                texts.append(part.text(kind) or "")
            case "image_url" | "input_audio" | "file" as kind if role == _USER:
                files.append(_file(kind, Fields(part.mapping(kind) or {}), where, len(files) + 1))
            case kind:
                raise unusable(where, f"contains a part of the type {str(kind)[:40]!r}, which is not supported here")
    return HistoryMessage(role, "\n".join(texts), tuple(files))


def _file(kind: str, fields: Fields, where: str, number: int) -> Mapping[str, str]:
    if kind == "input_audio":
        sound = fields.text("format") or ""
        return _upload(f"sound-{number}.{sound}", _SOUNDS.get(sound, ""), fields.required_text("data"), where)
    url = fields.text("url" if kind == "image_url" else "file_data") or ""
    found = _DATA_URL.fullmatch(url)
    if found is None:
        why = "is not fetched from an address" if url.startswith(("http:", "https:")) else "must be sent in the request"
        raise unusable(where, f"contains a file that {why}: send it as `data:image/png;base64,…`")
    ending = found["kind"].partition("/")[2].partition("+")[0]
    name = fields.text("filename") or f"{'image' if kind == 'image_url' else 'file'}-{number}.{ending}"
    return _upload(name, found["kind"], found["data"], where)


def _upload(name: str, kind: str, data: str, where: str) -> Mapping[str, str]:
    if not kind:
        raise unusable(where, f"contains a sound whose format is none of {', '.join(_SOUNDS)}")
    return {"filename": name, "contentType": kind, "data": data}


def _flag(fields: Fields, name: str) -> bool:
    value: Any = fields.raw(name)
    if value is not None and not isinstance(value, bool):
        raise unusable(name, "must be true or false")
    return bool(value)
