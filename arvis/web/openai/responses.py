"""Requests of the Responses API. They are converted to chat completion requests, so that both APIs have the same rules.

`previous_response_id` continues the conversation of an earlier response without its history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Unprocessable
from arvis.domain.regex import regex
from arvis.web.http.requests import Fields, unusable
from arvis.web.http.schema import (
    ANYTHING,
    BOOLEAN,
    INTEGER,
    LABEL,
    STRING,
    Schema,
    array,
    object_schema,
    one_of,
    optional,
)

_PREVIOUS = regex(r"resp_([0-9A-HJKMNP-TV-Z]{26})")
#: The names of parameters in chat completions, by their names in the Responses API.
_RENAMED = {"max_output_tokens": "max_completion_tokens"}
#: The parameters that this module converts.
_CONVERTED = frozenset({"input", "instructions", "text", "reasoning", "previous_response_id", "include", "truncation"})
#: The names of parameters that errors contain, by the names in chat completions.
_IN_ERRORS = {
    "messages": "input",
    "max_completion_tokens": "max_output_tokens",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
    "verbosity": "text.verbosity",
}
#: The same for the fields of a tool result: the paths that errors contain, by the paths in chat completions.
_IN_OUTPUTS = {".tool_call_id": ".call_id", ".content": ".output"}
#: The field that an error is about: its name, an index, and the path inside the field.
_NAMED_FIELD = regex(r"`(\w+)(?:\[(\d+)\])?([\w.\[\]]*)`")

_OPEN: Mapping[str, Any] = {"additionalProperties": True}
REQUEST: Schema = {
    **object_schema(
        {
            "model": {**LABEL, "description": "The slug of an agent."},
            "input": {**ANYTHING, "description": "A text, or a list of messages, calls and results of tools."},
            "instructions": optional(STRING),
            "previous_response_id": optional({**STRING, "description": "Continues the conversation of this response."}),
            "stream": BOOLEAN,
        },
        required=("model", "input"),
    ),
    **_OPEN,
}
_USAGE = object_schema(
    {
        "input_tokens": INTEGER,
        "input_tokens_details": object_schema({"cached_tokens": INTEGER}),
        "output_tokens": INTEGER,
        "output_tokens_details": object_schema({"reasoning_tokens": INTEGER}),
        "total_tokens": INTEGER,
    }
)
RESPONSE: Schema = {
    **object_schema(
        {
            "id": STRING,
            "object": one_of(["response"]),
            "created_at": INTEGER,
            "model": STRING,
            "status": one_of(["completed", "incomplete"]),
            "output": array({"type": "object", **_OPEN}),
            "usage": _USAGE,
        }
    ),
    **_OPEN,
    "description": "With `stream`: server-sent events, ended by `response.completed` or `response.failed`.",
}


@dataclass(frozen=True, slots=True)
class ConvertedRequest:
    """A request of the Responses API as a chat completion request."""

    fields: Fields
    #: The position of each message in the request of the client, such as `input[2]`.
    places: Sequence[str]

    def renamed(self, error: Unprocessable) -> Unprocessable:
        """Return the error with the name that its field has in the request of the client."""
        found = _NAMED_FIELD.match(error.what)
        if found is None:
            return error
        text = f"`{self._own_name(*found.groups())}`{error.what[found.end() :]}"
        return Unprocessable(text, why=error.why, fix=error.fix, code=error.code)

    def _own_name(self, name: str, index: str | None, part: str) -> str:
        if name == "messages" and index is not None:
            is_output = "tool_call_id" in self.fields.raw(name)[int(index)]
            return self.places[int(index)] + (_IN_OUTPUTS.get(part, part) if is_output else part)
        number = "" if index is None else f"[{index}]"
        # In the Responses API, the fields of a function are fields of the tool.
        return f"{_IN_ERRORS.get(name, name)}{number}{part.removeprefix('.function') if name == 'tools' else part}"


def converted(fields: Fields) -> ConvertedRequest:
    """Return the chat completion request for a request of the Responses API. Raise `Unprocessable` with the name of a
    field that cannot be used."""
    values = {_RENAMED.get(name, name): fields.raw(name) for name in fields.names if name not in _CONVERTED}
    for name in ("background", "conversation", "prompt", "max_tool_calls", "context_management"):
        if fields.raw(name):
            raise unusable(name, "is not supported")
        values.pop(name, None)
    if any(each != "reasoning.encrypted_content" for each in fields.texts("include") or ()):
        raise unusable("include", "is not supported: a response has no further parts")
    if fields.raw("truncation") not in (None, "auto", "disabled"):
        raise unusable("truncation", "must be `auto` or `disabled`")
    text, reasoning = Fields(fields.mapping("text") or {}), Fields(fields.mapping("reasoning") or {})
    placed = [*_instructions(fields), *_messages(fields.raw("input"))]
    values |= {
        "messages": [message for _, message in placed],
        "response_format": text.raw("format"),
        "verbosity": text.raw("verbosity"),
        "reasoning_effort": reasoning.raw("effort"),
    }
    known = Fields({name: value for name, value in values.items() if value is not None})
    return ConvertedRequest(known, [place for place, _ in placed])


def previous_response(fields: Fields) -> str | None:
    """Return the id of the message of the response that this request continues, or None if the request names no
    response."""
    written = fields.text("previous_response_id")
    if not written:
        return None
    found = _PREVIOUS.fullmatch(written)
    if found is None:
        raise unusable("previous_response_id", "must be the id of a response of this server")
    return found[1]


def repeated_settings(fields: Fields) -> dict[str, Any]:
    """Return the settings of a request that its response repeats."""
    return {
        "instructions": fields.raw("instructions"),
        "max_output_tokens": fields.raw("max_output_tokens"),
        "metadata": fields.raw("metadata") or {},
        "parallel_tool_calls": fields.raw("parallel_tool_calls") is not False,
        "previous_response_id": fields.raw("previous_response_id"),
        "reasoning": fields.raw("reasoning") or {"effort": None, "summary": None},
        "store": True,
        "temperature": fields.raw("temperature"),
        "text": fields.raw("text") or {"format": {"type": "text"}},
        "tool_choice": fields.raw("tool_choice") or "auto",
        "tools": fields.raw("tools") or [],
        "top_p": fields.raw("top_p"),
        "truncation": fields.raw("truncation") or "disabled",
    }


#: A pair: the position in the request of the client, and the message of a chat completion made from this position.
_Placed = tuple[str, dict[str, Any]]


def _instructions(fields: Fields) -> Iterator[_Placed]:
    if text := fields.text("instructions"):
        yield "instructions", {"role": "system", "content": text}


def _messages(given: Any) -> Sequence[_Placed]:
    """Return the input as messages of a chat completion. Neighbouring texts and calls of the agent become one message,
    because the model wrote them in one reply."""
    if isinstance(given, str):
        return [("input", {"role": "user", "content": given})]
    if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
        raise unusable("input", "must be a text or a list of items")
    messages: list[_Placed] = []
    for index, item in enumerate(given):
        place = f"input[{index}]"
        match item.get("type", "message"):
            case "message":
                content = _content(item.get("content"), f"{place}.content")
                messages.append((place, {"role": item.get("role"), "content": content}))
            case "function_call":
                call = {
                    "id": item.get("call_id"),
                    "type": "function",
                    "function": {"name": item.get("name"), "arguments": item.get("arguments")},
                }
                if not messages or messages[-1][1]["role"] != "assistant":
                    messages.append((place, {"role": "assistant", "content": None}))
                messages[-1][1].setdefault("tool_calls", []).append(call)
            case "function_call_output":
                content = _content(item.get("output"), f"{place}.output")
                messages.append((place, {"role": "tool", "tool_call_id": item.get("call_id"), "content": content}))
            case "reasoning":
                continue
            case kind:
                raise unusable(f"{place}.type", f"is {str(kind)[:40]!r}, which is not supported here")
    return messages


def _content(content: Any, place: str) -> Any:
    """Return the content of a message or of a result with the parts of chat completions."""
    if not isinstance(content, list):
        return content
    return [_part(part, place) for part in content]


def _part(part: Any, place: str) -> Mapping[str, Any]:
    match part:
        case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "refusal", "refusal": str(text)}:
            return {"type": "refusal", "refusal": text}
        case {"type": "input_image", "image_url": str(url)}:
            return {"type": "image_url", "image_url": {"url": url}}
        case {"type": "input_file", "file_data": str(data)}:
            return {"type": "file", "file": {"filename": part.get("filename"), "file_data": data}}
        case {"type": "input_audio", "input_audio": dict(sound)}:
            return {"type": "input_audio", "input_audio": sound}
    raise unusable(place, "contains a part that is not supported here")
