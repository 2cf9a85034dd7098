"""The watch over the event loop: a blocked loop is counted and reported with its stack, a waiting one is not."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from structlog.testing import capture_logs

from arvis.process.stalls import LIMIT, LoopWatch, Stalls


def blocking_call(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        """Busy."""


def run(watch: LoopWatch, *steps: Any) -> list[Any]:
    async def main() -> None:
        with watch.watching():
            for step in steps:
                await step()

    with capture_logs() as lines, asyncio.Runner(loop_factory=watch.new_loop) as runner:
        runner.run(main())
    return lines


async def blocks() -> None:
    await asyncio.sleep(0)
    blocking_call(4 * LIMIT)
    await asyncio.sleep(0)


async def waits() -> None:
    await asyncio.sleep(4 * LIMIT)


def of_ours(lines: list[Any]) -> list[Any]:
    """Keep the entries of this test: on a busy machine other callbacks may be slow, too."""
    return [line for line in lines if line["stack"].endswith("blocking_call")]


def test_what_blocks_the_loop_is_reported_with_its_stack() -> None:
    watch = LoopWatch(between_lines=0)
    [line] = of_ours(run(watch, blocks))
    assert (line["event"], line["log_level"]) == ("event_loop_blocked", "warning")
    assert line["seconds"] >= 4 * LIMIT
    assert "test_loop_watch.py" in line["stack"]
    assert watch.stalls.count >= 1
    assert watch.stalls.longest >= line["seconds"] - 0.001


def test_a_block_after_a_long_rest_is_seen_as_well() -> None:
    assert len(of_ours(run(LoopWatch(between_lines=0), waits, waits, blocks))) == 1


def test_what_happens_again_soon_is_counted_and_not_logged() -> None:
    watch = LoopWatch(between_lines=60)
    lines = run(watch, blocks, blocks, blocks)
    assert len(lines) == 1
    assert watch.stalls.count >= 3


def test_nothing_is_reported_outside_of_the_watch() -> None:
    watch = LoopWatch()
    with asyncio.Runner(loop_factory=watch.new_loop) as runner:
        runner.run(blocks())
    assert watch.stalls == Stalls()
