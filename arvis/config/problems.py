"""Turns the problems of a configuration into one `ConfigError` that names keys, lines and fixes."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from arvis.config.declarations import section_in
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ConfigError

KeyPath = tuple[str | int, ...]

_WANTED: Mapping[str, str] = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "must be a finite number",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must be lower-case letters, digits, - and _",
    "missing": "is missing",
}
_WANTED_KINDS: Mapping[str, str] = {
    "int": "must be a whole number",
    "float": "must be a number",
    "bool": "must be true or false",
    "string": "must be text (put it in quotes)",
    "tuple": "must be a list",
    "model": "must be a mapping of keys to values",
    "dict": "must be a mapping of keys to values",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of the configuration. `text` completes the sentence "`key` …"; `fix` is a separate sentence."""

    path: KeyPath
    text: str
    fix: str = ""


def dotted(path: KeyPath) -> str:
    """Return a path as people write it: `accounts[0].model` for `("accounts", 0, "model")`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def from_validation(errors: Iterable[ErrorDetails], root: type[BaseModel]) -> list[Problem]:
    return [_problem(error, root) for error in errors]


def _problem(error: ErrorDetails, root: type[BaseModel]) -> Problem:
    path, kind = error["loc"], error["type"]
    context: Mapping[str, Any] = error.get("ctx", {})
    if kind == "extra_forbidden":
        return Problem(path, "is not a known key", did_you_mean(path, _keys_beside(path, root)))
    if kind == "value_error":
        refused = context["error"]
        return Problem(path, str(refused), getattr(refused, "fix", ""))
    wanted = _WANTED.get(kind) or _WANTED_KINDS.get(kind.split("_")[0]) or error["msg"]
    fix = f"Add `{dotted(path)}`." if kind == "missing" else ""
    if kind in _WANTED:
        # The limits of a number with decimals are floats, such as 3600.0. Whole limits are shown without decimals.
        numbers = {name: int(each) for name, each in context.items() if isinstance(each, float) and each.is_integer()}
        wanted = wanted.format_map({**context, **numbers})
    return Problem(path, wanted, fix)


def did_you_mean(path: KeyPath, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(str(path[-1]), known, n=1)
    if close:
        return f"Did you mean `{dotted((*path[:-1], close[0]))}`?"
    return f"Remove it. The keys that are valid here are {', '.join(known)}." if known else "Remove it."


def _keys_beside(path: KeyPath, root: type[BaseModel]) -> list[str]:
    """Return the known keys of the section that contains the last part of `path`."""
    section: type[BaseModel] | None = root
    for part in path[:-1]:
        if isinstance(part, str) and section is not None and part in section.model_fields:
            section = section_in(section.model_fields[part].annotation)
    return list(section.model_fields) if section is not None else []


def complaint(problems: Sequence[Problem], place: Callable[[KeyPath], str]) -> ConfigError:
    """Return one error that lists all problems. `place` returns the position of a key as text."""
    if len(problems) == 1:
        problem = problems[0]
        where = place(problem.path)
        return ConfigError(
            f"The configuration cannot be used: `{dotted(problem.path)}` {problem.text}",
            why=f"`{dotted(problem.path)}` is set in {where}." if where else "",
            fix=problem.fix or f"Change `{dotted(problem.path)}` in {where}.",
        )
    lines = "\n".join(f"- {_line(problem, place(problem.path))}" for problem in problems)
    return ConfigError(
        f"The configuration cannot be used: it has {len(problems)} problems",
        why=lines,
        fix="Change each of these keys.",
    )


def _line(problem: Problem, where: str) -> str:
    text = f"`{dotted(problem.path)}` ({where}) {problem.text}"
    return f"{text}. {problem.fix}" if problem.fix else text
