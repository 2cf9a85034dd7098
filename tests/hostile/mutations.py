"""Good answers in which one value, chosen by the seed of the campaign, has a wrong type."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from functools import partial
from random import Random
from typing import Any

from tests.hostile.case import Case
from tests.hostile.formats import Document, Format
from tests.hostile.wire import Wire

NUMBER = 24

_WRONG: tuple[Any, ...] = (
    None,
    5,
    -1,
    10**25,
    0.5,
    "",
    "odd",
    [],
    [[]],
    [None],
    {},
    {"a": {}},
    True,
    "\ud800\0",
    [{}] * 50,
)

Path = tuple[Any, ...]


def spoiled(format_: Format, rng: Random) -> list[Document]:
    """Return the documents of an answer with text and a call, with one value replaced or removed."""
    documents = copy.deepcopy(
        [
            *format_.begin,
            format_.text("Hello"),
            *format_.call(0, "a", "calculate", {"expression": "1 + 1"}),
            *format_.end(format_.tool_reason, (7, 5)),
        ]
    )
    *above, last = rng.choice(list(places(documents)))
    place: Any = documents
    for step in above:
        place = place[step]
    if rng.random() < 0.15 and len(above) > 0:
        del place[last]
    else:
        place[last] = rng.choice(_WRONG)
    return documents


def places(value: Any, above: Path = ()) -> Iterator[Path]:
    """Yield the path to every value inside."""
    steps = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for step, inside in steps:
        yield (*above, step)
        yield from places(inside, (*above, step))


async def _spoil(wire: Wire, number: int) -> None:
    rng = Random(f"{wire.rng.random()} {number}")
    await wire.stream([*wire.format.framed(*spoiled(wire.format, rng)), *wire.format.marks])


CASES: Mapping[str, Case] = {f"mutation-{number}": Case(partial(_spoil, number=number)) for number in range(NUMBER)}
