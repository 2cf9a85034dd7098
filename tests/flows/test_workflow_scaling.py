"""The work of a run grows linearly with its steps, even for a wide join and a long loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from arvis.domain.executions import ExecutionStatus
from arvis.store.open import Database
from tests.conformance.databases import opened
from tests.flows.drawn_kit import START, Play, drawing, node, pause, played

SMALL, LARGE = 100, 400
#: Linear work grows by `LARGE / SMALL`, quadratic work by the square of that.
MOST = 2 * LARGE / SMALL


def joined(width: int) -> Play:
    return _fanned(width, [node("m", "merge")], " > m")


def loose(width: int) -> Play:
    return _fanned(width, [], "")


def counted(width: int) -> Play:
    """Return a join that waits for all branches but one."""
    merge = node("m", "merge", join="n", joinCount=width - 1)
    return _fanned(width, [merge], " > m")


def looped(rounds: int) -> Play:
    loop = node("l", "loop", maxIterations=rounds)
    ways = ["start > l", "l:loop-start > a > @loop-back l"]
    return Play(drawing(START, loop, pause("a"), ways=ways, maxSteps=100_000, maxVisits=rounds + 1), input="x")


def _fanned(width: int, ends: list[dict[str, object]], onwards: str) -> Play:
    names = [f"w{number}" for number in range(width)]
    ways = [f"start > {name}{onwards}" for name in names]
    return Play(
        drawing(START, *map(pause, names), *ends, ways=ways, maxSteps=100_000, maxBranches=width + 1), input="x"
    )


@pytest.mark.parametrize("play", [joined, loose, counted, looped])
async def test_the_work_of_a_run_grows_with_its_size(
    play: Callable[[int], Play], tmp_path: Path, figures: list[str]
) -> None:
    async with opened(Database(tmp_path / "arvis.db", None, tmp_path)) as store:
        spent = {}
        for size in (SMALL, LARGE):
            tries = []
            for _ in range(3):
                scene = play(size)
                begin = time.process_time()
                found, _ = await played(store, scene)
                tries.append(time.process_time() - begin)
                assert found.execution.status is ExecutionStatus.DONE
            spent[size] = min(tries)
    ratio = spent[LARGE] / spent[SMALL]
    figures.append(
        f"{play.__name__}: {SMALL} → {LARGE}: {spent[SMALL]:.2f} s → {spent[LARGE]:.2f} s, {ratio:.1f} times"
    )
    assert ratio < MOST
