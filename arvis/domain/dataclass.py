"""`dataclass` and `replace` of the standard library, with less work at run time.

The stub `dataclass.pyi` shows the decorator of the standard library to the type checker. So the type checker reports
each change of a frozen object. At run time such a change raises no error, because the check would make the creation of
an object four times slower. The standard library would also generate methods for comparison, hash and text. Generating
them and the check would take a fifth of the CPU time of the daemon's start. `replace` copies the fields without a call
of `__init__`, which needs a fifth of the time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any


def dataclass(
    cls: type[Any] | None = None,
    /,
    *,
    eq: bool = True,
    frozen: bool = False,
    order: bool = False,
    repr: bool = True,  # noqa: A002 - the name of the standard library
    **options: bool,
) -> Any:
    def decorated(cls: type[Any]) -> Any:
        own = vars(cls)
        made: Any = dataclasses.dataclass(cls, eq=order, order=order, repr=False, **options)
        if repr and "__repr__" not in own:
            made.__repr__ = _text_of
        if eq and "__eq__" not in own:
            made.__eq__ = _comparison([field.name for field in dataclasses.fields(made) if field.compare])
        # In a class that defines only `__eq__`, Python sets `__hash__` to None.
        if eq and own.get("__hash__") is None:
            made.__hash__ = _hash_function(made) if frozen else None
        return made

    return decorated if cls is None else decorated(cls)


def replace(obj: Any, /, **changes: Any) -> Any:
    """Return a copy of a dataclass object with these changes."""
    cls = obj.__class__
    copy = _copies.get(cls)
    if copy is None:
        copy = _copies[cls] = _copy_function(cls)
    if copy is dataclasses.replace:
        return dataclasses.replace(obj, **changes)
    new = copy(obj)
    for name, value in changes.items():
        setattr(new, name, value)
    return new


#: A function for each class that copies its objects.
_copies: dict[type[Any], Callable[..., Any]] = {}


def _copy_function(cls: type[Any]) -> Callable[..., Any]:
    """Return a function that copies the fields of an object. For a class that computes values when an object is
    created, return `dataclasses.replace`."""
    if hasattr(cls, "__post_init__"):
        return dataclasses.replace
    lines = [f"    new.{field.name} = obj.{field.name}" for field in dataclasses.fields(cls)]
    code = "\n".join(["def copy(obj, new=new, cls=cls):", "    new = new(cls)", *lines, "    return new"])
    made: dict[str, Any] = {"new": object.__new__, "cls": cls}
    exec(code, made)  # noqa: S102 - it contains only names of fields
    function: Callable[..., Any] = made["copy"]
    return function


def _comparison(names: Sequence[str]) -> Callable[[Any, object], bool]:
    values = _values_of(names)

    def equals(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equals


def _hash_function(cls: type[Any]) -> Callable[[Any], int]:
    fields = dataclasses.fields(cls)
    values = _values_of([each.name for each in fields if (each.compare if each.hash is None else each.hash)])
    return lambda self: hash(values(self))


def _values_of(names: Sequence[str]) -> Callable[[Any], object]:
    """Return a function that returns the values of these attributes as one comparable value."""
    return attrgetter(*names) if names else lambda _: ()


@recursive_repr()
def _text_of(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"
