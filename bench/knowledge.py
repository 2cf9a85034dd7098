"""`python -m bench.knowledge`: a daemon indexes 10,000 documents while a person writes.

The program prints the waits of the person with and without this load (p95), the time of the index, and the times of searches
(p95). The exit code is 1 if the person waited more than twice as long, or if the slowest searches took longer than 50 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import secrets
import tempfile
import time
from pathlib import Path

import aiohttp

from bench.loading import FACTOR, percentile
from bench.one_key import waits_for, waits_of
from bench.servers import STARTER
from tests.acceptance.daemon import Daemon, running_daemon
from tests.crash.endpoint import Endpoint

DOCUMENTS, IDLE_SECONDS, SEARCHES, SLOWEST_MS = 10_000, 20.0, 200, 50.0
#: The limit of the wait for the index.
MOST_SECONDS = 3_600
#: The number of documents that are sent at the same time.
_AT_ONCE = 4
_WORDS = [f"{first}{last}" for first in ("har", "lin", "mor", "vel", "tas", "ken", "bro", "sul") for last in ("bour", "den", "ite", "ova", "mark", "ling", "stone", "field")]  # fmt: skip
_CREATED = 201


def document(number: int) -> str:
    """Return a document of about 6,000 characters in four sections, with a word of its own."""
    chance = random.Random(number)
    sections = []
    for section in range(4):
        words = [f"{chance.choice(_WORDS)}{chance.randrange(300)}" for _ in range(150)]
        sections.append(f"## Section {section}\n\n{' '.join(words)}.")
    return "\n\n".join([f"# Document {number}\n\nIts own word is unique{number}.", *sections])


async def send_all(session: aiohttp.ClientSession, daemon: Daemon, count: int) -> None:
    waiting = iter(range(count))

    async def send() -> None:
        for number in waiting:
            body = {"name": f"{number}.md", "text": document(number)}
            async with session.post(f"{daemon.url}/api/knowledge/many/documents", json=body) as answer:
                assert answer.status == _CREATED, await answer.text()

    await asyncio.gather(*(send() for _ in range(_AT_ONCE)))


async def until_indexed(session: aiohttp.ClientSession, daemon: Daemon, count: int) -> None:
    async with asyncio.timeout(MOST_SECONDS):
        while True:
            async with session.get(f"{daemon.url}/api/knowledge/many") as answer:
                if (await answer.json())["indexed"] >= count:
                    return
            await asyncio.sleep(1)


async def search_times(session: aiohttp.ClientSession, daemon: Daemon, count: int) -> list[float]:
    """Return the times (ms) of searches for a word of one document and two words of all. Each must find this document first."""
    chance, times = random.Random(1), []
    for _ in range(SEARCHES):
        number = chance.randrange(count)
        text = f"section unique{number} word"
        begun = time.perf_counter()
        query = {"text": text, "limit": "5"}
        async with session.get(f"{daemon.url}/api/knowledge/many/search", params=query) as answer:
            found = (await answer.json())["items"]
        times.append((time.perf_counter() - begun) * 1_000)
        assert found[0]["source"].startswith(f"Document {number} "), (text, found[0]["source"])
    return times


async def measure(daemon: Daemon, quiet: str, count: int) -> bool:
    headers = {"Authorization": f"Bearer {daemon.api_key}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        person = Endpoint(session, daemon.url, quiet, asyncio.Event())
        await waits_for(person, 3.0)  # so that caches are filled before the measurement
        idle = await waits_for(person, IDLE_SECONDS)
        async with session.post(f"{daemon.url}/api/knowledge", json={"slug": "many"}) as answer:
            assert answer.status == _CREATED, await answer.text()
        end, begun = asyncio.Event(), time.monotonic()
        waiting = asyncio.create_task(waits_of(person, end))
        await send_all(session, daemon, count)
        sent = time.monotonic() - begun
        await until_indexed(session, daemon, count)
        seconds = time.monotonic() - begun
        end.set()
        busy = await waiting
        times = await search_times(session, daemon, count)
    before, during, slow = percentile(idle, 0.95), percentile(busy, 0.95), percentile(times, 0.95)
    print(f"{count} documents: sent in {sent:.0f} s, indexed after {seconds:.0f} s")
    print(f"a person: {len(busy)} answers, p95 {during:.0f} ms, idle {before:.0f} ms: {during / before:.1f} times")
    print(f"a search over HTTP: p50 {percentile(times, 0.5):.0f} ms, p95 {slow:.0f} ms")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return during <= FACTOR * before and slow <= SLOWEST_MS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.knowledge", description=__doc__)
    parser.add_argument("--documents", type=int, default=DOCUMENTS, help="default: %(default)s")
    options = parser.parse_args()
    quiet = secrets.token_urlsafe(32)
    settings = {
        "ARVIS__WEB__API_KEYS": json.dumps([{"key": quiet, "role": "chat"}]),
        "ARVIS__ROUTING__FALLBACK": "helper",
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        running_daemon(Path(folder), under=STARTER, settings=settings) as daemon,
    ):
        return 0 if asyncio.run(measure(daemon, quiet, options.documents)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
