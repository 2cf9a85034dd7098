"""The parameters of a chat completion besides its messages. Each is honoured or refused by name; none is ignored.

Model parameters go to the model (`wishes` of the message). A parameter that an agent cannot honour is answered with
400.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arvis.web.http.requests import Fields, unusable

_MOST_STOPS = 4
_LONGEST_STOP = 200
_MOST_TOKENS = 1_000_000
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
#: Parameters that are read elsewhere, or that do not affect a single answer of one agent: notes of the client,
#: billing at a vendor, and the mode of tool calls without tools.
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
#: Parameters that are refused unless their value equals the existing behaviour, with the reason.
_REFUSED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "tools": (lambda value: not value, "is not supported: an agent has its own tools"),
    "functions": (lambda value: not value, "is not supported: an agent has its own tools"),
    "tool_choice": (
        lambda value: value in ("none", "auto"),
        "must be `auto` or `none`: the agent decides about its own tools",
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
        "is not supported: state the wanted length in the question",
    ),
    "service_tier": (lambda value: value in ("auto", "default"), "must be `auto` or `default`"),
    "response_format": (
        lambda value: isinstance(value, dict) and value.get("type", "text") == "text",
        "must be `text`: an agent answers in its own words",
    ),
}


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of a request. `wishes` go to the model: `max_tokens`, and under `sampling` the model parameters by
    their OpenAI names. The answer ends before the first of `stops`."""

    stops: tuple[str, ...] = ()
    wishes: Mapping[str, Any] = field(default_factory=dict)


def parameters_of(fields: Fields, names: Sequence[str]) -> Parameters:
    """Parse the parameters. `names` are all fields of the request. Raises `Unprocessable` for one that cannot be
    honoured."""
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
    """Return the text before the first stop sequence, and whether there was one."""
    found = min((at for stop in stops if (at := text.find(stop)) >= 0), default=-1)
    return (text, False) if found < 0 else (text[:found], True)


def certain(text: str, stops: Sequence[str]) -> str:
    """Return the part of a growing text that certainly belongs to the answer: without an end that may begin a stop
    sequence."""
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
