"""`python -m bench.loading --minutes 30`: apply every kind of load at once, and measure its effect on one quiet
person.

The load is a wide join that runs repeatedly, one person who sends a flood of messages, 300 open sockets, and uploads.
The quiet person writes to the demo model. The program prints the response times of `/health` under load (p99), the
waits of the quiet person with and without the load (p95), and the blocked times of the event loop.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from bench.servers import STARTER
from tests.acceptance.daemon import running_daemon
from tests.crash.endpoint import Endpoint

SOCKETS = 300
WIDTH = 400
UPLOAD = 2_000_000
#: The goals: the p99 of `/health` in ms, and the factor by which the wait of the quiet person may increase.
HEALTH_MS, FACTOR = 50.0, 2.0


async def upload(target: Endpoint, data: str, channel: str) -> int:
    """Send a message with a file and return the HTTP status; `data` is base64."""
    file = {"filename": "note.bin", "contentType": "application/octet-stream", "data": data}
    message = {"content": "Look", "channelId": channel, "attachments": [file]}
    return (await target.call("POST", "/api/messages", message))[0]


def wide() -> dict[str, object]:
    names = [f"w{number}" for number in range(WIDTH)]
    kinds = [("start", "start"), *((name, "wait") for name in names), ("m", "merge")]
    nodes = [
        {"id": id_, "type": kind, "x": 0, "y": 0, "data": {"amount": 0} if kind == "wait" else {}}
        for id_, kind in kinds
    ]
    pairs = [pair for name in names for pair in (("start", name), (name, "m"))]
    connections = [{"id": f"c{at}", "source": one, "target": other} for at, (one, other) in enumerate(pairs)]
    settings = {"maxSteps": 10_000, "maxBranches": WIDTH + 1}
    return {"schema": 1, "settings": settings, "nodes": nodes, "connections": connections}


async def measured(target: Endpoint, seconds: float) -> tuple[list[float], list[float]]:
    """Return the response times of `/health` and the waits of the quiet person, in ms."""
    end, health, waits = time.monotonic() + seconds, list[float](), list[float]()

    async def ask() -> None:
        while time.monotonic() < end:
            begin = time.perf_counter()
            await target.call("GET", "/health")
            health.append((time.perf_counter() - begin) * 1000)
            await asyncio.sleep(0.05)

    async def write() -> None:
        while time.monotonic() < end:
            begin = time.perf_counter()
            _, answer = await target.call("POST", "/api/messages", {"content": "Hello", "channelId": "quiet"})
            await target.call("GET", f"/api/messages/{answer['messageId']}/wait?timeout=60")
            waits.append((time.perf_counter() - begin) * 1000)
            await asyncio.sleep(0.2)

    await asyncio.gather(ask(), write())
    return health, waits


@asynccontextmanager
async def loaded(target: Endpoint, workflow: str) -> AsyncIterator[dict[str, int]]:
    """Apply the load during the context, and count the HTTP statuses of the responses to each part of it."""
    counts: dict[str, int] = {}

    async def again(name: str, act: Callable[[], Awaitable[int]], pause: float) -> None:
        while True:
            status = await act()
            counts[f"{name} {status}"] = counts.get(f"{name} {status}", 0) + 1
            await asyncio.sleep(pause)

    async def run() -> int:
        return (await target.call("POST", f"/api/workflows/{workflow}/runs", {}))[0]

    async def flood() -> int:
        message = {"content": "spam " * 50, "channelId": "spam", "userId": "spammer"}
        return (await target.call("POST", "/api/messages", message))[0]

    data = base64.b64encode(os.urandom(UPLOAD)).decode()
    async with contextlib.AsyncExitStack() as stack:
        for number in range(SOCKETS):
            socket, _ = await target.open(f"reader-{number}", f"room-{number}", 0)
            stack.push_async_callback(socket.close)
        counts["sockets"] = SOCKETS
        tasks = [
            asyncio.create_task(again("join", run, 1.0)),
            asyncio.create_task(again("flood", flood, 0.02)),
            asyncio.create_task(again("upload", lambda: upload(target, data, "files"), 0.5)),
        ]
        try:
            yield counts
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def measure(url: str, key: str, minutes: float) -> bool:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        target = Endpoint(session, url, key, asyncio.Event())
        status, answer = await target.call("POST", "/api/workflows", {"name": "Wide", "document": wide()})
        assert status == 201, answer
        await measured(target, 3)
        _, idle = await measured(target, min(30.0, minutes * 20))
        async with loaded(target, answer["id"]) as counts:
            health, waits = await measured(target, minutes * 60)
        _, seen = await target.call("GET", "/health")
    p99, before, during = percentile(health, 0.99), percentile(idle, 0.95), percentile(waits, 0.95)
    print(json.dumps({"load": counts, "health": seen}, indent=1))
    print(f"/health: {len(health)} answers, p99 {p99:.1f} ms (goal {HEALTH_MS:.0f} ms), longest {max(health):.1f} ms")
    print(f"quiet person: {len(waits)} answers, p95 {during:.0f} ms, idle {before:.0f} ms: {during / before:.1f} times")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return p99 <= HEALTH_MS and during <= FACTOR * before


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.loading", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_daemon(Path(folder), under=STARTER) as daemon:
        met = asyncio.run(measure(daemon.url, daemon.api_key, options.minutes))
        print("\n".join(line[:400] for line in daemon.log().splitlines() if "event_loop_blocked" in line))
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
