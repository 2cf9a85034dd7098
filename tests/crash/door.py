"""The daemon's public door as a client knows it: the address, the key, the API and the socket (interfaces.md §4).

A cluster has several; a client takes one that answers, as a load balancer would choose it.
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
class Door:
    """How clients reach the daemon. `up` is set while it says that it is ready."""

    session: aiohttp.ClientSession
    url: str
    api_key: str
    up: asyncio.Event

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}"}

    async def timeline(self, message_id: str, wait: float) -> Timeline:
        """What became of a message, after at most `wait` seconds."""
        url = f"{self.url}/api/messages/{message_id}/wait?timeout={max(wait, 0):.1f}"
        async with self.session.get(url, headers=self.headers) as response:
            if response.status == 404:
                return Timeline("missing", None, None)
            response.raise_for_status()
            body = await response.json()
            return Timeline(body["status"], body.get("reason"), body.get("reply"))

    async def job_of(self, message_id: str) -> str:
        """The job that is to answer this message."""
        async with self.session.get(f"{self.url}/api/messages/{message_id}", headers=self.headers) as response:
            response.raise_for_status()
            return str((await response.json())["job"]["id"])

    async def retry(self, job_id: str) -> None:
        """Run a failed job again, as an operator does by hand."""
        async with self.session.post(f"{self.url}/api/jobs/{job_id}/retry", headers=self.headers) as response:
            response.raise_for_status()

    async def open(self, user: str, channel: str, last_seq: int) -> tuple[aiohttp.ClientWebSocketResponse, int]:
        """A logged-in socket, and the newest sequence number of its channel."""
        socket = await self.session.ws_connect(self.url.replace("http", "ws", 1) + "/ws")
        hello = {"type": "auth", "userId": user, "userName": user, "channelId": channel, "lastSeq": last_seq}
        await socket.send_json(hello | {"apiKey": self.api_key})
        answer = await received(socket)
        if answer["type"] != "auth_ok":
            raise aiohttp.ClientError(f"not let in: {answer}")
        return socket, answer["seq"]

    async def transcript(self, channel: str, within: float) -> list[Shown]:
        """Everything that was ever shown in a channel, by a replay from its beginning."""
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
class Doors:
    """Every door there is."""

    doors: Sequence[Door]

    async def one(self, rng: Random) -> Door:
        """One that is open, or the next to open of those that are not."""
        chosen = rng.choice([door for door in self.doors if door.up.is_set()] or self.doors)
        await chosen.up.wait()
        return chosen


async def received(socket: aiohttp.ClientWebSocketResponse) -> dict[str, Any]:
    """The next push; `ConnectionError` when there will be none."""
    frame = await socket.receive()
    if frame.type is not aiohttp.WSMsgType.TEXT:
        raise ConnectionError(f"the socket closed: {frame.data}")
    push: dict[str, Any] = json.loads(frame.data)
    return push


def shown_by(push: dict[str, Any]) -> Shown:
    return Shown(push["seq"], push["messageId"], push["replyTo"], tuple(push.get("answers") or ()), push["content"])
