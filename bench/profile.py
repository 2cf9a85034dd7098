"""`python -m bench.profile`: show in two tables where the time of one message is spent.

The whole daemon runs in this process with the demo model; the simulated people run in another process. The first table
has the stages of the wait of one message. For this table one person writes, with pauses, so that the daemon handles one
message at a time. The second table has the processor time by thread and by module while sixteen people write.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from arvis.app import daemon
from arvis.config import load
from bench.people import Endpoint, Exchange
from bench.sampling import Sampler, processor_seconds_by_thread, sampling
from bench.servers import ROOT
from bench.stamps import Stamps, stamping

PAUSE = 0.005
CHATS = 16
WARM_UP = 25
#: Modules with a smaller share of a thread's time are shown together.
SMALL = 0.01

#: The stages of a message in order, and the mark that ends each stage.
STAGES = (
    ("socket: in", "received"),
    ("accept: way to the writer", "script"),
    ("accept: script", "scripted"),
    ("accept: claim", "claimed"),
    ("accept: commit", "committed"),
    ("start: way to the worker", "begun"),
    ("prompt: read the turn and its history", "read"),
    ("prompt: build", "calling"),
    ("model call (demo)", "called"),
    ("finish: way to the writer", "script"),
    ("finish: script", "scripted"),
    ("finish: commit", "committed"),
    ("deliver: way to the event loop", "delivering"),
    ("deliver: into the socket's queue", "pushed"),
)
#: The stage from the last of these marks until the client has the reply.
OUT = "socket: out"


@asynccontextmanager
async def daemon_in_this_process(folder: Path) -> AsyncIterator[Endpoint]:
    """Run the daemon as `arvis run` does, with the built-in configuration and the demo model."""
    url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    nothing = folder / "config.yaml"
    nothing.write_text("{}\n", encoding="utf-8")
    settings = {"ARVIS__WEB__PORT": "0", "ARVIS__LIMITS__MESSAGES_PER_MINUTE": "1000000"}
    config = load(nothing, folder / "data", settings)

    def say(line: str) -> None:
        if not url.done():
            url.set_result(line.rpartition(" ")[2])

    running = asyncio.create_task(daemon.run(config, say=say))
    running.add_done_callback(lambda _: url.done() or url.cancel())
    try:
        yield Endpoint(await url, (config.data_dir / "api-key").read_text().strip())
    finally:
        if not running.done():
            os.kill(os.getpid(), signal.SIGTERM)
        await running


async def chat_from_outside(endpoint: Endpoint, *, people: int, messages: int, pause: float = 0.0) -> list[Exchange]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.people"),
        *("--people", str(people), "--messages", str(messages), "--pause", str(pause)),
        *("--", endpoint.url, endpoint.api_key),  # a key may begin with a hyphen
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError("the people gave up")
    return [Exchange(sent, answered) for sent, answered in json.loads(out)]


# -- the wait of one message -------------------------------------------------------------------------------


def stages_of(exchange: Exchange, stamps: Stamps) -> dict[str, float] | None:
    """Return the seconds by stage; None if the marks are ambiguous because of other writes at the same time."""
    seconds: dict[str, float] = {}
    at = _follow(STAGES, exchange.sent, stamps, seconds)
    if at is None or at > exchange.answered:
        return None
    seconds[OUT] = exchange.answered - at
    return seconds


def _follow(stages: Sequence[tuple[str, str]], at: float, stamps: Stamps, seconds: dict[str, float]) -> float | None:
    """Record each stage from `at` on, and return the end of the last one."""
    for name, mark in stages:
        reached = stamps.first_after(mark, at)
        if reached is None:
            return None
        seconds[name], at = reached - at, reached
    return at


async def waits(folder: Path, messages: int) -> tuple[list[dict[str, float]], list[float]]:
    """Return the stages of each message, and its total wait, in seconds."""
    with stamping() as stamps:
        async with daemon_in_this_process(folder) as endpoint:
            await chat_from_outside(endpoint, people=1, messages=min(WARM_UP, messages), pause=PAUSE)
            exchanges = await chat_from_outside(endpoint, people=1, messages=messages, pause=PAUSE)
    stage_times = [stages for exchange in exchanges if (stages := stages_of(exchange, stamps)) is not None]
    return stage_times, [exchange.answered - exchange.sent for exchange in exchanges]


def print_waits(stage_times: Sequence[Mapping[str, float]], waited: Sequence[float]) -> None:
    print(f"The wait of one message, median of {len(stage_times)} (µs)\n")
    for name in [*(name for name, _ in STAGES), OUT]:
        print(f"  {name:38}{_microseconds(stage_times, name):8,.0f}")
    print(f"  {'until the reply is there':38}{median(waited) * 1e6:8,.0f}\n")


def _microseconds(stage_times: Sequence[Mapping[str, float]], name: str) -> float:
    return median(stages[name] for stages in stage_times) * 1e6


# -- the processor's time ----------------------------------------------------------------------------------


async def processor_time(folder: Path, messages: int) -> tuple[dict[str, float], Sampler]:
    """Return the seconds per message by thread, measured without a sampler, and a sampler that observed a second round
    with the same number of messages."""
    total = CHATS * messages
    async with daemon_in_this_process(folder) as endpoint:
        await chat_from_outside(endpoint, people=CHATS, messages=min(WARM_UP, messages))
        before = processor_seconds_by_thread()
        await chat_from_outside(endpoint, people=CHATS, messages=messages)
        used = processor_seconds_by_thread()
        with sampling() as sampler:
            await chat_from_outside(endpoint, people=CHATS, messages=messages)
    return {thread: (used[thread] - before[thread]) / total for thread in used}, sampler


def print_processor_time(used: Mapping[str, float], sampler: Sampler) -> None:
    """Print the shares from the sampler, and the sums from the round without it."""
    print(f"\nProcessor time of one message with {CHATS} chats: {sum(used.values()) * 1e6:,.0f} µs")
    for thread, seconds in sorted(used.items(), key=lambda each: -each[1]):
        if seconds < SMALL * sum(used.values()) or not sampler.threads[thread]:
            continue
        print(f"\n{thread}: {seconds * 1e6:,.0f} µs")
        for title, counts in (("at work", sampler.modules), ("begun for", sampler.served)):
            shares = {module: n / sampler.threads[thread] for (of, module), n in counts.items() if of == thread}
            print(f"  {title}")
            _print_shares(shares, seconds)


def _print_shares(shares: Mapping[str, float], seconds: float) -> None:
    large = {name: share for name, share in shares.items() if share >= SMALL}
    large["(others)"] = 1 - sum(large.values())
    for name, share in sorted(large.items(), key=lambda each: -each[1]):
        print(f"    {name:36}{share * seconds * 1e6:8,.0f}{share:8.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__)
    parser.add_argument("--messages", type=int, default=200, help="of each person (default: 200)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-profile-", dir=ROOT / "data") as folder:
        alone, together = Path(folder, "alone"), Path(folder, "together")
        alone.mkdir()
        together.mkdir()
        stage_times, waited = asyncio.run(waits(alone, given.messages))
        used, sampler = asyncio.run(processor_time(together, given.messages))
    print_waits(stage_times, waited)
    print_processor_time(used, sampler)


if __name__ == "__main__":
    main()
