"""A prompt that kills every process that calls the model about it, until it is given up; then it is answered and
retried."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from random import Random
from typing import Any, TypeVar

from tests.crash.cluster import Cluster
from tests.crash.endpoint import Endpoints
from tests.crash.history import Poisoned, Timeline, token_of
from tests.crash.triggers import Observation, Trigger
from tests.crash.users import PAUSE_BETWEEN_TRIES, Refused, Sender

CHANNEL = "chat-poison"
TOKEN = token_of(999_999)

R = TypeVar("R")


class Poison:
    """Acts as the writer of the prompt and as the operator. `asked` fires when the model is called."""

    def __init__(self, *, cluster: Cluster, endpoints: Endpoints, asked: Trigger, sender: Sender, rng: Random) -> None:
        self._cluster = cluster
        self._endpoints = endpoints
        self._asked = asked
        self._sender = sender
        self._rng = rng
        self._kills = 0

    async def play(self, patience: float) -> Poisoned:
        """Play the prompt and the retry. Each may take `patience` seconds."""
        await self._cluster.start()
        self._arm()
        message_id = await self._with_restarts(self._send())
        ended = await self._with_restarts(self._end_of(message_id, patience))
        self._asked.disarm()
        endpoint = await self._endpoints.one(self._rng)
        if ended.status == "failed":
            await endpoint.retry(await endpoint.job_of(message_id))
        retried = await self._end_of(message_id, patience)
        shown = await endpoint.transcript(CHANNEL, within=10)
        return Poisoned(TOKEN, message_id, self._kills, ended, retried, tuple(shown))

    def _arm(self) -> None:
        self._asked.arm(self._kill, token=TOKEN)

    def _kill(self, observation: Observation) -> None:
        assert observation.place is not None, "the model knows the calling process"
        self._kills += 1
        self._cluster.named(observation.place).kill()
        self._arm()

    async def _with_restarts(self, work: Coroutine[Any, Any, R]) -> R:
        """Return the result of the coroutine, and restart every process that is killed meanwhile."""
        task = asyncio.create_task(work)
        try:
            while not task.done():
                killed = asyncio.create_task(self._cluster.first_killed())
                await asyncio.wait({task, killed}, return_when=asyncio.FIRST_COMPLETED)
                if killed.done():
                    killed.result()
                    await self._cluster.start()
                else:
                    killed.cancel()
            return task.result()
        finally:
            task.cancel()

    async def _send(self) -> str:
        while True:
            try:
                return await self._sender.send(TOKEN, f"Please answer {TOKEN}.")
            except Refused:
                await asyncio.sleep(PAUSE_BETWEEN_TRIES)

    async def _end_of(self, message_id: str, patience: float) -> Timeline:
        end = time.monotonic() + patience
        timeline = Timeline("missing", None, None)
        while time.monotonic() < end:
            endpoint = await self._endpoints.one(self._rng)
            with suppress(*Refused):
                timeline = await endpoint.timeline(message_id, wait=min(end - time.monotonic(), 10))
                if timeline.status in {"answered", "failed", "dropped", "cancelled", "expired"}:
                    return timeline
            await asyncio.sleep(PAUSE_BETWEEN_TRIES)
        return timeline
