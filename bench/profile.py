"""`python -m bench.profile`: show where the time of one message is spent, and which SQL statements it runs.

The whole daemon runs in this process with the demo model; the simulated people run in another process. The first table
has the stages of the wait of one message. For this table one person writes, with pauses, so that the daemon handles one
message at a time. The second table has the processor time by the steps of a message and by thread while sixteen people
write; it adds up to the whole. The third table has the modules that use the most, the last one the statements.
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
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from arvis.app import daemon
from arvis.config import load
from bench.people import Endpoint, Exchange
from bench.sampling import Sampler, processor_seconds_by_thread, sampling
from bench.servers import ROOT
from bench.stamps import Stamps, stamping
from bench.steps import FUNCTIONS, ROWS, counting_statements

PAUSE = 0.005
CHATS = 16
WARM_UP = 25
#: Modules with a smaller share of a thread's time are shown together.
SMALL = 0.01
#: Statements that run less often for each message are not listed.
RARE = 0.05

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


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one message while many people write."""

    #: Processor seconds of one message by thread, measured without the sampler.
    used: Mapping[str, float]
    #: The sampler that observed a second round with the same number of messages.
    sampler: Sampler
    #: The statements of one message by (step, name of the query), from a third round.
    statements: Mapping[tuple[str, str], float]

    def of_step(self, step: str, thread: str) -> float:
        """Return the processor seconds of a step in a thread."""
        sampled = self.sampler.threads[thread]
        return self.sampler.steps[thread, step] / sampled * self.used[thread] if sampled else 0.0


async def work(folder: Path, messages: int) -> Work:
    total = CHATS * messages
    async with daemon_in_this_process(folder) as endpoint:
        await chat_from_outside(endpoint, people=CHATS, messages=min(WARM_UP, messages))
        before = processor_seconds_by_thread()
        await chat_from_outside(endpoint, people=CHATS, messages=messages)
        used = processor_seconds_by_thread()
        with sampling() as sampler:
            await chat_from_outside(endpoint, people=CHATS, messages=messages)
        with counting_statements() as counts:
            await chat_from_outside(endpoint, people=CHATS, messages=messages)
    return Work(
        used={thread: (used[thread] - before.get(thread, 0.0)) / total for thread in used},
        sampler=sampler,
        statements={key: count / total for key, count in counts.items()},
    )


def print_steps(found: Work) -> None:
    threads = [thread for thread in found.used if found.used[thread] >= SMALL * sum(found.used.values())]
    threads.sort(key=lambda thread: -found.used[thread])
    print(f"\nProcessor time of one message with {CHATS} chats (µs)\n")
    print(f"  {'':24}" + "".join(f"{thread:>15}" for thread in (*threads, "together")))
    for step in ROWS:
        _print_row(step, [found.of_step(step, thread) for thread in threads])
    _print_row("together", [found.used[thread] for thread in threads])


def _print_row(name: str, seconds: Sequence[float]) -> None:
    print(f"  {name:24}" + "".join(f"{each * 1e6:15,.0f}" for each in (*seconds, sum(seconds))))


def print_modules(found: Work) -> None:
    for thread, seconds in sorted(found.used.items(), key=lambda each: -each[1]):
        sampled = found.sampler.threads[thread]
        if seconds >= SMALL * sum(found.used.values()) and sampled:
            print(f"\n{thread}: {seconds * 1e6:,.0f} µs")
            counts = found.sampler.modules.items()
            _print_shares({module: n / sampled for (of, module), n in counts if of == thread}, seconds)


def print_statements(found: Work) -> None:
    print(f"\nSQL statements of one message: {sum(found.statements.values()):.1f}\n")
    for step in (*FUNCTIONS, ROWS[-1]):
        named = {query: count for (of, query), count in found.statements.items() if of == step and count >= RARE}
        if named:
            listed = ", ".join(f"{query} {count:.1f}" for query, count in sorted(named.items()))
            print(f"  {step:24}{sum(named.values()):5.1f}  {listed}")


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
        found = asyncio.run(work(together, given.messages))
    print_waits(stage_times, waited)
    print_steps(found)
    print_modules(found)
    print_statements(found)


if __name__ == "__main__":
    main()
