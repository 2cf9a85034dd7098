"""The users of the campaign. Each writes in its own channel, over a socket or over HTTP.

They are well-behaved clients: they write one message at a time until it is acknowledged, repeat it with the same id
after every failure, and resume from the last sequence number after every reconnect. They record and do not judge.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any, Protocol

import aiohttp

from tests.crash.endpoint import Endpoint, Endpoints, shown_by
from tests.crash.history import Sent, Shown, token_of
from tests.crash.triggers import Observation, Trigger, Triggers

ACK_WITHIN = 15.0
PAUSE_BETWEEN_TRIES = 0.02
#: The text before the token of a message.
REQUEST = "Please answer"
#: Interval between two looks for open questions (seconds).
POLL = 0.2
#: Share of the acknowledged messages that are sent again, as if the client had lost the acknowledgement.
RESENT = 0.05
#: Probability that a user writes several messages in a row.
BURST = 0.25
#: Average time after which a client drops its socket by itself (seconds).
CONNECTED = 2.0

Refused = (aiohttp.ClientError, TimeoutError, ConnectionError)


class Sender(Protocol):
    """A user's connection to its channel."""

    async def send(self, token: str, content: str) -> str:
        """Try once to send, and return the message id of the acknowledgement. Raise one of `Refused` if it fails."""
        ...


class User:
    """Writes numbered messages at random instants, sometimes several in a row.

    When the trigger `ack_lost` has an action, the user loses the acknowledgement and sends the message again.
    """

    def __init__(
        self,
        *,
        channel: str,
        sender: Sender,
        rng: Random,
        #: Messages per second on average.
        rate: float,
        #: Returns the next message number of the episode.
        number: Callable[[], int],
        triggers: Triggers,
        request: str = REQUEST,
    ) -> None:
        self._request = request
        self._channel = channel
        self._sender = sender
        self._rng = rng
        self._rate = rate
        self._number = number
        self._triggers = triggers
        self._sent: list[Sent] = []

    @property
    def sent(self) -> tuple[Sent, ...]:
        return tuple(self._sent)

    async def write(self, over: asyncio.Event) -> None:
        """Write until `over` is set. A message that was begun by then is repeated until it is acknowledged."""
        while not over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), self._rng.expovariate(self._rate))
                return
            for _ in range(self._rng.randint(2, 4) if self._rng.random() < BURST else 1):
                await self._send(token_of(self._number()))

    async def _send(self, token: str) -> None:
        started = time.monotonic()
        place = len(self._sent)
        self._sent.append(Sent(token, self._channel, started, None, (), 0))
        ids, tries = await self._send_until_acknowledged(token)
        acked = time.monotonic()
        if self._rng.random() < RESENT:
            again, more = await self._send_until_acknowledged(token)
            ids, tries = [*ids, *again], tries + more
        self._sent[place] = Sent(token, self._channel, started, acked, tuple(dict.fromkeys(ids)), tries)

    async def _send_until_acknowledged(self, token: str) -> tuple[list[str], int]:
        """Repeat a message until it is acknowledged. Return all ids in acknowledgements, and the number of tries."""
        ids: list[str] = []
        tries = 0
        while True:
            tries += 1
            try:
                ids.append(await self._sender.send(token, f"{self._request} {token}."))
            except Refused:
                await asyncio.sleep(PAUSE_BETWEEN_TRIES)
                continue
            observation = Observation(tokens=(token,))
            self._triggers.acknowledged.fire(observation)
            if not self._triggers.ack_lost.fire(observation):
                return ids, tries


async def answer_questions(endpoints: Endpoints, rng: Random) -> None:
    """Answer the open questions of turns until cancelled: a call that may have been made is not made again."""
    while True:
        await asyncio.sleep(POLL)
        with suppress(*Refused):
            endpoint = await endpoints.one(rng)
            async with endpoint.session.get(
                f"{endpoint.url}/api/questions?open=true", headers=endpoint.headers
            ) as response:
                response.raise_for_status()
                questions = (await response.json())["items"]
            for question in questions:
                answer = {"decision": "answer", "text": "skip"}
                url = f"{endpoint.url}/api/questions/{question['id']}/answer"
                async with endpoint.session.post(url, json=answer, headers=endpoint.headers):
                    """The question may already be answered, or the turn may have ended."""


