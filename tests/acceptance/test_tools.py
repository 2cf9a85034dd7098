"""Tools in the shipped daemon: the demo model calls them, and a person approves those that change something."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.acceptance.place import Place, opened

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOOLS = ["calculate", "get_time", "write_file", "read_file"]
SETTINGS = {
    "ARVIS__AGENTS": json.dumps(
        [{"slug": "helper", "name": "Helper", "model": "demo", "tools": TOOLS, "timezone": "Europe/Berlin"}]
    ),
    "ARVIS__ROUTING__FALLBACK": "helper",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    async with opened(tmp_path_factory.mktemp("tools"), SETTINGS) as opened_place:
        yield opened_place


async def test_a_model_calculates(place: Place) -> None:
    timeline = await place.ask('demo: tool calculate {"expression": "(2+3)*4"}', "sums")
    assert "20" in timeline["reply"]
    assert [step["tool"] for step in timeline["steps"] if step["step"] == "tool"] == ["calculate"]


async def test_the_time_is_that_of_the_agent(place: Place) -> None:
    timeline = await place.ask("demo: tool get_time {}", "clock")
    assert "Europe/Berlin" in timeline["reply"]


async def test_a_file_is_written_once_somebody_has_allowed_it(place: Place) -> None:
    written = 'demo: tool write_file {"path": "notes/today.txt", "content": "remember the milk"}'
    message = await place.post(written, "files")
    assert (await place.wait(message))["status"] == "waiting"
    _, page = await place.call("GET", "/api/questions")
    (wait,) = page["items"]
    assert "remember the milk" in wait["prompt"]
    assert list(place.daemon.data.rglob("today.txt")) == []
    status, _ = await place.call("POST", f"/api/questions/{wait['id']}/answer", json={"decision": "approve"})
    assert status == 200
    timeline = await place.wait(message)
    assert timeline["status"] == "answered"
    (file,) = list(place.daemon.data.rglob("today.txt"))
    assert file.read_text() == "remember the milk"
    read = await place.ask('demo: tool read_file {"path": "notes/today.txt"}', "files")
    assert "remember the milk" in read["reply"]


async def test_another_conversation_does_not_see_it(place: Place) -> None:
    read = await place.ask('demo: tool read_file {"path": "notes/today.txt"}', "elsewhere")
    assert "remember the milk" not in read["reply"]
