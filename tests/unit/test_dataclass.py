"""The dataclasses of Arvis behave like those of the standard library, except that nothing refuses a change."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass as standard
from dataclasses import field
from typing import Any

import pytest

from arvis.domain.dataclass import dataclass as ours


def classes(dataclass: Any) -> dict[str, type[Any]]:
    """Return classes that use the options and the exceptions of a dataclass."""

    @dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 0
        label: str = field(default="", compare=False)
        secret: str = field(default="", repr=False, hash=False)

    @dataclass(slots=True)
    class Open:
        items: list[Any] = field(default_factory=list)

    @dataclass(frozen=True)
    class Named(Point):
        name: str = "n"

        def __repr__(self) -> str:
            return self.name

    @dataclass(frozen=True, slots=True)
    class Own:  # noqa: PLW1641 - the decorator adds it
        x: int

        def __eq__(self, other: object) -> bool:
            return True

    @dataclass(frozen=True, slots=True)
    class Hashed:
        x: int

        def __hash__(self) -> int:
            return 7

    @dataclass(slots=True, eq=False)
    class Alone:
        x: int

    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        x: int

    @dataclass(frozen=True, slots=True)
    class Empty:
        pass

    @dataclass
    class Bare:
        x: int

    named = (Point, Open, Named, Own, Hashed, Alone, Ordered, Empty, Bare, *others(dataclass, Point))
    return {each.__name__: each for each in named}


def others(dataclass: Any, point: Any) -> tuple[type[Any], ...]:
    @dataclass(frozen=True, slots=True)
    class Checked:
        x: int
        y: int = 2

        def __post_init__(self) -> None:
            if self.x == self.y:
                raise TypeError("equal")

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Keywords:
        x: int = 1

    @dataclass(frozen=True, slots=True)
    class Written:
        x: int

        def __init__(self, given: int) -> None:
            object.__setattr__(self, "x", given + 1)

    class Derived(point):  # type: ignore[misc]
        def __init__(self, x: int) -> None:
            super().__init__(x, y=x + 1)

    return Checked, Keywords, Written, Derived


ARGUMENTS: list[tuple[Any, ...]] = [(), (1,), (2,), (1, 5), (1, 5, "a"), (1, 5, "b", "s"), ([],)]


def hash_of(value: object) -> object:
    try:
        return "unequal" if hash(value) != hash(value) else hash(value) == object.__hash__(value)
    except TypeError:
        return "unhashable"


def behaviour(cls: type[Any]) -> list[Any]:
    """Return what a program can see of objects of this class."""
    made = []
    for arguments in ARGUMENTS:
        try:
            made.append(cls(*arguments))
        except TypeError as error:
            made.append(str(error).replace("Standard", ""))
    found: list[Any] = [repr(each) for each in made if "object at" not in repr(each)]
    found += [[one == other for other in made] for one in made]
    found += [hash_of(each) for each in made if not isinstance(each, str)]
    found += [hasattr(cls, "__slots__"), cls.__match_args__, [each.name for each in dataclasses.fields(cls)]]
    found += [dataclasses.asdict(each) for each in made if not isinstance(each, str)]
    return found


@pytest.mark.parametrize("name", classes(standard))
def test_a_class_behaves_like_one_of_the_standard_library(name: str) -> None:
    assert behaviour(classes(ours)[name]) == behaviour(classes(standard)[name])


def test_methods_are_generated_at_their_first_use() -> None:
    point = classes(ours)["Open"]
    assert not inspect.isfunction(vars(point)["__init__"])
    assert point([1]) == point([1])
    assert inspect.isfunction(vars(point)["__init__"])
    assert list(inspect.signature(point).parameters) == ["items"]


def test_a_class_of_the_standard_library_inherits_the_fields() -> None:
    @standard
    class More(classes(ours)["Point"]):  # type: ignore[misc]
        more: int = 4

    assert [each.name for each in dataclasses.fields(More)] == ["x", "y", "label", "secret", "more"]
    assert (More(1).y, More(1).more) == (0, 4)


def test_threads_may_use_a_class_first_at_the_same_time() -> None:
    for _ in range(20):
        point, start = classes(ours)["Point"], threading.Barrier(4)

        def make(number: int, point: Any = point, start: threading.Barrier = start) -> Any:
            start.wait()
            return point(number, 3), hash(point(number)), point(number) == point(number)

        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(make, range(4)))
        assert [(each[0].x, each[2]) for each in made] == [(0, True), (1, True), (2, True), (3, True)]


def test_equal_objects_have_equal_hashes() -> None:
    point = classes(ours)["Point"]
    assert len({point(1, 2, "a"), point(1, 2, "b"), point(1, 3)}) == 2
    assert hash(point(1, 2, secret="a")) == hash(point(1, 2, secret="b"))


def test_the_order_is_that_of_the_fields() -> None:
    ordered = classes(ours)["Ordered"]
    assert sorted([ordered(3), ordered(1)]) == [ordered(1), ordered(3)]


def test_a_changed_copy_leaves_the_original() -> None:
    point = classes(ours)["Point"]
    first = point(1, 2)
    assert (dataclasses.replace(first, y=3), first) == (point(1, 3), point(1, 2))
    assert copy.deepcopy(first) == first


@ours(frozen=True, slots=True)
class Sent:
    """A class that pickle can find by its name."""

    text: str


def test_objects_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Sent("a"))) == Sent("a")  # noqa: S301 - own data


def test_an_object_that_contains_itself_has_a_text() -> None:
    open_ = classes(ours)["Open"]([])
    open_.items.append(open_)
    assert repr(open_).endswith("Open(items=[...])")
