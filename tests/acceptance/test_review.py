"""A tool call is asked about on a chat platform, the daemon is killed, and the answer comes from another place: the
tool runs once."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from arvis.testing.openai_server import CallsTools, Reply, openai_server
from tests.acceptance.daemon import Daemon
from tests.acceptance.town import Chats, settle_in, town, until

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENT = {"slug": "helper", "name": "Helper", "tools": ["write_file"], "model": "openai/gpt-4o-mini"}


def call(daemon: Daemon, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """Call the API as the dashboard of the owner does."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {daemon.api_key}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{daemon.url}{path}", data, headers, method=method)  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
        return json.load(answer)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chats() -> AsyncIterator[Mapping[str, Chats]]:
    async with town() as chats:
        yield chats


@pytest.mark.parametrize(("platform", "way"), [("discord", "api"), ("telegram", "message"), ("slack", "api")])
async def test_a_question_outlives_the_daemon_and_the_tool_runs_once(
    tmp_path: Path, chats: Mapping[str, Chats], platform: str, way: str
) -> None:
    here = chats[platform]
    async with openai_server() as model:
        model.script += [
            CallsTools((("write_file", json.dumps({"path": "a.txt", "content": f"{platform} {way}"})),)),
            Reply((f"Written by {way}.",)),
        ]
        settle_in(tmp_path, {platform: here}, AGENT)
        daemon = Daemon(tmp_path, settings={"OPENAI_API_KEY": "sk-none", "OPENAI_BASE_URL": model.base_url})
        try:
            here.forget_connections()
            await asyncio.to_thread(daemon.start)
            await here.connected()
            await here.stage.say(f"Write it down, {way}")
            await here.shows(here.direct("ann"), f"{platform} {way}")
            await asyncio.to_thread(daemon.kill)
            here.forget_connections()
            await asyncio.to_thread(daemon.start)
            await here.connected()
            if way == "api":
                (wait,) = (await asyncio.to_thread(call, daemon, "GET", "/api/questions"))["items"]
                path = f"/api/questions/{wait['id']}/answer"
                await asyncio.to_thread(call, daemon, "POST", path, {"decision": "approve"})
            else:
                await here.stage.say("yes")
            await here.shows(here.direct("ann"), f"Written by {way}.")
            written = list(daemon.data.glob("sessions/*/workspace/a.txt"))
            assert [file.read_text() for file in written] == [f"{platform} {way}"]
            effects = [step for step in await until(lambda: timeline(daemon), "a timeline") if step["step"] == "tool"]
            assert len(effects) == 1
        finally:
            await asyncio.to_thread(daemon.close)


def timeline(daemon: Daemon) -> list[dict[str, Any]]:
    """Return the timeline of the message that asked for the tool."""
    for talk in call(daemon, "GET", "/api/conversations")["items"]:
        for message in call(daemon, "GET", f"/api/conversations/{talk['id']}/messages")["items"]:
            if message["role"] == "user" and message["content"].startswith("Write it down"):
                steps: list[dict[str, Any]] = call(daemon, "GET", f"/api/messages/{message['id']}")["steps"]
                return steps
    return []
