"""The models of the campaigns.

Their answers name the messages that they answer, with a delay, because the daemon is killed while it waits. `Model` records
every prompt, which shows the earlier answers that were kept. When it is asked for a summary, it repeats the answers that it
is shown, so that later prompts show whether the summary has them. No model fails, so every failure is the daemon's.
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
from tests.crash.tool_work import MODEL, Asks, Step, next_steps
from tests.crash.triggers import Observation, Triggers

#: Part of the instructions for extracting facts from a conversation or summarizing it.
OLDEST_PART = "oldest part of a conversation"

#: Shortest and longest time for a whole answer (seconds).
THINKING = (0.02, 0.2)


class Model:
    """The model behind the loopback server."""

    def __init__(
        self,
        *,
        rng: Random,
        #: Returns the number of a process's current boot by its name, which is its API key.
        boot_of: Callable[[str], int],
        triggers: Triggers | None = None,
        #: Shortest and longest time to a whole answer (seconds).
        delay: tuple[float, float] = THINKING,
    ) -> None:
        self._rng = rng
        self._boot_of = boot_of
        self._triggers = triggers or Triggers()
        self._delay = delay
        self._calls: list[Call] = []

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(self._calls)

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        place = received.headers["Authorization"].removeprefix("Bearer ")
        call = self._record(received.document, self._boot_of(place))
        observation = Observation(place, call.asked)
        self._triggers.asked.fire(observation)
        try:
            response = await self._behaviour(call, received.document).answer(received)
        except (ConnectionError, asyncio.CancelledError):
            self._calls[call.number] = replace(call, dropped=time.monotonic())
            raise
        self._calls[call.number] = replace(call, finished=time.monotonic())
        self._triggers.answered.fire(observation)
        return response

    def _behaviour(self, call: Call, document: Mapping[str, Any]) -> Behaviour:
        """Return the whole answer, or the tool calls that it needs first."""
        half = self._rng.uniform(*self._delay) / 2
        if call.keys:
            wanted = next_steps(call.asked[0], json.dumps(document["messages"]))
            return Delayed(half, Asks.of(wanted))
        pieces = words_of(call.answer)
        size = len(json.dumps(document["messages"])) // 4
        return Reply(pieces=pieces, delay=half, pause=half / len(pieces), usage=(size, 5))

    def _record(self, document: Mapping[str, Any], boot: int) -> Call:
        turns = [
            Turn(turn["role"], text_of(turn["content"])) for turn in document["messages"] if "tool_calls" not in turn
        ]
        instructions = "\n".join(turn.content for turn in turns if turn.role == "system")
        prompt = tuple(turn for turn in turns if turn.role in {"user", "assistant"})
        call = Call(len(self._calls), boot, time.monotonic(), None, prompt, "", answers_in(instructions))
        if OLDEST_PART in instructions:
            # A request for a summary answers no message.
            record = answers_in("\n".join(turn.content for turn in prompt))
            call = replace(call, prompt=(), answer="\n".join(record) or "Nothing was said.")
        elif steps := _wanted(call, document):
            call = replace(call, keys=tuple(step.key for step in steps))
        else:
            call = replace(call, answer=f"Answer {call.number} to {' '.join(call.asked)}.")
        self._calls.append(call)
        return call


@dataclass(frozen=True, slots=True)
class Delayed:
    """Another behaviour after a delay in seconds."""

    delay: float
    then: Behaviour

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        await asyncio.sleep(self.delay)
        return await self.then.answer(received)


def _wanted(call: Call, document: Mapping[str, Any]) -> list[Step]:
    """Return the tool calls that are needed before the answer; none if the request allows no tools."""
    if document.get("model") != MODEL or not document.get("tools") or document.get("tool_choice") == "none":
        return []
    return next_steps(call.asked[0], json.dumps(document["messages"])) if call.asked else []


def text_of(content: str | list[dict[str, str]]) -> str:
    """Return the text of a content, which is a string or a list of parts."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def words_of(answer: str) -> tuple[str, ...]:
    """Return the pieces in which an answer is streamed."""
    *words, last = answer.split(" ")
    return (*(f"{word} " for word in words), last)


#: Share of the answers that come slowly enough to be shown as drafts, and their length (seconds).
SLOW = 0.15
WRITING = (1.8, 3.5)
QUICK = (0.02, 0.3)
WORDS = ("water", "stone", "paper", "light", "river", "garden", "window", "morning", "summer", "bread")


class WritingModel:
    """The model behind the loopback server.

    A repeated request is answered quickly. Otherwise a job could crash five times and be given up, which is another
    test.
    """

    def __init__(self, *, rng: Random) -> None:
        self._rng = rng
        self._asked: set[tuple[str, ...]] = set()
        self.calls = 0

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        asked = _asked(received)
        self.calls += 1
        text = f"Answer {self.calls} to {' '.join(asked)}. {' '.join(self._rng.choices(WORDS, k=12))} That is all."
        slowly = self._rng.random() < SLOW and not any(asked[0] in before for before in self._asked if asked)
        self._asked.add(asked)
        pieces = words_of(text)
        seconds = self._rng.uniform(*(WRITING if slowly else QUICK))
        return await Reply(pieces=pieces, delay=seconds / 10, pause=seconds / len(pieces)).answer(received)


def _asked(received: ReceivedRequest) -> tuple[str, ...]:
    """Return the messages after the last reply of the prompt, each once."""
    turns = tuple(Turn(turn["role"], text_of(turn["content"])) for turn in received.document["messages"])
    prompt = tuple(turn for turn in turns if turn.role in {"user", "assistant"})
    return tuple(dict.fromkeys(Call(0, 0, 0.0, None, prompt, "").asked))
