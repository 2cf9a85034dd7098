"""Typed states: one dataclass per graph over the JSON that is stored with an execution.

A field is one stored key. `State.from_json` reads a state; `changes(MyState, field=value)` makes the changes of a decision, and
holds the named fields only, because the history stores the changes of every step.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import field, fields
from functools import cache
from typing import Any, ParamSpec, Self, TypeVar, cast

P = ParamSpec("P")
S = TypeVar("S")

#: Name of a field, its stored key, and the functions that read and write its JSON.
_Field = tuple[str, str, Callable[[Any], Any] | None, Callable[[Any], Any] | None]


def stored(
    default: Any = None,
    *,
    key: str = "",
    read: Callable[[Any], Any] | None = None,
    write: Callable[[Any], Any] | None = None,
) -> Any:
    """Declare a field. `key` is the stored key (default: the name of the field); `read` and `write` convert its JSON, except
    null, which reads as the default."""
    return field(default=default, metadata={"key": key, "read": read, "write": write})


def whole(read: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Declare a field that reads several keys of the state. It writes its changes itself."""
    return field(metadata={"whole": read})


class State:
    """The base of the states. Every field has a default, so that states of earlier versions can be read."""

    __slots__ = ()

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Self:
        values: dict[str, Any] = {}
        single, several = _plan(cast(Any, cls))
        for name, key, read, _ in single:
            if (value := state.get(key)) is not None:
                values[name] = value if read is None else read(value)
        for name, read_all in several:
            values[name] = read_all(state)
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        """Return the whole state as it is stored, without the fields that have their default."""
        single, _ = _plan(cast(Any, type(self)))
        defaults = type(self).from_json({})
        set_ = {name: getattr(self, name) for name, *_ in single if getattr(self, name) != getattr(defaults, name)}
        return to_changes(type(self), set_)


def changes(cls: Callable[P, S], *_: P.args, **values: P.kwargs) -> dict[str, Any]:
    """Return these fields of a state as they are stored: `changes(AgentState, cycle=2)`."""
    return to_changes(cls, values)


def to_changes(cls: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    keys = _writers(cls)
    found: dict[str, Any] = {}
    for name, value in values.items():
        key, write = keys[name]
        found[key] = value if write is None or value is None else write(value)
    return found


@cache
def _plan(cls: Hashable) -> tuple[tuple[_Field, ...], tuple[tuple[str, Callable[[Mapping[str, Any]], Any]], ...]]:
    single: list[_Field] = []
    several = []
    for each in fields(cast(Any, cls)):
        if "whole" in each.metadata:
            several.append((each.name, each.metadata["whole"]))
        else:
            data = each.metadata
            single.append((each.name, data.get("key") or each.name, data.get("read"), data.get("write")))
    return tuple(single), tuple(several)


@cache
def _writers(cls: Hashable) -> dict[str, tuple[str, Callable[[Any], Any] | None]]:
    return {name: (key, write) for name, key, _, write in _plan(cls)[0]}
