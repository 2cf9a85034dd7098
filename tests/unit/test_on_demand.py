"""A part is built once, at its first use, outside the event loop."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from arvis.process.on_demand import OnDemand

MODULE = """
import threading

class Part:
    pass

def build(*, threads, failures=0):
    threads.append(threading.get_ident())
    if len(threads) <= failures:
        raise OSError("not yet")
    return Part()
"""


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"part_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return f"{name}:build"


async def test_a_part_is_built_once_and_in_a_thread(entry: str) -> None:
    threads: list[int] = []
    part: OnDemand[Any] = OnDemand(entry, threads=threads)
    assert threads == []
    first, second = await asyncio.gather(part.get(), part.get())
    assert first is second is part.now() is await part.get()
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


def test_several_threads_get_the_same_part(entry: str) -> None:
    threads: list[int] = []
    part: OnDemand[Any] = OnDemand(entry, threads=threads)
    start = threading.Barrier(4)

    def use(_: int) -> Any:
        start.wait()
        return part.now()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(use, range(4)))) == 1
    assert len(threads) == 1


async def test_a_failed_build_is_tried_again(entry: str) -> None:
    threads: list[int] = []
    part: OnDemand[Any] = OnDemand(entry, threads=threads, failures=1)
    with pytest.raises(OSError, match="not yet"):
        await part.get()
    assert await part.get() is part.now()
    assert len(threads) == 2


async def test_waiting_for_the_first_use_builds_nothing(entry: str) -> None:
    threads: list[int] = []
    part: OnDemand[Any] = OnDemand(entry, threads=threads)
    waiting = asyncio.create_task(part.used())
    for _ in range(3):
        await asyncio.sleep(0)
    assert (threads, waiting.done()) == ([], False)
    built = await asyncio.to_thread(part.now)
    assert await waiting is built is await part.used()
