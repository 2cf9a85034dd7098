"""The model of the campaign: its answers name what they answer, and it writes down every prompt.

It answers late on purpose, since the daemon is to die while it waits, and a prompt tells which earlier answers
survived. It never fails by itself: what goes wrong here is the daemon's doing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from aiohttp import web

from arvis.testing.openai_server import ReceivedRequest, Reply
from tests.crash.history import Call, Turn
from tests.crash.trigger import Trigger


class Model:
    """What the loopback server plays. `boot` tells which life of the daemon is asking; `delay` bounds the time to
    a whole answer, in seconds; `asked` fires when a request is there."""

    def __init__(self, *, rng: Random, boot: Callable[[], int], delay: tuple[float, float] = (0.02, 0.2)) -> None:
        self._rng = rng
        self._boot = boot
        self._delay = delay
        self._calls: list[Call] = []
        self.asked = Trigger()

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(self._calls)

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        call = self._note(received.document)
        self.asked.fire()
        pieces = tuple(call.answer.split(" "))
        pieces = tuple(f"{piece} " for piece in pieces[:-1]) + pieces[-1:]
        half = self._rng.uniform(*self._delay) / 2
        response = await Reply(pieces=pieces, delay=half, pause=half / len(pieces)).answer(received)
        self._calls[call.number] = replace(call, finished=time.monotonic())
        return response

    def _note(self, document: Mapping[str, Any]) -> Call:
        prompt = tuple(
            Turn(turn["role"], _text(turn["content"]))
            for turn in document["messages"]
            if turn["role"] in {"user", "assistant"}
        )
        call = Call(len(self._calls), self._boot(), time.monotonic(), None, prompt, "")
        call = replace(call, answer=f"Answer {call.number} to {' '.join(call.asked)}.")
        self._calls.append(call)
        return call


def _text(content: str | list[dict[str, str]]) -> str:
    """Content is a text or a list of parts."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
