"""Benchmark rows about an idle daemon: its start, memory, processor time and size on disk."""

from __future__ import annotations

import asyncio
import time

from bench.bare_install import settings_without_extras
from bench.controls import interpreter_start
from bench.processes import cpu_seconds, memory_mb
from bench.report import Figure, Target
from bench.rounds import Setting, in_turn
from bench.servers import STARTER, daemon, echo
from tests.acceptance.daemon import Daemon
from tests.architecture.test_installed_size import megabytes, of_arvis, size_of_arvis


async def start(setting: Setting) -> list[Figure]:
    """Measure the time from the command to the ready line. The first start, which makes byte code and database, does
    not count."""
    folder = setting.folder / "start"
    folder.mkdir()
    used: list[float] = []

    async def control() -> float:
        return interpreter_start()

    async def measure() -> float:
        running = Daemon(folder, under=STARTER)
        begun = time.perf_counter()
        try:
            running.start()
            seconds = time.perf_counter() - begun
            used.append(cpu_seconds(running.pid))
            running.stop()
        finally:
            running.close()
        return seconds

    paired = await in_turn(setting.scale.rounds, control, measure)
    against = "start and end of a bare interpreter"
    return [
        Figure(
            "start to ready, web only",
            paired.value,
            "s",
            paired.control,
            against,
            paired.ratio,
            Target(0.6, 0.4, lower=True),
        ),
        Figure("start to ready, web only, CPU", sorted(used[1:])[len(used[1:]) // 2], "s"),
    ]


async def idle(setting: Setting) -> list[Figure]:
    """Measure memory and processor time of a daemon without work, which finds only the packages of the default install;
    the control is the bare echo server."""
    folder = setting.folder / "idle"
    folder.mkdir()
    with daemon(folder, settings_without_extras(folder)) as server, echo() as control:
        # The daemon may do some work of its start after the ready line.
        await asyncio.sleep(2)
        pid, bare_pid = server.pids[0], control.pids[0]
        begun, ours, bare = time.perf_counter(), cpu_seconds(pid), cpu_seconds(bare_pid)
        await asyncio.sleep(setting.scale.idle_seconds)
        seconds = time.perf_counter() - begun
        percent = (cpu_seconds(pid) - ours) / seconds * 100
        bare_percent = (cpu_seconds(bare_pid) - bare) / seconds * 100
        memory, bare_memory = memory_mb(pid), memory_mb(bare_pid)
    against = "a bare asyncio and websockets server"
    return [
        Figure("idle CPU", percent, "%", bare_percent, against, target=Target(0.3, 0.05, lower=True)),
        Figure(
            "idle memory, web only",
            memory,
            "MB",
            bare_memory,
            against,
            memory / bare_memory,
            Target(62, 52, lower=True),
        ),
    ]


async def size(_: Setting) -> list[Figure]:
    """Measure the default install without byte code. `tests/architecture/test_installed_size.py` checks the gate."""
    total = megabytes(of_arvis()) + size_of_arvis() / 1_000_000
    return [Figure("installed size", total, "MB", target=Target(62, 55, lower=True))]
