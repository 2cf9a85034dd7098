"""The daemon's public interface for clients: address, key, API and socket.

A cluster has several addresses. A client takes one that is ready, as a load balancer does.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

import aiohttp

from tests.crash.history import Shown, Timeline


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address with its key. `up` is set while the daemon is ready."""

    session: aiohttp.ClientSession
    url: str
    api_key: str
    up: asyncio.Event

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}"}

    async def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Return the status and the document of the answer to a request."""
        async with self.session.request(method, self.url + path, json=body, headers=self.headers) as response:
            return response.status, await response.json(content_type=None)

    async def timeline(self, message_id: str, wait: float) -> Timeline:
        """Return the state of a message. Wait up to `wait` seconds for its end."""
        url = f"{self.url}/api/messages/{message_id}/wait?timeout={max(wait, 0):.1f}"
        async with self.session.get(url, headers=self.headers) as response:
            if response.status == 404:
                return Timeline("missing", None, None)
            response.raise_for_status()
            body = await response.json()
            return Timeline(body["status"], body.get("reason"), body.get("reply"))

    async def job_of(self, message_id: str) -> str:
        """Return the id of the job that answers this message."""
        async with self.session.get(f"{self.url}/api/messages/{message_id}", headers=self.headers) as response:
            response.raise_for_status()
            return str((await response.json())["job"]["id"])

    async def retry(self, job_id: str) -> None:
        """Run a failed job again, as an operator does."""
        async with self.session.post(f"{self.url}/api/jobs/{job_id}/retry", headers=self.headers) as response:
            response.raise_for_status()

    async def open(self, user: str, channel: str, last_seq: int) -> tuple[aiohttp.ClientWebSocketResponse, int]:
        """Open a logged-in socket and return it with the newest sequence number of its channel."""
        socket = await self.session.ws_connect(self.url.replace("http", "ws", 1) + "/ws")
        hello = {"type": "auth", "userId": user, "userName": user, "channelId": channel, "lastSeq": last_seq}
        await socket.send_json(hello | {"apiKey": self.api_key})
        answer = await received(socket)
        if answer["type"] != "auth_ok":
            raise aiohttp.ClientError(f"the login was refused: {answer}")
        return socket, answer["seq"]

    async def transcript(self, channel: str, within: float) -> list[Shown]:
        """Return all messages of a channel, by a replay from its beginning."""
        socket, newest = await self.open("reader", channel, 0)
        shown: list[Shown] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while newest > (shown[-1].seq if shown else 0):
                    push = await received(socket)
                    if push["type"] == "message":
                        shown.append(shown_by(push))
        await socket.close()
        return shown


@dataclass(frozen=True, slots=True)
class Endpoints:
    """All addresses of a cluster."""

    endpoints: Sequence[Endpoint]

    async def one(self, rng: Random) -> Endpoint:
        """Return a random address that is ready. If none is, choose any address and wait for it."""
        chosen = rng.choice([endpoint for endpoint in self.endpoints if endpoint.up.is_set()] or self.endpoints)
        await chosen.up.wait()
        return chosen


async def received(socket: aiohttp.ClientWebSocketResponse) -> dict[str, Any]:
    """Return the next push. Raise `ConnectionError` if the socket is closed."""
    frame = await socket.receive()
    if frame.type is not aiohttp.WSMsgType.TEXT:
        raise ConnectionError(f"the socket closed: {frame.data}")
    push: dict[str, Any] = json.loads(frame.data)
    return push


def shown_by(push: dict[str, Any]) -> Shown:
    return Shown(push["seq"], push["messageId"], push["replyTo"], tuple(push.get("answers") or ()), push["content"])
