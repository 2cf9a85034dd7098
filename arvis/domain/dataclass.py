"""`dataclass` and `replace` of the standard library, with less work at run time.

The stub `dataclass.pyi` shows the decorator of the standard library to the type checker. So the type checker reports
each change of a frozen object. At run time such a change raises no error, because the check would make the creation of
an object four times slower. The standard library would also generate methods for comparison, hash and text. The
generation of these methods and of the check would take a fifth of the CPU time of the daemon's start. `replace` copies
the fields without a call of `__init__`, which is five times as fast.

The methods of a class are generated when a program first needs one of them, because an idle daemon uses only a third of
its 600 dataclasses. The standard library would generate all of them during the import.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any


def dataclass(
    cls: type[Any] | None = None,
    /,
    *,
    eq: bool = True,
    frozen: bool = False,
    repr: bool = True,  # noqa: A002 - the name of the standard library
    slots: bool = False,
    kw_only: bool = False,
    **options: bool,
) -> Any:
    def decorated(cls: type[Any]) -> Any:
        own = vars(cls)
        if slots and not options and _can_wait(cls):
            made = _deferred(cls, eq=eq, frozen=frozen, kw_only=kw_only)
        else:
            order = options.get("order", False)
            made = dataclasses.dataclass(cls, eq=order, repr=False, slots=slots, kw_only=kw_only, **options)
            if eq and "__eq__" not in own:
                made.__eq__ = _comparison([field.name for field in dataclasses.fields(made) if field.compare])
            # In a class that defines only `__eq__`, Python sets `__hash__` to None.
            if eq and own.get("__hash__") is None:
                made.__hash__ = _hash_function(made) if frozen else None
        if repr and "__repr__" not in own:
            made.__repr__ = _text_of
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


# -- comparison, hash and text -----------------------------------------------------------------------------------------


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


# -- classes whose methods are generated at their first use ------------------------------------------------------------

#: Annotations that do not declare an ordinary field.
_SPECIAL = ("ClassVar", "InitVar", "KW_ONLY")


def _can_wait(cls: type[Any]) -> bool:
    """Return whether each annotation of the class declares an ordinary field, and no base class has fields or slots."""
    notes = vars(cls).get("__annotations__", {}).values()
    if not all(isinstance(each, str) and not any(map(each.__contains__, _SPECIAL)) for each in notes):
        return False
    return not any("__dataclass_fields__" in vars(base) or vars(base).get("__slots__") for base in cls.__mro__[1:-1])


def _with_slots(cls: type[Any], names: Collection[str]) -> Any:
    inside = {name: value for name, value in vars(cls).items() if name not in {*names, "__dict__", "__weakref__"}}
    made = type(cls)(cls.__name__, cls.__bases__, {**inside, "__slots__": tuple(names)})
    made.__qualname__ = cls.__qualname__
    return made


def _deferred(cls: type[Any], *, eq: bool, frozen: bool, kw_only: bool) -> Any:
    """Return a dataclass with slots whose methods are generated when a program first reads one of them."""
    own = vars(cls)
    notes = own.get("__annotations__", {})
    made = _with_slots(cls, notes)
    missing = ["__dataclass_fields__", "__dataclass_params__"]
    missing += [name for name in ("__init__", "__match_args__", *(["__eq__"] if eq else [])) if name not in own]
    # In a class that defines only `__eq__`, Python sets `__hash__` to None.
    if eq and own.get("__hash__") is None:
        made.__hash__ = None
        missing += ["__hash__"] if frozen else []
    body = {name: own[name] for name in (*notes, "__post_init__") if name in own}
    waiting = _Waiting(made, body, kw_only=kw_only, missing=missing)
    for name in missing:
        setattr(made, name, _Attribute(waiting, name))
    return made


class _Waiting:
    """A class whose methods have not been generated yet. `body` contains the default values of its fields, and
    `missing` the names of the attributes to generate."""

    __slots__ = ("body", "cls", "kw_only", "missing")

    def __init__(self, cls: type[Any], body: Mapping[str, Any], *, kw_only: bool, missing: Sequence[str]) -> None:
        self.cls, self.body, self.kw_only, self.missing = cls, body, kw_only, missing

    def complete(self) -> None:
        """Generate the missing attributes. Two threads may call this method at the same time, because they set equal
        values."""
        cls = self.cls
        named = {
            "__module__": cls.__module__,
            "__qualname__": cls.__qualname__,
            # Without a docstring, the standard library would create one from the signature.
            "__doc__": cls.__doc__ or "-",
            "__annotations__": vars(cls).get("__annotations__", {}),
        }
        # The standard library reads default values from class attributes. In this class, these attributes are the
        # slots.
        model: Any = dataclasses.dataclass(
            type(cls.__name__, (), {**self.body, **named}), eq=False, repr=False, kw_only=self.kw_only
        )
        fields = dataclasses.fields(model)
        made = {
            "__eq__": lambda: _comparison([each.name for each in fields if each.compare]),
            "__hash__": lambda: _hash_function(model),
        }
        for name in self.missing:
            setattr(cls, name, made[name]() if name in made else getattr(model, name))


class _Attribute:
    """An attribute of a class whose methods have not been generated yet."""

    __slots__ = ("_name", "_waiting")

    def __init__(self, waiting: _Waiting, name: str) -> None:
        self._waiting, self._name = waiting, name

    def __get__(self, obj: object, cls: type[Any] | None = None) -> Any:
        self._waiting.complete()
        found = vars(self._waiting.cls)[self._name]
        return found.__get__(obj, cls) if hasattr(found, "__get__") else found
