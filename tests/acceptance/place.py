"""The running daemon with a model server beside it, and the clients of a person who talks to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from websockets.asyncio.client import ClientConnection, connect

from arvis.testing.openai_server import OpenAIServer, openai_server
from tests.acceptance.daemon import Daemon

#: Time limit in seconds. Only a broken daemon reaches it.
PATIENCE = 30


@dataclass(slots=True)
class Place:
    """The daemon, its model server, and a client that holds the daemon's key."""

    daemon: Daemon
    model: OpenAIServer
    http: aiohttp.ClientSession

    async def call(self, method: str, path: str, **more: Any) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {more.pop('key', self.daemon.api_key)}"}
        async with self.http.request(method, self.daemon.url + path, headers=headers, **more) as response:
            return response.status, await response.json()

    async def post(self, content: str, channel: str, **more: Any) -> str:
        status, answer = await self.call(
            "POST", "/api/messages", json={"content": content, "channelId": channel, **more}
        )
        assert status == 202, answer
        return str(answer["messageId"])

    async def wait(self, message_id: str) -> dict[str, Any]:
        _, timeline = await self.call("GET", f"/api/messages/{message_id}/wait", params={"timeout": str(PATIENCE)})
        assert isinstance(timeline, dict)
        return timeline

    async def ask(self, content: str, channel: str, **more: Any) -> dict[str, Any]:
        return await self.wait(await self.post(content, channel, **more))

    @asynccontextmanager
    async def socket(self, channel: str, last_seq: int | None = None) -> AsyncIterator[Socket]:
        async with connect(self.daemon.url.replace("http", "ws") + "/ws", max_size=None) as connection:
            socket = Socket(connection)
            resume = {} if last_seq is None else {"lastSeq": last_seq}
            await socket.send(type="auth", apiKey=self.daemon.api_key, channelId=channel, **resume)
            assert (await socket.receive())["type"] == "auth_ok"
            yield socket


class Socket:
    """A connection to the daemon's socket; `seen` holds all received frames in order."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.seen: list[dict[str, Any]] = []

    async def send(self, **frame: Any) -> None:
        await self.connection.send(json.dumps(frame))

    async def receive(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            frame = json.loads(await self.connection.recv())
        self.seen.append(frame)
        return dict(frame)

    async def until(self, kind: str, **fields: Any) -> dict[str, Any]:
        while True:
            frame = await self.receive()
            if frame["type"] == kind and fields.items() <= frame.items():
                return frame

    async def say(self, content: str, **more: Any) -> str:
        """Send a message, and return its id after the acknowledgement."""
        await self.send(type="message", content=content, **more)
        return str((await self.until("ack"))["messageId"])

    async def nothing_more(self) -> bool:
        """Return true if the server sends nothing before it answers a ping."""
        await self.send(type="ping")
        return bool((await self.receive())["type"] == "pong")


@asynccontextmanager
async def opened(folder: Path, settings: Mapping[str, str], *, under: Sequence[str] = ()) -> AsyncIterator[Place]:
    async with openai_server() as model, aiohttp.ClientSession() as http:
        daemon = Daemon(folder, settings={**settings, "OPENAI_BASE_URL": model.base_url}, under=under)
        try:
            await asyncio.to_thread(daemon.start)
            yield Place(daemon, model, http)
        finally:
            await asyncio.to_thread(daemon.close)
