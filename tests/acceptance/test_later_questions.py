"""Second and third questions about a picture, a PDF and a table from a tool, on each platform, before and after a summary
has replaced their messages. One shipped daemon serves all platforms, with their real client libraries.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from arvis.testing.openai_server import CallsTools, OpenAIServer, ReceivedRequest, Reply, openai_server
from tests.acceptance.daemon import Daemon
from tests.acceptance.place import Place
from tests.acceptance.town import PLATFORMS, Chats, settle_in, text_of, town, until
from tests.flows.media_kit import pdf, png

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOMY, NARROW = 60_000, 8_000
AGENT = {
    "slug": "helper",
    "name": "Helper",
    "tools": ["read_file"],
    "model": "openai/gpt-4o-mini",
    "context_tokens": ROOMY,
}
PICTURE, PLAN, ROW = png(3, 5), "the crane is green", "berth 17 is free"
#: Long enough for a reference: a summary names only long results.
TABLE = "\n".join(["berth,state", *(f"berth {number} is taken" for number in range(200, 260)), ROW])
#: The references of the three by their turns.
REFERENCES = {"picture": "f1.1", "plan": "f2.1", "table": "r3.1"}
#: The maximum number of questions until a summary replaces the first ones.
MOST_FILLERS = 12


class Reader:
    """A model that calls the tool that a question names, once."""

    async def answer(self, received: ReceivedRequest) -> Any:
        messages = received.document["messages"]
        if "tools" not in received.document:
            return await Reply(("Berths and a crane were discussed.",)).answer(received)
        newest = max(at for at, each in enumerate(messages) if "Question:" in text_of(each) or at == 0)
        question = text_of(messages[newest])
        used = any(each["role"] == "tool" for each in messages[newest:])
        if not used and "the table" in question:
            return await CallsTools((("read_file", json.dumps({"path": "berths.csv"})),)).answer(received)
        if not used and "read again" in question:
            calls = [("read_again", json.dumps({"reference": each})) for each in REFERENCES.values()]
            return await CallsTools(tuple(calls)).answer(received)
        return await Reply(
            (f"Answer {len(messages)}. " + "We agreed on that. " * (300 if "Fill" in question else 1),)
        ).answer(received)


@dataclass
class Home:
    place: Place
    chats: Mapping[str, Chats]

    @property
    def model(self) -> OpenAIServer:
        return self.place.model

    def rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(self.place.daemon.data / "arvis.db")) as connection:
            return connection.execute(query, values).fetchall()

    async def widen(self, tokens: int) -> None:
        status, answer = await self.place.call("PATCH", "/api/agents/helper", json={"contextTokens": tokens})
        assert status == 200, answer


@dataclass
class Talk:
    """A direct conversation on one platform."""

    home: Home
    platform: str

    @property
    def conversation(self) -> str:
        place = "channel = 'later'" if self.platform == "api" else "channel <> 'later'"
        platform = "web" if self.platform in {"api", "web"} else self.platform
        return str(self.home.rows(f"SELECT id FROM conversations WHERE platform = ? AND {place}", platform)[-1][0])

    async def ask(self, text: str, file: tuple[str, str, bytes] | None = None) -> ReceivedRequest:
        """Ask a question, wait for its answer, and return the last request of its turn."""
        question = f"Question: {text}"
        before = len(self.home.rows("SELECT 1 FROM messages WHERE role = 'assistant'"))
        if self.platform in PLATFORMS:
            stage = self.home.chats[self.platform].stage
            await (stage.say(question) if file is None else stage.say_file(*file, text=question))
        elif self.platform == "web" and file is None:
            async with self.home.place.socket("web-later") as socket:
                await socket.say(question, agent="helper")
        else:
            channel = "later" if self.platform == "api" else "web-later"
            uploads = (
                []
                if file is None
                else [{"filename": file[0], "contentType": file[1], "data": base64.b64encode(file[2]).decode()}]
            )
            await self.home.place.post(question, channel, attachments=uploads, agent="helper")
        await until(
            lambda: len(self.home.rows("SELECT 1 FROM messages WHERE role = 'assistant'")) > before,
            f"an answer: {text}",
        )
        return next(each for each in reversed(self.home.model.requests) if question in contents(each))


def contents(request: ReceivedRequest) -> str:
    return "\n".join(text_of(turn) for turn in request.document["messages"])


def has_all(request: ReceivedRequest) -> list[bool]:
    """Return whether a request contains the picture, the text of the PDF, and the row of the table."""
    everything = json.dumps(request.document["messages"])
    return [base64.b64encode(PICTURE).decode() in everything, PLAN in contents(request), ROW in contents(request)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Home]:
    folder = tmp_path_factory.mktemp("later-questions")
    async with town() as chats, openai_server(default=Reader()) as model, aiohttp.ClientSession() as http:
        settle_in(folder, chats, AGENT)
        daemon = Daemon(folder, settings={"OPENAI_API_KEY": "sk-none", "OPENAI_BASE_URL": model.base_url})
        try:
            await asyncio.to_thread(daemon.start)
            for each in chats.values():
                await each.connected()
            yield Home(Place(daemon, model, http), chats)
        finally:
            await asyncio.to_thread(daemon.close)


@pytest.mark.parametrize("platform", [*PLATFORMS, "api", "web"])
async def test_later_questions_are_answered_from_files_and_results(home: Home, platform: str) -> None:
    talk = Talk(home, platform)
    first = await talk.ask("what is on this picture?", ("crane.png", "image/png", PICTURE))
    assert has_all(first) == [True, False, False]
    await talk.ask("and in this plan?", ("plan.pdf", "application/pdf", pdf(PLAN)))
    workspace = home.place.daemon.data / "sessions" / talk.conversation / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / "berths.csv").write_text(TABLE)
    await talk.ask("what is in the table?")
    for text in ("which colour is the crane?", "which berth is free?"):
        assert has_all(await talk.ask(text)) == [True, True, True]

    await home.widen(NARROW)
    for number in range(MOST_FILLERS):
        await talk.ask(f"Fill {number}." + " What did we agree on?" * 20)
        if home.rows("SELECT 1 FROM compactions WHERE conversation_id = ? AND last_turn >= 3", talk.conversation):
            break
    else:
        pytest.fail("no summary was written")
    await home.widen(ROOMY)
    after = await talk.ask("what do you still know?")
    assert has_all(after) == [False, False, False]
    assert all(reference in contents(after) for reference in REFERENCES.values())
    assert has_all(await talk.ask("read again all three")) == [True, True, True]
    # A picture that was read again is attached to the calls of that turn only.
    assert has_all(await talk.ask("and which berth was it?"))[1:] == [True, True]
    assert has_all(await talk.ask("read again all three, and say the colour")) == [True, True, True]
