"""Models that misuse tools. The agent has `calculate` and `get_time`."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from tests.hostile.case import Case
from tests.hostile.wire import Wire

_SUM = {"expression": "1 + 1"}

Call = tuple[Any, Any, Any]


async def _asks(wire: Wire, calls: tuple[Call, ...]) -> None:
    await wire.stream(wire.format.calling(*calls))


async def _endlessly(wire: Wire) -> None:
    """Ask for another calculation in each round."""
    await _asks(wire, (("call", "calculate", {"expression": f"1 + {wire.number}"}),))


async def _and_says(wire: Wire) -> None:
    """Send text between two calls."""
    asked = [
        *wire.format.call(0, "a", "calculate", _SUM),
        wire.format.text("Let me see."),
        *wire.format.call(1, "b", "x", _SUM),
    ]
    documents = [*wire.format.begin, *asked, *wire.format.end(wire.format.tool_reason, (1, 1))]
    await wire.stream([*wire.format.framed(*documents), *wire.format.marks])


async def _endless_arguments(wire: Wire) -> None:
    """Send a call with endless arguments, under one number and id."""
    piece = b"".join(wire.format.framed(*wire.format.call(0, "a", "calculate", "1" * 1_000)))
    await wire.begin_stream()
    while True:
        await wire.chunk(piece)


_DEEP: Any = json.loads("[" * 200 + "1" + "]" * 200)

_CALLS: Mapping[str, tuple[Call, ...]] = {
    "calls-same": (("call", "calculate", _SUM),),
    "calls-10000": tuple((f"c{n}", "calculate", {"expression": f"1 + {n}"}) for n in range(10_000)),
    "calls-64": tuple((f"c{n}", "calculate", {"expression": f"1 + {n}"}) for n in range(64)),
    "calls-same-id": (
        ("same", "calculate", _SUM),
        ("same", "get_time", {}),
        ("same", "calculate", {"expression": "2"}),
    ),
    "call-unknown": (("call", "format_disk", {"disk": "all"}),),
    "call-risky": (("call", "run_shell", {"command": "touch pwned"}),),
    "call-arguments-5mb": (("call", "calculate", {"expression": "1" * (5 << 20)}),),
    "call-arguments-200kb": (("call", "calculate", {"expression": "1+" * 100_000 + "1"}),),
    "call-arguments-list": (("call", "calculate", [1, 2]),),
    "call-arguments-text": (("call", "calculate", "not { an object"),),
    "call-arguments-null": (("call", "calculate", None),),
    "call-arguments-wrong": (("call", "calculate", {"expression": {"a": 1}, "more": 5}),),
    "call-arguments-deep": (("call", "calculate", {"expression": _DEEP}),),
    "call-arguments-nan": (("call", "calculate", {"expression": float("nan")}),),
    "call-arguments-surrogate": (("call", "calculate", {"expression": "\ud800\0"}),),
    "call-arguments-power": (("call", "calculate", {"expression": "9^9^9^9"}),),
    "call-arguments-brackets": (("call", "calculate", {"expression": "(" * 100_000}),),
    "call-zone-path": (("call", "get_time", {"zone": "../../../../etc/passwd"}),),
    "call-no-name": (("call", "", _SUM),),
    "call-name-null": (("call", None, _SUM),),
    "call-name-number": (("call", 5, _SUM),),
    "call-name-long": (("call", "calculate" * 100_000, _SUM),),
    "call-name-odd": (("call", "../calc\0ulate\ud800 <b>", _SUM),),
    "call-id-null": ((None, "calculate", _SUM),),
    "call-id-number": ((5, "calculate", _SUM),),
    "call-id-long": (("i" * 1_000_000, "calculate", _SUM),),
    "call-id-odd": (("a\0\ud800 b\n", "calculate", _SUM),),
}


async def _numbered(wire: Wire, number: Any) -> None:
    """Send a call with an unusual number, if the format numbers calls."""
    documents = copy.deepcopy([*wire.format.begin, *wire.format.call(0, "a", "calculate", _SUM)])
    for document in documents:
        _renumber(document, number)
    end = wire.format.framed(*wire.format.end(wire.format.tool_reason, (1, 1)))
    await wire.stream([*wire.format.framed(*documents), *end, *wire.format.marks])


def _renumber(value: Any, number: Any) -> None:
    for each in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        _renumber(each, number)
    for name in ("index", "output_index"):
        if isinstance(value, dict) and name in value:
            value[name] = number


CASES: Mapping[str, Case] = {
    **{name: Case(partial(_asks, calls=calls)) for name, calls in _CALLS.items()},
    "calls-endless": Case(_endlessly),
    "call-and-text": Case(_and_says),
    "call-arguments-endless": Case(_endless_arguments),
    "call-number-negative": Case(partial(_numbered, number=-1)),
    "call-number-huge": Case(partial(_numbered, number=10**30)),
    "call-number-text": Case(partial(_numbered, number="0")),
    "call-number-true": Case(partial(_numbered, number=True)),
    "call-without-tools": Case(partial(_asks, calls=_CALLS["calls-same"]), tools=False),
    "calls-10000-without-tools": Case(partial(_asks, calls=_CALLS["calls-10000"]), tools=False),
}
