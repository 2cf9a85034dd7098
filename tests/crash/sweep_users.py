"""The conversation of a sweep: a user over HTTP, a user at a socket, and a model that fails once.

Like the users of the campaign, they repeat a message with the same id until it is acknowledged. Each line of the script
causes certain system calls.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from arvis.testing.openai_server import Failure, ReceivedRequest
from tests.crash.endpoint import Endpoint
from tests.crash.history import Sent, Timeline, tokens_in
from tests.crash.model import Model
from tests.crash.users import HttpSender, Refused, Sender, SocketSender

HTTP, SOCKET = "http", "socket"
PLAIN, WITH_FILE, FAILS_ONCE, FIRST, SECOND = (f"m-{number:06}" for number in range(1, 6))
FILE = b"The bytes of an attachment.\n" * 300
#: A request without any answer after this time hangs (seconds).
PATIENCE = 30.0
PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class Line:
    """A message of the script. With `waits`, its writer continues only when it is answered."""

    channel: str
    token: str
    waits: bool = True


#: A simple message, one with a file, one at which the model fails first, and two in a row, which one turn may answer.
SCRIPT = (
    *(Line(HTTP, token) for token in (PLAIN, WITH_FILE, FAILS_ONCE)),
    *(Line(SOCKET, FIRST, waits=False), Line(SOCKET, SECOND)),
)
#: The script for a check that a daemon works.
GREETING = (Line(HTTP, PLAIN), Line(SOCKET, FIRST))


class FailsOnceModel:
    """Refuses one message once, with a `Retry-After` that is longer than the run.

    The daemon then asks the next account immediately, and stores the cooldown of the first one.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._failed = False

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        newest = str(received.document["messages"][-1]["content"])
        if not self._failed and FAILS_ONCE in tokens_in(newest):
            self._failed = True
            return await Failure(503, headers={"Retry-After": "30"}).answer(received)
        return await self._model.answer(received)


class HttpPost(HttpSender):
    """Sends over HTTP, one message with a file."""

    within = PATIENCE

    def _body(self, token: str, content: str) -> dict[str, Any]:
        file = {"filename": "a.txt", "contentType": "text/plain", "data": base64.b64encode(FILE).decode()}
        return super()._body(token, content) | ({"attachments": [file]} if token == WITH_FILE else {})


class FailFastSocket(SocketSender):
    """A socket that stops repeating a message as soon as it is refused."""

    def _take(self, push: dict[str, Any]) -> None:
        if push["type"] != "error":
            super()._take(push)
            return
        self._problem(f"socket {push['error']['code']}: {push['error']['message']}")
        for ack in self._acks.values():
            if not ack.done():
                ack.set_exception(ConnectionError("refused"))


class Conversation:
    """Plays the script over several boots. Failures that no client may meet go to `problem`."""

    def __init__(
        self, endpoint: Endpoint, post: HttpPost, socket: FailFastSocket, *, problem: Callable[[str], None]
    ) -> None:
        self._endpoint = endpoint
        self._senders: Mapping[str, Sender] = {HTTP: post, SOCKET: socket}
        self._problem = problem
        self._sent: dict[str, Sent] = {}
        self.timelines: dict[str, Timeline] = {}

    @property
    def sent(self) -> Sequence[Sent]:
        return tuple(self._sent.values())

    async def play(self, script: Sequence[Line]) -> None:
        """Write every line, and wait for its acknowledgement and result."""
        await asyncio.gather(
            *(self._write([line for line in script if line.channel == each]) for each in self._senders)
        )

    async def _write(self, lines: Sequence[Line]) -> None:
        for line in lines:
            await self._send(line)
            if line.waits:
                await self._answered(line)
        for line in lines:
            await self._answered(line)

    async def _send(self, line: Line) -> None:
        started = time.monotonic()
        self._sent[line.token] = Sent(line.token, line.channel, started, None, (), 0)
        tries = 0
        while True:
            await self._endpoint.up.wait()
            tries += 1
            begun = time.monotonic()
            try:
                message_id = await self._senders[line.channel].send(line.token, f"Please answer {line.token}.")
            except Refused as refused:
                self._check_wait(line.token, refused, begun)
                await asyncio.sleep(PAUSE)
                continue
            self._sent[line.token] = Sent(line.token, line.channel, started, time.monotonic(), (message_id,), tries)
            return

    async def _answered(self, line: Line) -> None:
        message_id = self._sent[line.token].ids[0]
        while message_id not in self.timelines:
            await self._endpoint.up.wait()
            begun = time.monotonic()
            try:
                timeline = await self._endpoint.timeline(message_id, wait=PATIENCE / 2)
            except Refused as refused:
                self._check_wait(line.token, refused, begun)
                await asyncio.sleep(PAUSE)
                continue
            if timeline.status not in {"accepted", "queued", "running", "waiting"}:
                self.timelines[message_id] = timeline

    def _check_wait(self, token: str, refused: Exception, begun: float) -> None:
        if isinstance(refused, TimeoutError):
            self._problem(f"{token} had no answer, good or bad, for {time.monotonic() - begun:.0f} s")


async def within(seconds: float, task: asyncio.Task[None]) -> bool:
    """Return whether the task ends in this time. If it does not, it continues."""
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(task), seconds)
    return task.done()
