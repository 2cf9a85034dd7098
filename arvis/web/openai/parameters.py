"""The parameters of requests besides the messages. Parameters for the model become `wishes` of the message.

A parameter that an agent cannot apply is refused with status 400 and an error that names the parameter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.effort import EFFORTS
from arvis.domain.regex import regex
from arvis.domain.reply_format import ReplyFormat, UnusableSchema, check_schema
from arvis.web.http.requests import Fields, unusable

_MOST_STOPS = 4
_LONGEST_STOP = 200
_MOST_TOKENS = 1_000_000
#: Parameters that are accepted without a check here. Other functions read some of these parameters. The remaining ones
#: do not change an agent's answer: notes of the client, settings for the vendor's storage and billing, and the
#: permission for parallel tool calls.
_HEEDED = frozenset(
    {
        "model", "messages", "user", "stream", "stream_options", "metadata", "store", "safety_identifier", "prompt_cache_key",
        "prompt_cache_retention", "prediction", "parallel_tool_calls", "max_tokens", "max_completion_tokens", "stop",
    }
)  # fmt: skip
#: Parameters that `parameters_of` reads by name.
_PARSED = frozenset({"seed", "reasoning_effort", "response_format", "tools"})
_RANGES: Mapping[str, tuple[float, float]] = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "frequency_penalty": (-2, 2),
    "presence_penalty": (-2, 2),
}
#: Parameters that Arvis does not support. A value is accepted only if it requests the behaviour that Arvis has anyway.
#: Each parameter has a function that accepts such a value, and an error text for all other values.
_REFUSED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "functions": (lambda value: not value, "is not supported: send the tools as `tools`"),
    "tool_choice": (
        lambda value: value in ("none", "auto"),
        "must be `auto` or `none`: the agent itself chooses the tools that it calls",
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
}


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a request."""

    #: The stop sequences. The answer ends before the first stop sequence that occurs in it.
    stops: tuple[str, ...] = ()
    #: The parameters for the model (`IncomingMessage.wishes`).
    wishes: Mapping[str, Any] = field(default_factory=dict)


def parameters_of(fields: Fields, names: Sequence[str]) -> Parameters:
    """Parse the parameters. `names` are the names of all fields of the request. Raise `Unprocessable` for a parameter
    that cannot be applied."""
    for name in names:
        value = fields.raw(name)
        if value is None or name in _HEEDED or name in _RANGES or name in _PARSED:
            continue
        says_so, why = _REFUSED.get(name, (lambda value: not value, "is not supported"))
        if not says_so(value):
            raise unusable(name[:100], why)
    sampling: dict[str, Any] = {name: value for name in _RANGES if (value := _number(fields, name)) is not None}
    if (seed := fields.raw("seed")) is not None:
        if not isinstance(seed, int) or isinstance(seed, bool) or abs(seed) >= 2**63:
            raise unusable("seed", "must be a whole number")
        sampling["seed"] = seed
    if (effort := fields.text("reasoning_effort")) is not None and effort not in EFFORTS:
        raise unusable("reasoning_effort", f"must be one of {', '.join(EFFORTS)}")
    wanted = reply_format(fields.raw("response_format"))
    wishes = {
        "sampling": sampling or None,
        "max_tokens": _tokens(fields),
        "effort": effort,
        "format": None if wanted is None else wanted.to_json(),
        **_tools(fields),
    }
    return Parameters(_stops(fields), {name: value for name, value in wishes.items() if value is not None})


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


_NAME = regex(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


def reply_format(written: Any, where: str = "response_format") -> ReplyFormat | None:
    """Return the format of the reply; None for text. `written` is the parameter of the chat completions, or the field
    `text.format` of the Responses API, which contains the schema itself instead of an object `json_schema`."""
    if written is None:
        return None
    if not isinstance(written, dict):
        raise unusable(where, "must be an object with a `type`")
    kind = written.get("type", "text")
    if kind == "text":
        return None
    if kind == "json_object":
        return ReplyFormat()
    if kind != "json_schema":
        raise unusable(f"{where}.type", "must be `text`, `json_object` or `json_schema`")
    given = written.get("json_schema", written)
    place = f"{where}.json_schema" if "json_schema" in written else where
    if not isinstance(given, dict) or not isinstance(schema := given.get("schema"), dict):
        raise unusable(f"{place}.schema", "must be a JSON Schema")
    try:
        check_schema(schema)
    except UnusableSchema as wrong:
        raise unusable(f"{place}.schema", str(wrong)) from None
    name = given.get("name", "reply")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise unusable(f"{place}.name", "must be 1 to 64 letters, digits, - and _")
    return ReplyFormat(schema, name, given.get("strict") is True)


#: The maximum number of a client's tools, and the maximum size of their descriptions in bytes. They are limited because
#: the state of the turn contains them.
_MOST_TOOLS = 128
_MOST_TOOL_BYTES = 65_536
_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}


def _tools(fields: Fields) -> dict[str, Any]:
    """Return the client's tools, which the agent gets in addition to its own tools. If `tool_choice` is `none`, return
    no tools."""
    written = fields.raw("tools")
    if not written:
        return {}
    if not isinstance(written, list) or len(written) > _MOST_TOOLS:
        raise unusable("tools", f"must be a list of at most {_MOST_TOOLS} tools")
    tools = [_tool(each, f"tools[{index}]") for index, each in enumerate(written)]
    if len({tool["name"] for tool in tools}) < len(tools):
        raise unusable("tools", "must have different names")
    if len(json.dumps(tools).encode()) > _MOST_TOOL_BYTES:
        raise unusable("tools", f"must have at most {_MOST_TOOL_BYTES} bytes in total")
    if fields.raw("tool_choice") == "none":
        return {}
    return {"tools": tools, **({"one_call": True} if fields.raw("parallel_tool_calls") is False else {})}


def _tool(written: Any, where: str) -> dict[str, Any]:
    """Return a tool. Chat completions describe it in the field `function`; the Responses API describes it without this
    field."""
    if not isinstance(written, dict) or written.get("type") != "function":
        raise unusable(f"{where}.type", "must be `function`")
    given = written.get("function", written)
    if not isinstance(given, dict) or not isinstance(name := given.get("name"), str) or not _NAME.fullmatch(name):
        raise unusable(f"{where}.function.name", "must be 1 to 64 letters, digits, - and _")
    description, schema = given.get("description") or "", given.get("parameters") or _NO_ARGUMENTS
    if not isinstance(description, str):
        raise unusable(f"{where}.function.description", "must be a text")
    if not isinstance(schema, dict):
        raise unusable(f"{where}.function.parameters", "must be a JSON Schema")
    try:
        check_schema(schema)
    except UnusableSchema as wrong:
        raise unusable(f"{where}.function.parameters", str(wrong)) from None
    return {"name": name, "description": description, "parameters": schema}


def flag(fields: Fields, name: str) -> bool:
    """Return a parameter that is true or false; false if it is missing."""
    value: Any = fields.raw(name)
    if value is not None and not isinstance(value, bool):
        raise unusable(name, "must be true or false")
    return bool(value)
