"""Start one program at a time, and measure it while people chat with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from statistics import median

from bench.model import ANSWER, Model
from bench.peers.programs import NOT_READY, Chat, Launch, Program
from bench.people import PATIENCE, Exchange
from bench.processes import cpu_seconds_of_family, memory_mb

START_SECONDS = 120.0
STOP_SECONDS = 30.0
#: The seconds between two attempts to connect to a program that starts.
POLL_SECONDS = 0.01
#: The number of lines of a program's log that are shown after a failure.
LOG_LINES = 15

_LOG = "bench.log"


class ProgramFailed(Exception):
    """A program could not be measured. The text contains the reason and the end of its log."""


@dataclass(frozen=True, slots=True)
class Work:
    """The work of each program in each round."""

    #: The conversations at the same time, all of them new.
    chats: int = 16
    #: The messages in each of them. The single conversation has twice as many.
    messages: int = 25
    #: The uncounted messages in each of as many earlier conversations.
    warm_up: int = 2
    #: The seconds without work before the idle memory is read.
    settle_seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class Sample:
    """The figures of one program in one round."""

    #: Messages per second of all conversations.
    rate: float
    #: The processor time of all processes per message, in ms.
    cpu_ms: float
    #: The median wait for an answer in a single conversation, in ms.
    p50_ms: float
    #: The seconds from the command until the program accepts a conversation.
    ready_s: float
    #: The resident memory of all processes in MB, before the first message and after the last one.
    idle_mb: float
    used_mb: float
    #: The size of the bodies of all model calls for the first message "hello", in KB of 1,000 bytes.
    body_kb: float
    #: The model calls per message.
    calls: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The samples of all programs in order of the rounds, and the reasons of the programs that failed. A program that
    failed has no samples."""

    samples: Mapping[str, Sequence[Sample]]
    failures: Mapping[str, str]


async def compare(
    programs: Sequence[Program], model: Model, *, work: Work, rounds: int, say: Callable[[str], None]
) -> Comparison:
    """Measure all programs in turn, `rounds` times. Before that, start each program once without counting it, so that no
    start creates byte code or a database. Leave out a program after its first failure."""
    failures: dict[str, str] = {}
    samples: dict[str, list[Sample]] = {program.name: [] for program in programs}
    launches: dict[str, Launch] = {}
    for number in range(rounds + 1):
        for program in programs:
            if program.name in failures:
                continue
            say(f"{program.name}, round {number} of {rounds} …" if number else f"{program.name}, first start …")
            try:
                if number == 0:
                    launches[program.name] = program.launch(model.base_url)
                    await _first_start(program, launches[program.name])
                else:
                    samples[program.name].append(await _round(program, launches[program.name], model, work))
            except ProgramFailed as failed:
                failures[program.name] = str(failed)
    return Comparison({name: each for name, each in samples.items() if name not in failures}, failures)


async def _first_start(program: Program, launch: Launch) -> None:
    async with _running(program, launch):
        await _talk(program, chats=1, messages=1)


async def _round(program: Program, launch: Launch, model: Model, work: Work) -> Sample:
    begun = time.perf_counter()
    async with _running(program, launch) as pid:
        ready_s = time.perf_counter() - begun
        await asyncio.sleep(work.settle_seconds)
        idle_mb = memory_mb(pid)
        before = model.received
        async with program.chat() as chat:
            await _ask(chat, "hello")
        body_kb = (model.received - before) / 1000
        await _talk(program, chats=work.chats, messages=work.warm_up)
        async with _chats(program, work.chats) as chats:
            calls, cpu, begun = model.calls, cpu_seconds_of_family(pid), time.perf_counter()
            exchanges = await _converse_all(chats, work.messages)
            seconds = time.perf_counter() - begun
            cpu, calls = cpu_seconds_of_family(pid) - cpu, model.calls - calls
        messages = len(exchanges)
        if calls < messages:
            raise RuntimeError(f"it made {calls} model calls for {messages} messages")
        alone = await _talk(program, chats=1, messages=work.messages * 2)
        return Sample(
            rate=messages / seconds,
            cpu_ms=cpu / messages * 1000,
            p50_ms=median(each.answered - each.sent for each in alone) * 1000,
            ready_s=ready_s,
            idle_mb=idle_mb,
            used_mb=memory_mb(pid),
            body_kb=body_kb,
            calls=calls / messages,
        )


# -- people ------------------------------------------------------------------------------------------------


async def _talk(program: Program, *, chats: int, messages: int) -> list[Exchange]:
    async with _chats(program, chats) as opened:
        return await _converse_all(opened, messages)


@asynccontextmanager
async def _chats(program: Program, count: int) -> AsyncIterator[list[Chat]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(program.chat()) for _ in range(count)]


async def _converse_all(chats: Sequence[Chat], messages: int) -> list[Exchange]:
    """Let all people write this number of messages each, at the same time. Each waits for an answer before the next
    message."""

    async def converse(chat: Chat) -> list[Exchange]:
        return [await _ask(chat, f"hello, number {number}") for number in range(messages)]

    return [exchange for talk in await asyncio.gather(*map(converse, chats)) for exchange in talk]


async def _ask(chat: Chat, text: str) -> Exchange:
    async with asyncio.timeout(PATIENCE):
        exchange = await chat.ask(text)
    if exchange.text != ANSWER:
        raise RuntimeError(f"it answered {exchange.text[:200]!r} to {text!r}, and not with the model's text")
    return exchange


# -- processes ---------------------------------------------------------------------------------------------


@asynccontextmanager
async def _running(program: Program, launch: Launch) -> AsyncIterator[int]:
    """Start the program, yield its process id when it is ready, and end all its processes. Raise `ProgramFailed` if it
    does not start, or if the block fails."""
    process = None
    try:
        process = await _start(program, launch)
        await _until_ready(program, process)
        yield process.pid
    # The answers of a program in an unexpected form are also its failure.
    except (*NOT_READY, RuntimeError, LookupError, ValueError) as error:
        ended = "" if process is None or process.returncode is None else f" It ended with code {process.returncode}."
        reason = str(error) or f"it took too long ({type(error).__name__})"
        raise ProgramFailed(f"{program.name} failed: {reason}.{ended}\n{_end_of_log(program)}") from error
    finally:
        if process is not None:
            await _stop(process)


async def _start(program: Program, launch: Launch) -> Process:
    with (program.folder / _LOG).open("wb") as log:
        return await asyncio.create_subprocess_exec(
            *launch.command,
            cwd=program.folder,
            env=launch.environment,
            stdin=DEVNULL,
            stdout=log,
            stderr=STDOUT,
            start_new_session=True,
        )


async def _until_ready(program: Program, process: Process) -> None:
    async with asyncio.timeout(START_SECONDS):
        while process.returncode is None:
            try:
                async with program.chat():
                    return
            except NOT_READY:
                await asyncio.sleep(POLL_SECONDS)
    raise RuntimeError("it ended before it was ready")


async def _stop(process: Process) -> None:
    """End the program and all processes of its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _end_of_log(program: Program) -> str:
    lines = (program.folder / _LOG).read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(["The last lines of its log:", *(f"  {line}" for line in lines[-LOG_LINES:])])
