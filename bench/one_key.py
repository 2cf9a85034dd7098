"""`python -m bench.one_key`: one chat key sends 600 MB in files and 3,000 messages, while another person writes.

The program prints what the daemon accepted from the key, and the waits of the other person with and without this load
(p95). The exit code is 1 if the key exceeded a limit of its person, or if the other person waited more than twice as long.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import secrets
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp

from arvis.config.sections import Limits
from bench.loading import FACTOR, percentile
from bench.servers import STARTER
from tests.acceptance.daemon import Daemon, running_daemon
from tests.crash.endpoint import Endpoint

FILES, FILE_BYTES, MESSAGES = 60, 10_000_000, 3_000
#: The number of requests of each kind that the key sends at the same time.
AT_ONCE = {"file": 4, "message": 8}
IDLE_SECONDS = 20.0
ACCEPTED = 202


async def send_all(url: str, key: str) -> dict[str, dict[int, int]]:
    """Send everything, and return the numbers of the HTTP statuses for files and for messages."""
    counts: dict[str, Counter[int]] = {kind: Counter() for kind in AT_ONCE}
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    content = base64.b64encode(os.urandom(FILE_BYTES)).decode()

    def body(kind: str) -> bytes:
        message: dict[str, Any] = {"content": "spam " * 50}
        if kind == "file":  # the daemon stores equal files only once, so the beginnings differ
            data = base64.b64encode(secrets.token_bytes(12)).decode() + content[16:]
            message["attachments"] = [{"filename": "a.bin", "contentType": "application/octet-stream", "data": data}]
        return json.dumps(message).encode()

    async def send(session: aiohttp.ClientSession, kind: str, number: int) -> None:
        for _ in range(number // AT_ONCE[kind]):
            async with session.post(f"{url}/api/messages", data=body(kind), headers=headers) as answer:
                counts[kind][answer.status] += 1

    timeout = aiohttp.ClientTimeout(total=600)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:
        # The files come first: after the flood of messages, the limit of messages would refuse all of them unread.
        for kind, total in (("file", FILES), ("message", MESSAGES)):
            await asyncio.gather(*(send(session, kind, total) for _ in range(AT_ONCE[kind])))
    return {kind: dict(found) for kind, found in counts.items()}


async def waits_of(person: Endpoint, end: asyncio.Event) -> list[float]:
    """Write a message every 0.6 seconds until `end` is set, and return the waits for the replies in ms."""
    waits = []
    while not end.is_set():
        begin = time.perf_counter()
        status, answer = await person.call("POST", "/api/messages", {"content": "Hello"})
        assert status == ACCEPTED, answer
        await person.call("GET", f"/api/messages/{answer['messageId']}/wait?timeout=60")
        waits.append((time.perf_counter() - begin) * 1000)
        await asyncio.sleep(0.6)
    return waits


async def waits_for(person: Endpoint, seconds: float) -> list[float]:
    end = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, end.set)
    return await waits_of(person, end)


async def measure(daemon: Daemon, greedy: str, quiet: str) -> bool:
    async with aiohttp.ClientSession() as session:
        person = Endpoint(session, daemon.url, quiet, asyncio.Event())
        await waits_for(person, 3.0)  # warms the daemon up
        idle = await waits_for(person, IDLE_SECONDS)
        end = asyncio.Event()
        waiting = asyncio.create_task(waits_of(person, end))
        # A process of its own, so that the key's client does not delay the measurement.
        command = [sys.executable, "-m", "bench.one_key", "--client", daemon.url, greedy]
        began = time.monotonic()
        client = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        output, _ = await client.communicate()
        seconds = time.monotonic() - began
        end.set()
        busy = await waiting
    stored = sum(file.stat().st_size for file in (daemon.data / "blobs").rglob("*") if file.is_file())
    return judge(json.loads(output), stored, seconds, idle, busy)


def judge(counts: dict[str, dict[str, int]], stored: int, seconds: float, idle: list[float], busy: list[float]) -> bool:
    limits, accepted = Limits(), sum(found.get(str(ACCEPTED), 0) for found in counts.values())
    # A limit fills up again while the key is sending.
    messages = (limits.messages_per_minute or 0) * (1 + seconds / 60)
    before, during = percentile(idle, 0.95), percentile(busy, 0.95)
    print(f"answers to the key in {seconds:.0f} s: {counts}")
    print(f"accepted messages: {accepted} (limit {messages:.0f}); stored files: {stored / 1e6:.0f} MB (limit 537)")
    print(
        f"the other person: {len(busy)} answers, p95 {during:.0f} ms, idle {before:.0f} ms: {during / before:.1f} times"
    )
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return accepted <= messages and stored <= (limits.upload_bytes_per_day or 0) and during <= FACTOR * before


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.one_key", description=__doc__)
    parser.add_argument("--client", nargs=2, metavar=("URL", "KEY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        print(json.dumps(asyncio.run(send_all(*options.client))))
        return 0
    greedy, quiet = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    keys = json.dumps([{"key": key, "role": "chat"} for key in (greedy, quiet)])
    settings = {"ARVIS__WEB__API_KEYS": keys, "ARVIS__ROUTING__FALLBACK": "helper"}
    with (
        tempfile.TemporaryDirectory() as folder,
        running_daemon(Path(folder), under=STARTER, settings=settings) as daemon,
    ):
        return 0 if asyncio.run(measure(daemon, greedy, quiet)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
