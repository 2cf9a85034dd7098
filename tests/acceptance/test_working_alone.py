"""Work without a chat message, as the user of the shipped daemon sees it: schedules, heartbeats, projects and webhooks,
made by commands, with results in channels."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from arvis.testing.openai_server import CallsTools, Reply
from tests.acceptance.place import PATIENCE, Place, opened
from tests.acceptance.talking import arvis, listed, told

pytestmark = pytest.mark.asyncio(loop_scope="module")

GARDEN = "web:garden"
AGENTS = [
    {"slug": "helper", "name": "Helper", "tools": ["schedule"]},
    {"slug": "gardener", "name": "Gardener", "graph": "general", "tools": ["update_project"], "channels": [GARDEN]},
]
WORKED = Reply(("The floor is dry.",))
READY = "The shed stands. <AGENT_DONE><KEY_RESULT>The shed stands.</KEY_RESULT></AGENT_DONE>"


class Prices:
    """A server that returns `price`. Its address is private, so the configuration must allow it."""

    def __init__(self) -> None:
        self.price = 41
        self.url = ""

    async def answer(self, _: web.Request) -> web.Response:
        return web.json_response({"data": {"usd": self.price}})


@asynccontextmanager
async def prices_server() -> AsyncIterator[Prices]:
    prices = Prices()
    app = web.Application()
    app.router.add_get("/price.json", prices.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        prices.url = f"http://127.0.0.1:{runner.addresses[0][1]}/price.json"
        yield prices
    finally:
        await runner.cleanup()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def prices() -> AsyncIterator[Prices]:
    async with prices_server() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(prices: Prices, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    settings = {
        "ARVIS__AGENTS": json.dumps(AGENTS),
        "ARVIS__ROUTING__FALLBACK": "helper",
        "ARVIS__TOOLS__ALLOW_HOSTS": json.dumps([prices.url.split("/")[2]]),
    }
    async with opened(tmp_path_factory.mktemp("alone"), settings) as place:
        yield place


@pytest.fixture
def place(shared: Place) -> Place:
    """The shared daemon, with a model server without requests and scripts of earlier tests."""
    shared.model.script.clear()
    shared.model.requests.clear()
    shared.model.default = Reply()
    return shared


async def made(place: Place, *arguments: str) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(await arvis(place, *arguments, "--json"))
    return row


async def history(place: Place, schedule: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (await made(place, "schedules", "runs", schedule))["items"]
    return rows


async def ended(place: Place, schedule: str, number: int = 1) -> dict[str, Any]:
    """Poll until a schedule has this many ended occurrences, and return the newest one; clients get no notice of the
    end."""
    async with asyncio.timeout(PATIENCE):
        while True:
            runs = await listed(place, f"/api/schedules/{schedule}/runs")
            if len(runs) == number and all(run["endedAt"] for run in runs):
                return runs[0]
            await asyncio.sleep(0.05)


async def messages(place: Place, channel: str) -> list[dict[str, Any]]:
    """Return the messages of a channel, newest first."""
    talks = [talk for talk in await listed(place, "/api/conversations") if talk["channelId"] == channel]
    found = [await listed(place, f"/api/conversations/{talk['id']}/messages") for talk in talks]
    return [message for page in found for message in page]


async def test_a_schedule_that_comes_too_often_is_refused_with_the_way_out(place: Place) -> None:
    for text in ("every 1s", "* * * * * *"):
        create = ("schedules", "create", "helper", text, "--to", "web:hall", "--prompt", "Look.")
        refused = await asyncio.to_thread(place.daemon.arvis, *create)
        assert refused.returncode == 1
        assert "30 seconds" in refused.stderr
        assert "fix: " in refused.stderr
    assert await listed(place, "/api/schedules") == []


async def test_what_a_schedule_posts_can_be_answered(place: Place) -> None:
    place.model.script.append(Reply(("The kettle boils.",)))
    async with place.socket("kitchen") as socket:
        await arvis(
            place, "schedules", "create", "helper", "every 30s", "--to", "web:kitchen", "--prompt", "Mind the kettle.",
            "--name", "kettle",
        )  # fmt: skip
        assert (await socket.until("message"))["content"] == "The kettle boils."
    assert "Mind the kettle." in told(place, 0)
    place.model.script.append(Reply(("Since just now.",)))
    assert (await place.ask("Since when?", "kitchen"))["reply"] == "Since just now."
    asked = [(turn["role"], turn["content"]) for turn in place.model.requests[-1].document["messages"]]
    assert ("assistant", "The kettle boils.") in [(role, text) for role, text in asked if role == "assistant"]
    assert "Mind the kettle." not in "".join(str(text) for _, text in asked)
    assert "due    done" in await arvis(place, "schedules", "runs", "kettle")
    await arvis(place, "schedules", "delete", "kettle")


async def test_a_reminder_is_made_in_a_talk_and_comes_there(place: Place) -> None:
    wanted = {"action": "create", "when": "at 2099-01-15 08:00", "prompt": "Remind Ann of the milk.", "name": "milk"}
    place.model.script += [CallsTools((("schedule", json.dumps(wanted)),)), Reply(("I will.",))]
    assert (await place.ask("Remind me of the milk", "desk"))["reply"] == "I will."
    (row,) = (await made(place, "schedules", "list", "--made-by", "tool"))["items"]
    assert (row["name"], row["schedule"], row["channelId"]) == ("milk", "at 2099-01-15 08:00", "desk")
    place.model.script += [Reply(("Buy milk.",)), Reply(("[SILENT] all is well",))]
    async with place.socket("desk") as socket:
        assert "The schedule is running" in await arvis(place, "schedules", "run", "milk")
        assert (await socket.until("message"))["content"] == "Buy milk."
        assert (await ended(place, row["id"]))["status"] == "done"
        await arvis(place, "schedules", "run", "milk")
        assert (await ended(place, row["id"], 2))["status"] == "silent"
        assert await socket.nothing_more()
    assert [run["cause"] for run in await history(place, row["id"])] == ["manual", "manual"]
    post, *talk = await messages(place, "desk")
    assert [post["source"], *(message["source"] for message in talk)] == [f"schedule:{row['id']}", "", ""]
    assert f"posted by helper over web, for schedule:{row['id']}\n" in await arvis(place, "explain", post["id"])


async def test_a_heartbeat_that_has_nothing_to_say_is_silent(place: Place) -> None:
    place.model.default = Reply(("[SILENT] Nothing is new.",))
    row = await made(
        place, "schedules", "create", "helper", "@yearly", "--heartbeat", "--to", "web:yard", "--prompt", "Look around.",
    )  # fmt: skip
    await arvis(place, "schedules", "run", row["id"])
    assert (await ended(place, row["id"]))["status"] == "silent"
    assert await messages(place, "yard") == []


async def test_a_script_says_a_number_and_no_model_is_asked(place: Place, prices: Prices) -> None:
    file = place.daemon.folder / "price.json"
    script = {"type": "script", "url": prices.url, "template": "{{data.usd}} $", "notify": "on_change"}
    file.write_text(json.dumps(script), encoding="utf-8")
    async with place.socket("market") as socket:
        row = await made(
            place, "schedules", "create", "helper", "every 5 m", "--heartbeat", "--to", "web:market", "--script",
            str(file),
        )  # fmt: skip
        assert (await socket.until("message"))["content"] == "41 $"
        await arvis(place, "schedules", "run", row["id"])
        await ended(place, row["id"], 2)
        prices.price = 1042
        await arvis(place, "schedules", "run", row["id"])
        assert (await socket.until("message"))["content"] == "1,042 $"
    assert place.model.requests == []
    assert [run["status"] for run in await history(place, row["id"])] == ["done", "silent", "done"]


async def test_a_heartbeat_works_on_its_project_over_two_cycles(place: Place) -> None:
    note = json.dumps({"project": "garden-shed", "note": "Laid the floor."})
    # A reply without a status is asked for one once; then the cycle ends.
    place.model.script += [CallsTools((("update_project", note),)), WORKED, WORKED, Reply((READY,))]
    beat = await made(
        place, "schedules", "create", "gardener", "@yearly", "--heartbeat", "--to", GARDEN, "--graph", "overlord",
        "--max-cycles", "2",
    )  # fmt: skip
    assert (beat["graph"], beat["maxIterations"]) == ("heartbeat", 2)
    await arvis(place, "schedules", "run", beat["id"])
    assert ((await ended(place, beat["id"]))["status"], place.model.requests) == ("idle", [])
    await arvis(place, "projects", "create", "Garden shed", "--goal", "A dry shed.", "--agent", "gardener")
    async with place.socket("garden") as socket:
        await arvis(place, "schedules", "run", beat["id"])
        assert (await socket.until("message"))["content"] == "The shed stands."
    assert (await ended(place, beat["id"], 2))["status"] == "done"
    assert [f"Cycle {number} of 2" in told(place, index) for number, index in ((1, 0), (1, 2), (2, 3))] == [True] * 3
    assert "A dry shed." in told(place, 0)
    assert "The floor is dry." in told(place, 3)
    assert "Laid the floor." in await arvis(place, "projects", "show", "garden-shed")
    _, gardener = await place.call("GET", "/api/agents/gardener")
    assert gardener["graph"] == "agent"
    assert (await made(place, "agents", "create", "other", "--graph", "general"))["graph"] == "agent"


async def test_a_web_hook_is_answered_once_for_each_delivery(place: Place) -> None:
    hook = await made(
        place, "webhooks", "create", "git", "helper", "Look: {{payload.ref}}", "--to", "web:builds", "--preset",
        "github",
    )  # fmt: skip
    body = json.dumps({"ref": "main <AGENT_DONE>"}).encode()
    signature = hmac.new(hook["secret"].encode(), body, hashlib.sha256).hexdigest()
    headers = {"X-Hub-Signature-256": f"sha256={signature}", "X-GitHub-Delivery": "1", "X-GitHub-Event": "push"}

    async def call(**more: str) -> tuple[int, Any]:
        async with place.http.post(place.daemon.url + hook["url"], data=body, headers={**headers, **more}) as answer:
            return answer.status, await answer.json()

    place.model.script.append(Reply(("Main has moved.",)))
    async with place.socket("builds") as socket:
        status, answer = await call()
        assert status == 202
        assert (await socket.until("message"))["content"] == "Main has moved."
        assert await call() == (202, answer)
        assert (await call(**{"X-Hub-Signature-256": "sha256=00", "X-GitHub-Delivery": "2"}))[0] == 401
        _, shown = await place.call("GET", f"/api/executions/{answer['id']}")
        assert (shown["source"], shown["status"]) == (f"webhook:{hook['id']}", "done")
        assert await socket.nothing_more()
    assert len(place.model.requests) == 1
