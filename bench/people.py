"""People who write over the socket: each waits for the reply to one message before writing the next."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from statistics import median

from websockets.asyncio.client import ClientConnection, connect

from bench.processes import cpu_seconds

#: A reply that takes longer (seconds) is a failure of the run.
PATIENCE = 60.0

_REPLY = '{"type":"message"'


@dataclass(frozen=True, slots=True)
class Server:
    """A server under load: the daemon or its control."""

    url: str
    api_key: str
    pid: int


@dataclass(frozen=True, slots=True)
class Load:
    """What one round showed: messages a second, the server's processor time and the median wait, both in ms."""

    rate: float
    cpu_ms: float
    p50_ms: float


class Person:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def ask(self, text: str) -> float:
        """Seconds from the question to the reply."""
        begun = time.perf_counter()
        frame = {"type": "message", "id": secrets.token_hex(8), "content": text}
        await self._socket.send(json.dumps(frame))
        async with asyncio.timeout(PATIENCE):
            while not str(await self._socket.recv()).startswith(_REPLY):
                pass
        return time.perf_counter() - begun


@asynccontextmanager
async def person(server: Server) -> AsyncIterator[Person]:
    """Somebody new, in a channel of their own."""
    name = secrets.token_hex(6)
    async with connect(server.url.replace("http", "ws", 1) + "/ws", compression=None) as socket:
        greeting = {"type": "auth", "userId": name, "userName": "Bench", "channelId": f"web-{name}"}
        await socket.send(json.dumps({**greeting, "apiKey": server.api_key}))
        welcome = json.loads(await socket.recv())
        if welcome["type"] != "auth_ok":
            raise RuntimeError(f"the server said {welcome}")
        yield Person(socket)


async def chat(server: Server, *, people: int, messages: int) -> Load:
    """`people` new conversations of so many messages each, all at once."""
    async with AsyncExitStack() as stack:
        crowd = [await stack.enter_async_context(person(server)) for _ in range(people)]
        cpu, begun = cpu_seconds(server.pid), time.perf_counter()
        waits = await asyncio.gather(*(_converse(each, messages) for each in crowd))
        seconds, cpu = time.perf_counter() - begun, cpu_seconds(server.pid) - cpu
    total = people * messages
    return Load(total / seconds, cpu / total * 1000, median(wait for each in waits for wait in each) * 1000)


async def _converse(each: Person, messages: int) -> list[float]:
    return [await each.ask(f"hello, number {number}") for number in range(messages)]
