"""Helpers of the memory and conductor tests: they send messages, and read prompts, replies and questions.

The model is the scripted server of `Place`: it returns the reply that a test sets, and records its requests.
"""

from __future__ import annotations

import asyncio
from typing import Any

from arvis.approvals import as_markdown
from arvis.testing.openai_server import Reply
from tests.acceptance.place import Place

ANN_HERSELF = {"userId": "ann", "userName": "Ann"}
BEN_HIMSELF = {"userId": "ben", "userName": "Ben"}


async def heard(place: Place, reply: str, room: str, asked: str = "Go on.", **who: str) -> str:
    """Return the answer that people see when the model writes `reply`."""
    place.model.script.append(Reply((reply,)))
    timeline = await place.ask(asked, room, **who)
    assert timeline["status"] == "answered", timeline
    return str(timeline["reply"])


async def prompt(place: Place, room: str, asked: str = "Hello", **who: str) -> str:
    """Send this text, and return the whole prompt of its last model call."""
    timeline = await place.ask(asked, room, **who)
    assert timeline["status"] == "answered", timeline
    return told(place, -1)


def told(place: Place, number: int) -> str:
    """Return the texts of the request with this number that reached the model."""
    return "\n".join(str(turn["content"]) for turn in place.model.requests[number].document["messages"])


async def command(place: Place, text: str, room: str, **who: str) -> str:
    """Send a text command, expect that no model is called, and return the answer."""
    before = len(place.model.requests)
    timeline = await place.ask(text, room, **who)
    assert (timeline["status"], len(place.model.requests)) == ("answered", before)
    return str(timeline["reply"])


async def listed(place: Place, path: str, **query: str) -> list[dict[str, Any]]:
    status, page = await place.call("GET", path, params=query)
    assert status == 200, page
    return list(page["items"])


async def slugs(place: Place) -> set[str]:
    return {agent["slug"] for agent in await listed(place, "/api/agents")}


async def question_of(place: Place, reply: str, room: str, asked: str = "Go on.") -> tuple[str, dict[str, Any]]:
    """Let the model write `reply`. Return the answer and the question that it causes, once the question is shown in the
    room."""
    async with place.socket(room) as socket:
        seen = await heard(place, reply, room, asked)
        answer, shown = [await socket.until("message") for _ in range(2)]
    (question,) = await listed(place, "/api/questions")
    assert answer["content"] == seen
    assert shown["content"].startswith(as_markdown(question["prompt"]))
    assert shown["buttons"]
    assert all(question["id"] in button["id"] for button in shown["buttons"])
    return seen, question


async def arvis(place: Place, *arguments: str) -> str:
    """Run a command of the owner, expect success, and return its output."""
    done = await asyncio.to_thread(place.daemon.arvis, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout
