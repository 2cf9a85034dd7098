"""Simulated people who write over the socket: each waits for the reply to one message before writing the next.

As a program (`python -m bench.people URL API_KEY`) they are a separate process, which does not disturb the measurement
of a daemon in our process. The program prints the times at which each message was sent and answered.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from statistics import median

from websockets.asyncio.client import ClientConnection, connect

from bench.processes import cpu_seconds

#: The maximum wait for a reply in seconds; a longer wait is a failure of the run.
PATIENCE = 60.0

_REPLY = '{"type":"message"'


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address to which people connect."""

    url: str
    api_key: str


@dataclass(frozen=True, slots=True)
class Server:
    """A server under load: the daemon or its control."""

    #: The addresses, over which people are spread evenly.
    endpoints: Sequence[Endpoint]
    #: The ids of the processes.
    pids: Sequence[int]


@dataclass(frozen=True, slots=True)
class Load:
    """The result of one round."""

    #: Messages per second.
    rate: float
    #: The server's processor time per message, in ms.
    cpu_ms: float
    #: The median wait for a reply, in ms.
    p50_ms: float


@dataclass(frozen=True, slots=True)
class Exchange:
    """The times of a message and of its reply, in seconds of a clock that all processes of the machine share."""

    sent: float
    answered: float
    #: The text of the reply; "" for times from another process.
    text: str = ""


class Person:
    """A simulated person. `pause` is the number of seconds before each message."""

    def __init__(self, socket: ClientConnection, pause: float) -> None:
        self._socket = socket
        self._pause = pause

    async def ask(self, text: str) -> Exchange:
        if self._pause:
            await asyncio.sleep(self._pause)
        sent = time.perf_counter()
        request = {"type": "message", "id": secrets.token_hex(8), "content": text}
        await self._socket.send(json.dumps(request))
        async with asyncio.timeout(PATIENCE):
            while not (frame := str(await self._socket.recv())).startswith(_REPLY):
                pass
        return Exchange(sent, time.perf_counter(), json.loads(frame)["content"])


@asynccontextmanager
async def person(endpoint: Endpoint, *, pause: float = 0.0) -> AsyncIterator[Person]:
    """Connect a new person, who writes in a separate channel."""
    name = secrets.token_hex(6)
    async with connect(endpoint.url.replace("http", "ws", 1) + "/ws", compression=None) as socket:
        greeting = {"type": "auth", "userId": name, "userName": "Bench", "channelId": f"web-{name}"}
        await socket.send(json.dumps({**greeting, "apiKey": endpoint.api_key}))
        welcome = json.loads(await socket.recv())
        if welcome["type"] != "auth_ok":
            raise RuntimeError(f"the server said {welcome}")
        yield Person(socket, pause)


@asynccontextmanager
async def crowd(endpoints: Sequence[Endpoint], people: int, *, pause: float = 0.0) -> AsyncIterator[list[Person]]:
    async with AsyncExitStack() as stack:
        spread = itertools.islice(itertools.cycle(endpoints), people)
        yield [await stack.enter_async_context(person(endpoint, pause=pause)) for endpoint in spread]


async def exchange_all(everybody: Sequence[Person], messages: int) -> list[Exchange]:
    """Let all people write this number of messages each, at the same time."""
    talks = await asyncio.gather(*(_converse(each, messages) for each in everybody))
    return [exchange for each in talks for exchange in each]


async def chat(server: Server, *, people: int, messages: int) -> Load:
    """Run `people` new conversations with this number of messages each, all at the same time."""
    async with crowd(server.endpoints, people) as everybody:
        used, begun = [cpu_seconds(pid) for pid in server.pids], time.perf_counter()
        exchanges = await exchange_all(everybody, messages)
        seconds = time.perf_counter() - begun
        cpu = sum(cpu_seconds(pid) - before for pid, before in zip(server.pids, used, strict=True))
    waits = [exchange.answered - exchange.sent for exchange in exchanges]
    return Load(len(exchanges) / seconds, cpu / len(exchanges) * 1000, median(waits) * 1000)


async def _converse(each: Person, messages: int) -> list[Exchange]:
    return [await each.ask(f"hello, number {number}") for number in range(messages)]


async def _visit(endpoint: Endpoint, *, people: int, messages: int, pause: float) -> list[Exchange]:
    async with crowd([endpoint], people, pause=pause) as everybody:
        return await exchange_all(everybody, messages)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.people", description=__doc__)
    parser.add_argument("url")
    parser.add_argument("api_key")
    parser.add_argument("--people", type=int, default=1)
    parser.add_argument("--messages", type=int, default=25)
    parser.add_argument("--pause", type=float, default=0.0)
    given = parser.parse_args()
    endpoint = Endpoint(given.url, given.api_key)
    exchanges = asyncio.run(_visit(endpoint, people=given.people, messages=given.messages, pause=given.pause))
    print(json.dumps([[each.sent, each.answered] for each in exchanges]))


if __name__ == "__main__":
    main()
