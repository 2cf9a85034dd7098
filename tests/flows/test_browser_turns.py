"""Turns with the tools of the browser: the question about an action, and its answer before and after a restart."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from arvis.app.tools import FOLDER_SECONDS, Tools
from arvis.bus import EventBus
from arvis.domain.agents import AgentStatus
from arvis.domain.changes import ChangeTopic
from arvis.domain.erasures import ERASED_PROFILES
from arvis.domain.events import Changed
from arvis.domain.messages import MessageStatus
from arvis.domain.runs import RunRequest, RunResult
from arvis.domain.tools import Permit
from arvis.ports.tool import Tool, ToolServices
from arvis.process.on_demand import OnDemand
from arvis.store.open import Database
from arvis.testing.clock import SteppedClock, StoppedClock
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.scripted import asking, call
from tests.flows.test_approvals import decide, open_wait
from tests.flows.test_tools import outputs
from tests.wings.browsing import Surfing, file, page_in, ref_of, surfing
from tests.wings.test_browser import until

NAMES = ("open", "read", "click", "type", "screenshot", "download")
PAGES: dict[str, str | bytes] = {
    "/": "<title>Shop</title><a href='/bought'>Buy now</a><label>Name <input></label><a href='/list'>List</a>",
    "/bought": "<h1>Thank you</h1>",
    "/list": file(b"1;2;3", "list.csv"),
}
SURFER = agent_with(tools=tuple(f"browser_{name}" for name in NAMES), allow_users=("ann",))


@dataclass
class Shop:
    app: AppHarness
    surf: Surfing
    #: The text of the page that the model has read.
    text: str = ""

    def seen(self, request: RunRequest) -> tuple[str, str]:
        """Return the id of the page in the last output, and its text."""
        self.text = outputs(request)[-1]
        return page_in(self.text), self.text

    def on_page(self, tool: str, element: str = "", **arguments: Any) -> Any:
        """Return a step of the model: a call for the page that it has read."""

        def step(request: RunRequest) -> RunResult:
            page, text = self.seen(request)
            more = {"ref": ref_of(element, text)} if element else {}
            return asking(call(2, f"browser_{tool}", page=page, **more, **arguments))

        return step


@asynccontextmanager
async def shop(database: Database, folder: Path) -> AsyncIterator[Shop]:
    async with surfing(folder, PAGES) as surf, open_app(database, agents=[SURFER]) as app:
        services = ToolServices(
            store=app.store,
            **dict.fromkeys(("clock", "fetcher", "http", "sandbox", "secrets", "search", "reader")),  # type: ignore[arg-type]
            browser=surf.browsers,
        )
        app.tools.more = made(services)
        await surf.open("/bought", agent=SURFER.id)  # the browser is started before the turn
        surf.site.requests.clear()
        yield Shop(app, surf)


def made(services: ToolServices) -> list[Tool]:
    modules = [import_module(f"arvis.tools.browser.{name}") for name in NAMES]
    return [cast("Tool", module.create(services)) for module in modules]


async def test_an_action_asks_with_the_element_and_the_address(database: Database, tmp_path: Path) -> None:
    async with shop(database, tmp_path) as here:
        app = here.app
        app.provider.script += [
            asking(call(1, "browser_open", url="http://shop.example/")),
            here.on_page("type", "Name", text="Ann Lee"),
            here.on_page("click", "Buy now"),
            "Done.",
        ]
        message = (await app.say("Open http://shop.example/ and buy it")).message_id
        await app.until_status(message, MessageStatus.WAITING)
        typing = await open_wait(app)
        for part in (
            "tool browser_type",
            '"Ann Lee"',
            "Page: http://shop.example/ (Shop)",
            'Element: - textbox "Name"',
        ):
            assert part in typing.prompt
        await decide(app, typing, "approve")
        clicking = await app.until(lambda: other_wait(app, typing.id))
        assert 'Element: - link "Buy now"' in clicking.prompt
        assert "/url: /bought" in clicking.prompt
        assert not here.surf.site.asked("GET /bought")
        await decide(app, clicking, "approve")
        await app.until_status(message, MessageStatus.ANSWERED)
        assert "Thank you" in outputs(app.provider.asked[-1])[0]
        assert sum("GET /bought" in head for head in here.surf.site.requests) == 1


async def other_wait(app: AppHarness, known: str) -> Any:
    page = await app.insights.waits(open_only=True, limit=10, cursor=None)
    return next((each for each in page.items if each.id != known), None)


async def test_an_answer_after_a_restart_names_the_lost_page(database: Database, tmp_path: Path) -> None:
    async with shop(database, tmp_path) as here:
        app = here.app
        app.provider.script += [
            asking(call(1, "browser_open", url="http://shop.example/")),
            here.on_page("click", "Buy now"),
            "Lost.",
        ]
        message = (await app.say("Open http://shop.example/ and buy it")).message_id
        await app.until_status(message, MessageStatus.WAITING)
        wait = await open_wait(app)
        await here.surf.browsers.close()
        await app.restart()
        await decide(app, wait, "approve")
        await app.until_status(message, MessageStatus.ANSWERED)
        (output,) = outputs(app.provider.asked[-1])
        assert "No page is open" in output
        assert "browser_open" in output
        assert not here.surf.site.asked("GET /bought")


async def test_pictures_and_files_reach_the_model_and_the_person(database: Database, tmp_path: Path) -> None:
    async with shop(database, tmp_path) as here:
        app = here.app
        app.senses.sighted = True
        app.rules["write"] = Permit.ALWAYS
        app.provider.script += [
            asking(call(1, "browser_open", url="http://shop.example/")),
            here.on_page("download", "List"),
            lambda request: asking(call(3, "browser_screenshot", page=page_in(here.text), send=True)),
            "Here.",
        ]
        timeline = await app.ask("Show me http://shop.example/")
        assert timeline.reply == "Here."
        (stored,) = outputs(app.provider.asked[2])
        path = stored.partition("Stored as ")[2].partition(" in ")[0]
        assert path.endswith("-list.csv")
        (found,) = app.senses.sessions.glob(f"*/workspace/{path}")
        assert found.read_bytes() == b"1;2;3"
        (picture,) = app.provider.asked[-1].turns[-1].images or pictures(app.provider.asked[-1].turns)
        assert picture.data.startswith(b"\xff\xd8\xff")
        (sent,) = [each for each in app.connector.sent if each.files]
        assert [each.content_type for each in sent.files] == ["image/jpeg"]


async def test_profiles_are_removed_with_their_agents(database: Database, tmp_path: Path) -> None:
    async with shop(database, tmp_path) as here:
        gone = replace(SURFER, id="agent-gone", slug="gone", status=AgentStatus.ARCHIVED)
        await here.app.store.write(lambda tx: tx.agents.add(gone, 0))
        profiles = tmp_path / "browser"
        box: OnDemand[Any] = OnDemand("types:SimpleNamespace", browsers=here.surf.browsers)
        tools = Tools(box, box, [], here.app.store, profiles, tmp_path / "sessions")
        await tools.remove_unused_profiles()
        await here.surf.open(agent=gone.id)
        (profiles / "unknown").mkdir()
        clock = SteppedClock()
        bus = EventBus()
        keeping = asyncio.create_task(tools.keep_folders(clock, bus))
        await until(lambda: [each.name for each in profiles.iterdir()] == [SURFER.id])
        (profiles / "unknown").mkdir()
        await until(lambda: not (profiles / "unknown").exists())
        assert set(clock.slept) == {FOLDER_SECONDS}
        keeping.cancel()


async def test_each_process_removes_erased_profiles(database: Database, tmp_path: Path) -> None:
    """A process that does not erase learns of an erasure by an event, or at its next look."""

    async def erase(name: str) -> None:
        noted = json.dumps({SURFER.id: name})
        await here.app.store.write(lambda tx: tx.kv.put(ERASED_PROFILES, noted, 0))

    async with shop(database, tmp_path) as here:
        profiles = tmp_path / "browser"
        box: OnDemand[Any] = OnDemand("types:SimpleNamespace", browsers=here.surf.browsers)
        tools = Tools(box, box, [], here.app.store, profiles, tmp_path / "sessions")
        await here.surf.open("/bought", agent=SURFER.id)
        await tools.remove_unused_profiles()
        assert (profiles / SURFER.id).exists()
        await erase("first")
        await tools.remove_unused_profiles()
        assert not (profiles / SURFER.id).exists()

        await here.surf.open("/bought", agent=SURFER.id)
        await tools.remove_unused_profiles()
        assert (profiles / SURFER.id).exists()  # a profile that was made after the erasure stays

        clock, bus = StoppedClock(), EventBus()
        keeping = asyncio.create_task(tools.keep_folders(clock, bus))
        await clock.asleep.wait()
        await erase("second")
        bus.publish(Changed(ChangeTopic.PEOPLE))
        await until(lambda: not (profiles / SURFER.id).exists())
        keeping.cancel()


def pictures(turns: Sequence[Any]) -> list[Any]:
    return [image for turn in turns for image in turn.images]
