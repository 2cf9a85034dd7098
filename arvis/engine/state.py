"""Typed states: each graph has a dataclass that reads and writes the JSON state of an execution.

A field is one stored key. `State.from_json` reads a state; `changes(MyState, field=value)` returns the changes of a
decision. They contain only the named fields, because the history stores the changes of every step.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import field, fields
from functools import cache
from typing import Any, ParamSpec, Self, TypeVar, cast

P = ParamSpec("P")
S = TypeVar("S")


def stored(
    default: Any = None,
    *,
    key: str = "",
    read: Callable[[Any], Any] | None = None,
    write: Callable[[Any], Any] | None = None,
) -> Any:
    """Declare a field. `key` is the stored key (default: the name of the field). `read` converts the stored JSON to the
    field's value, and `write` converts back. A stored null is not converted: the field then has its default."""
    metadata = {"key": key, "read": read, "write": write}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def whole(read: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Declare a field that is read from several keys of the state. `changes` cannot write it."""
    return field(default=read({}), metadata={"whole": read})


class State:
    """The base class of the states. Every field has a default, so that states of earlier versions can be read."""

    __slots__ = ()

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Self:
        """Return the typed state. The state of an execution is replaced and never changed, so the result for a mapping
        is cached. The result may be an object of a subclass that was read from this mapping before."""
        place = id(state) // 16 % _KEPT
        for kept in _kept(cast(Any, cls)):
            known = kept[place]
            if known is not None and known[0] is state:
                read: Self = known[1]
                return read
        read = cls._read(state)
        _kept(cast(Any, cls))[0][place] = state, read
        return read

    @classmethod
    def _read(cls, state: Mapping[str, Any]) -> Self:
        keys, several = _readers(cast(Any, cls))
        values: dict[str, Any] = {}
        for key, value in state.items():
            if value is not None and (known := keys.get(key)) is not None:
                name, read = known
                values[name] = value if read is None else read(value)
        for name, read_all in several:
            values[name] = read_all(state)
        return cls(**values)


def changes(cls: Callable[P, S], *_: P.args, **values: P.kwargs) -> dict[str, Any]:
    """Return these fields of a state in their stored form, for example `changes(AgentState, cycle=2)`."""
    return to_changes(cls, values)


def to_changes(cls: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    keys = _writers(cls)
    found: dict[str, Any] = {}
    for name, value in values.items():
        key, write = keys[name]
        found[key] = value if write is None or value is None else write(value)
    return found


_Read = Callable[[Any], Any] | None

#: The number of typed states of a class that are cached.
_KEPT = 64

_Kept = list[tuple[Mapping[str, Any], Any] | None]


@cache
def _kept(cls: Hashable) -> tuple[_Kept, ...]:
    """Return the cached states of a class, and then the cached states of its subclasses."""
    # `dataclass(slots=True)` replaces a class by a new class with the same name, so a name may be listed twice. The
    # last class with the name counts.
    below = {subclass.__qualname__: subclass for subclass in cast(Any, cls).__subclasses__()}
    return ([None] * _KEPT, *(each for subclass in below.values() for each in _kept(subclass)))


@cache
def _readers(
    cls: Hashable,
) -> tuple[dict[str, tuple[str, _Read]], tuple[tuple[str, Callable[[Mapping[str, Any]], Any]], ...]]:
    """Return the field name and reader for each stored key, and the fields that read several keys."""
    keys: dict[str, tuple[str, _Read]] = {}
    several = []
    for each in fields(cast(Any, cls)):
        if "whole" in each.metadata:
            several.append((each.name, each.metadata["whole"]))
        else:
            keys[each.metadata.get("key") or each.name] = (each.name, each.metadata.get("read"))
    return keys, tuple(several)


@cache
def _writers(cls: Hashable) -> dict[str, tuple[str, Callable[[Any], Any] | None]]:
    """Return the stored key and the writer of each field."""
    single = [each for each in fields(cast(Any, cls)) if "whole" not in each.metadata]
    return {each.name: (each.metadata.get("key") or each.name, each.metadata.get("write")) for each in single}
