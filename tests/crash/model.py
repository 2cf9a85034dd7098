"""The model of the campaign: its answers name what they answer, and it writes down every prompt.

It answers late on purpose, since the daemon is to die while it waits, and a prompt tells which earlier answers
survived. Asked to sum up a conversation, it repeats the answers that it is shown, so that later prompts tell whether
the summary has them. It never fails by itself: what goes wrong here is the daemon's doing.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from aiohttp import web

from arvis.testing.openai_server import Behaviour, ReceivedRequest, Reply
from tests.crash.history import Call, Turn, answers_in
from tests.crash.trigger import Moments, Sight
from tests.crash.work import MODEL, Asks, Step, next_steps

#: Part of the instructions of a model that extracts facts from a conversation or summarizes it.
OLDEST_PART = "oldest part of a conversation"

#: How long a whole answer takes, in seconds.
THINKING = (0.02, 0.2)


class Model:
    """What the loopback server plays. `life` gives the number of the life that a process is in, by its name, which
    is the key that it asks with; `delay` bounds the time to a whole answer, in seconds."""

    def __init__(
        self,
        *,
        rng: Random,
        life: Callable[[str], int],
        moments: Moments | None = None,
        delay: tuple[float, float] = THINKING,
    ) -> None:
        self._rng = rng
        self._life = life
        self._moments = moments or Moments()
        self._delay = delay
        self._calls: list[Call] = []

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(self._calls)

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        place = received.headers["Authorization"].removeprefix("Bearer ")
        call = self._note(received.document, self._life(place))
        sight = Sight(place, call.asked)
        self._moments.asked.fire(sight)
        try:
            response = await self._behaviour(call, received.document).answer(received)
        except (ConnectionError, asyncio.CancelledError):
            self._calls[call.number] = replace(call, dropped=time.monotonic())
            raise
        self._calls[call.number] = replace(call, finished=time.monotonic())
        self._moments.answered.fire(sight)
        return response

    def _behaviour(self, call: Call, document: Mapping[str, Any]) -> Behaviour:
        """A whole answer, or the calls of tools that it needs first."""
        half = self._rng.uniform(*self._delay) / 2
        if call.keys:
            wanted = next_steps(call.asked[0], json.dumps(document["messages"]))
            return Slowly(half, Asks.of(wanted))
        pieces = tuple(call.answer.split(" "))
        pieces = tuple(f"{piece} " for piece in pieces[:-1]) + pieces[-1:]
        size = len(json.dumps(document["messages"])) // 4
        return Reply(pieces=pieces, delay=half, pause=half / len(pieces), usage=(size, 5))

    def _note(self, document: Mapping[str, Any], boot: int) -> Call:
        said = [Turn(turn["role"], _text(turn["content"])) for turn in document["messages"] if "tool_calls" not in turn]
        told = "\n".join(turn.content for turn in said if turn.role == "system")
        prompt = tuple(turn for turn in said if turn.role in {"user", "assistant"})
        call = Call(len(self._calls), boot, time.monotonic(), None, prompt, "", answers_in(told))
        if OLDEST_PART in told:
            # It sums up, and answers nobody.
            record = answers_in("\n".join(turn.content for turn in prompt))
            call = replace(call, prompt=(), answer="\n".join(record) or "Nothing was said.")
        elif steps := _wanted(call, document):
            call = replace(call, keys=tuple(step.key for step in steps))
        else:
            call = replace(call, answer=f"Answer {call.number} to {' '.join(call.asked)}.")
        self._calls.append(call)
        return call


@dataclass(frozen=True, slots=True)
class Slowly:
    """Another behaviour, so many seconds later."""

    delay: float
    then: Behaviour

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        await asyncio.sleep(self.delay)
        return await self.then.answer(received)


def _wanted(call: Call, document: Mapping[str, Any]) -> list[Step]:
    """What is still to be done before the answer, where tools may be asked for."""
    if document.get("model") != MODEL or not document.get("tools") or document.get("tool_choice") == "none":
        return []
    return next_steps(call.asked[0], json.dumps(document["messages"])) if call.asked else []


def _text(content: str | list[dict[str, str]]) -> str:
    """Content is a text or a list of parts."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
