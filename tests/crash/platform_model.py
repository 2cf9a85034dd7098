"""The model of the campaign with platforms: its answers name the messages that they answer, and some take long."""

from __future__ import annotations

from random import Random

from aiohttp import web

from arvis.testing.openai_server import ReceivedRequest, Reply
from tests.crash.history import Call, Turn
from tests.crash.model import text_of, words_of

#: Share of the answers that come slowly enough to be shown as drafts, and their length (seconds).
SLOW = 0.15
WRITING = (1.8, 3.5)
THINKING = (0.02, 0.3)
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
        seconds = self._rng.uniform(*(WRITING if slowly else THINKING))
        return await Reply(pieces=pieces, delay=seconds / 10, pause=seconds / len(pieces)).answer(received)


def _asked(received: ReceivedRequest) -> tuple[str, ...]:
    """Return the messages after the last reply of the prompt, each once."""
    turns = tuple(Turn(turn["role"], text_of(turn["content"])) for turn in received.document["messages"])
    prompt = tuple(turn for turn in turns if turn.role in {"user", "assistant"})
    return tuple(dict.fromkeys(Call(0, 0, 0.0, None, prompt, "").asked))
