"""Parses a chat completion request: the agent, the conversation, the question and the history.

Every parameter is honoured or refused by name (`parameters`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arvis.domain.text import BEFORE, NOW
from arvis.web.http.requests import Fields, unusable
from arvis.web.openai.history import SYSTEM_ROLES, HistoryMessage, history_text
from arvis.web.openai.parameters import Parameters, parameters_of

_DATA_URL = re.compile(r"data:(?P<kind>[\w.+-]+/[\w.+-]+)(?:;[\w.+-]+=[\w.+-]+)*;base64,(?P<data>.*)", re.DOTALL)
_SOUNDS = {"wav": "audio/wav", "mp3": "audio/mpeg", "ogg": "audio/ogg", "flac": "audio/flac"}
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_USER = "user"
#: Fields of a message, besides its content, that belong to the conversation.
_OTHER_FIELDS = ("name", "tool_calls", "function_call", "tool_call_id")


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A chat completion request. `conversation` is its `user`. `usage`: the stream ends with its token usage."""

    model: str
    conversation: str | None
    question: HistoryMessage
    before: tuple[HistoryMessage, ...]
    stream: bool
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
        left = most_bytes - len(question.encode()) - len(BEFORE) - len(NOW) - 100
        return "\n".join([BEFORE, history_text(history, left), "", NOW, question])


def parse_request(fields: Fields) -> ParsedRequest:
    """Parse a request. Raises `Unprocessable` with the field that cannot be used."""
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
            "must end with a message of the role `user`, which is the question; a prefilled answer and tool results are not supported",
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
    """Return the fields as JSON in a fixed order. Clients send back many fields of an answer that are empty."""
    found = {name: value for name in _OTHER_FIELDS if (value := message.raw(name))}
    return json.dumps(found, ensure_ascii=False, sort_keys=True) if found else ""


def _of_parts(role: str, parts: Sequence[Fields], where: str) -> HistoryMessage:
    """Return the text and files of a message's parts. Files of the question are kept; in the history a mark replaces
    them."""
    texts: list[str] = []
    files: list[Mapping[str, str]] = []
    for part in parts:
        match part.text("type"):
            case "text" | "refusal" as kind:
                texts.append(part.text(kind) or "")
            case "image_url" | "input_audio" | "file" as kind if role == _USER:
                files.append(_file(kind, Fields(part.mapping(kind) or {}), where, len(files) + 1))
            case kind:
                raise unusable(where, f"holds a part of the type {str(kind)[:40]!r}, which cannot be used here")
    return HistoryMessage(role, "\n".join(texts), tuple(files))


def _file(kind: str, fields: Fields, where: str, number: int) -> Mapping[str, str]:
    if kind == "input_audio":
        sound = fields.text("format") or ""
        return _upload(f"sound-{number}.{sound}", _SOUNDS.get(sound, ""), fields.required_text("data"), where)
    url = fields.text("url" if kind == "image_url" else "file_data") or ""
    found = _DATA_URL.fullmatch(url)
    if found is None:
        why = "is not fetched from an address" if url.startswith(("http:", "https:")) else "must be sent in the request"
        raise unusable(where, f"holds a file that {why}: send it as `data:image/png;base64,…`")
    ending = found["kind"].partition("/")[2].partition("+")[0]
    name = fields.text("filename") or f"{'image' if kind == 'image_url' else 'file'}-{number}.{ending}"
    return _upload(name, found["kind"], found["data"], where)


def _upload(name: str, kind: str, data: str, where: str) -> Mapping[str, str]:
    if not kind:
        raise unusable(where, f"holds a sound that is none of {', '.join(_SOUNDS)}")
    return {"filename": name, "contentType": kind, "data": data}


def _flag(fields: Fields, name: str) -> bool:
    value: Any = fields.raw(name)
    if value is not None and not isinstance(value, bool):
        raise unusable(name, "must be true or false")
    return bool(value)
