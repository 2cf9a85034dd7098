"""Benchmark rows about the whole daemon: people send messages over the socket and wait for the replies."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from bench.model import running_model
from bench.people import Load, Server, chat
from bench.report import Figure, Target
from bench.rounds import Setting
from bench.servers import daemon, echo

CHATS = 16

ECHO = "the same chats with a bare asyncio and websockets echo server"


@dataclass(frozen=True, slots=True)
class Targets:
    rate: Target
    cpu_ms: Target
    p50_ms: Target


DEMO = Targets(Target(150, 350), Target(6, 3, lower=True), Target(12, 8, lower=True))
HTTP = Targets(Target(100, 200), Target(10, 5, lower=True), Target(20, 10, lower=True))


async def demo(setting: Setting) -> list[Figure]:
    """Measure with the built-in model, which answers immediately."""
    with daemon(setting.folder / "demo") as server:
        return await _measure(setting, server, "demo model", DEMO)


async def http(setting: Setting) -> list[Figure]:
    """Measure with an OpenAI-compatible model over HTTP that answers immediately, served by this process."""
    async with running_model() as model:
        settings = {"OPENAI_API_KEY": "sk-bench", "OPENAI_BASE_URL": model.base_url}
        with daemon(setting.folder / "http", settings) as server:
            return await _measure(setting, server, "HTTP model", HTTP)


async def prompt(setting: Setting) -> list[Figure]:
    """Measure the size of the request body for the message "hello", as JSON."""
    async with running_model() as model:
        settings = {"OPENAI_API_KEY": "sk-bench", "OPENAI_BASE_URL": model.base_url}
        with daemon(setting.folder / "prompt", settings) as server:
            await chat(server, people=1, messages=1)
    return [Figure("prompt for “hello”", len(model.newest) / 1000, "KB", target=Target(6, 3, lower=True))]


async def _measure(setting: Setting, server: Server, name: str, targets: Targets) -> list[Figure]:
    with echo() as control:
        rounds, messages = setting.scale.rounds, setting.scale.messages
        many = [await _round(server, control, CHATS, messages) for _ in range(rounds + 1)][1:]
        one = [await _round(server, control, 1, messages * 2) for _ in range(rounds + 1)][1:]
    return [
        _figure(f"{name}, {CHATS} chats", "messages/s", [(a.rate, b.rate) for a, b in many], targets.rate),
        _figure(f"{name}, {CHATS} chats, CPU", "ms/message", [(a.cpu_ms, b.cpu_ms) for a, b in many], targets.cpu_ms),
        _figure(f"{name}, 1 chat, p50", "ms", [(a.p50_ms, b.p50_ms) for a, b in one], targets.p50_ms),
    ]


async def _round(server: Server, control: Server, people: int, messages: int) -> tuple[Load, Load]:
    # The control gets more messages, because it is forty times as fast: with the same number it would end too soon to be
    # measured.
    against = await chat(control, people=people, messages=messages * 10)
    return await chat(server, people=people, messages=messages), against


def _figure(name: str, unit: str, pairs: list[tuple[float, float]], target: Target) -> Figure:
    return Figure(
        name,
        median(value for value, _ in pairs),
        unit,
        median(control for _, control in pairs),
        ECHO,
        median(value / control for value, control in pairs),
        target,
    )
