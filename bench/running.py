"""Benchmark rows about workflows: the number of short runs per second, and the cost of runs that wait for people."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp

from bench.people import chat
from bench.processes import memory_mb
from bench.report import Figure, Target
from bench.rounds import Setting
from bench.servers import daemon

#: Number of concurrent requests that start runs.
HANDS = 16
PAUSED = 1_000
PATIENCE = 120.0


async def workflows(setting: Setting) -> list[Figure]:
    """Measure the runs per second of a workflow with three nodes and the built-in model, and the memory of a thousand
    runs that wait for an approval."""
    folder = setting.folder / "workflows"
    with daemon(folder) as server:
        data, pid = folder / "data", server.pids[0]
        endpoint = server.endpoints[0]
        headers = {"Authorization": f"Bearer {endpoint.api_key}"}
        async with aiohttp.ClientSession(endpoint.url, headers=headers) as http:
            await _draw(http, "three", [("say", "agent"), ("more", "agent")])
            await _draw(http, "ask", [("yes", "approval")])
            scale = setting.scale
            pairs = []
            for _ in range(scale.rounds + 1):
                load = await chat(server, people=HANDS, messages=scale.messages)
                pairs.append((await _rate(http, data, scale.work // 10), load.rate))
            grown = await _paused(http, data, pid, min(PAUSED, scale.work))
    pairs = pairs[1:]
    return [
        Figure(
            "runs of three nodes",
            median(rate for rate, _ in pairs),
            "runs/s",
            median(control for _, control in pairs),
            "messages/s of the same daemon",
            median(rate / control for rate, control in pairs),
            Target(50, 100),
        ),
        Figure(f"memory of {PAUSED:,} runs that wait for people", grown, "MB", target=Target(10, 2, lower=True)),
    ]


async def _rate(http: aiohttp.ClientSession, data: Path, count: int) -> float:
    begun = time.perf_counter()
    before = _ended(data)
    await _begin(http, "three", count)
    await _until(lambda: _ended(data) >= before + count)
    return count / (time.perf_counter() - begun)


async def _paused(http: aiohttp.ClientSession, data: Path, pid: int, count: int) -> float:
    """Return the additional memory of `count` waiting runs in MB, scaled to a thousand runs. Raise `AssertionError` if
    any of them has a live job."""
    await _begin(http, "ask", count)
    await _until(lambda: _number(data, "SELECT COUNT(*) FROM waits WHERE answered_at IS NULL") >= count)
    await asyncio.sleep(1)
    before = memory_mb(pid)
    await _begin(http, "ask", count)
    await _until(lambda: _number(data, "SELECT COUNT(*) FROM waits WHERE answered_at IS NULL") >= 2 * count)
    await asyncio.sleep(1)
    jobs = _number(data, "SELECT COUNT(*) FROM jobs WHERE status IN ('pending', 'running')")
    if jobs:
        raise AssertionError(f"{jobs} live jobs belong to runs that wait for people")
    return (memory_mb(pid) - before) * PAUSED / count


async def _draw(http: aiohttp.ClientSession, slug: str, kinds: Sequence[tuple[str, str]]) -> None:
    names = ["start", *(name for name, _ in kinds)]
    nodes = [{"id": name, "type": kind, "x": 0, "y": 0, "data": {}} for name, kind in [("start", "start"), *kinds]]
    ways = [
        {"id": f"c{number}", "source": source, "target": target, "sourceHandle": "", "targetHandle": ""}
        for number, (source, target) in enumerate(pairwise(names))
    ]
    if kinds[-1][1] == "approval":
        nodes.append({"id": "end", "type": "response", "x": 0, "y": 0, "data": {}})
        way = {"source": kinds[-1][0], "target": "end", "sourceHandle": "approve", "targetHandle": ""}
        ways.append({"id": "end", **way})
    document: dict[str, Any] = {"schema": 1, "settings": {}, "nodes": nodes, "connections": ways}
    async with http.post("/api/workflows", json={"name": slug, "slug": slug, "document": document}) as answer:
        answer.raise_for_status()


async def _begin(http: aiohttp.ClientSession, slug: str, count: int) -> None:
    numbers = iter(range(count))

    async def hand() -> None:
        for number in numbers:
            async with http.post(f"/api/workflows/{slug}/runs", json={"input": f"run {number}"}) as answer:
                answer.raise_for_status()

    await asyncio.gather(*(hand() for _ in range(HANDS)))


async def _until(holds: Callable[[], bool]) -> None:
    """Wait until `holds` returns True. It is polled every ten milliseconds, because the change happens in another
    process."""
    deadline = time.monotonic() + PATIENCE
    for _ in iter(holds, True):
        if time.monotonic() > deadline:
            raise TimeoutError("The runs did not end in time")
        await asyncio.sleep(0.01)


def _ended(data: Path) -> int:
    return _number(
        data,
        "SELECT COUNT(*) FROM workflow_runs JOIN executions ON executions.id = execution_id WHERE status = 'done'",
    )


def _number(data: Path, query: str) -> int:
    with closing(sqlite3.connect(f"file:{data / 'arvis.db'}?mode=ro", uri=True)) as rows:
        return int(rows.execute(query).fetchone()[0])