class HttpSender:
    """Sends with `POST /api/messages`. A refusal (4xx) is a problem, because this client sends only valid requests."""

    #: Maximum seconds of a request.
    within = ACK_WITHIN

    def __init__(self, *, endpoints: Endpoints, channel: str, rng: Random, problem: Callable[[str], None]) -> None:
        self._endpoints = endpoints
        self._channel = channel
        self._rng = rng
        self._problem = problem

    async def send(self, token: str, content: str) -> str:
        endpoint = await self._endpoints.one(self._rng)
        async with endpoint.session.post(
            f"{endpoint.url}/api/messages",
            json=self._body(token, content),
            headers=endpoint.headers,
            timeout=aiohttp.ClientTimeout(total=self.within),
        ) as response:
            if response.status != 202:
                text = (await response.text())[:300]
                self._problem(f"POST of {token} was answered {response.status}: {text}")
                raise aiohttp.ClientError(text)
            answer = await response.json()
            return str(answer["messageId"])

    def _body(self, token: str, content: str) -> dict[str, Any]:
        user = self._channel
        return {"id": token, "content": content, "userId": user, "userName": user, "channelId": user}


class SocketSender:
    """Sends and listens over one socket. It reopens a broken socket, and sometimes drops it by itself.

    `shown` are the messages that the client received over all its connections, in order; `on_message` fires for each of
    them.
    """

    def __init__(
        self, *, endpoints: Endpoints, channel: str, rng: Random, on_message: Trigger, problem: Callable[[str], None]
    ) -> None:
        self._endpoints = endpoints
        self._on_message = on_message
        self._channel = channel
        self._rng = rng
        self._problem = problem
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._connected = asyncio.Event()
        self._acks: dict[str, asyncio.Future[str]] = {}
        self._shown: list[Shown] = []

    @property
    def shown(self) -> tuple[Shown, ...]:
        return tuple(self._shown)

    @property
    def last_seq(self) -> int:
        return max((shown.seq for shown in self._shown), default=0)

    async def send(self, token: str, content: str) -> str:
        await self._connected.wait()
        assert self._socket is not None
        ack = self._acks[token] = asyncio.get_running_loop().create_future()
        try:
            await self._socket.send_json({"type": "message", "content": content, "id": token})
            return await asyncio.wait_for(ack, ACK_WITHIN)
        finally:
            del self._acks[token]

    async def listen(self) -> None:
        """Stay connected until cancelled."""
        while True:
            try:
                await self._stay_connected(await self._endpoints.one(self._rng))
            except Refused:
                await asyncio.sleep(PAUSE_BETWEEN_TRIES)

    async def _stay_connected(self, endpoint: Endpoint) -> None:
        self._socket, _ = await endpoint.open(self._channel, self._channel, self.last_seq)
        self._connected.set()
        try:
            async with asyncio.timeout(self._rng.expovariate(1 / CONNECTED)):
                async for frame in self._socket:
                    self._take(json.loads(frame.data))
        finally:
            self._connected.clear()
            for ack in self._acks.values():
                if not ack.done():
                    ack.set_exception(ConnectionError("the socket broke"))
            await self._socket.close()

    def _take(self, push: dict[str, Any]) -> None:
        match push["type"]:
            case "message":
                self._shown.append(shown_by(push))
                self._on_message.fire(Observation())
            case "ack":
                ack = self._acks.get(push["id"])
                if ack is not None and not ack.done():
                    ack.set_result(push["messageId"])
            case "error":
                self._problem(f"The socket of {self._channel} received an error: {push}")
