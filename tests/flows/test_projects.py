"""Projects: over HTTP, in the command line, and as agents record their work on them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from arvis.cli.commands.projects import projects
from arvis.domain.agents import Agent, AgentStatus
from arvis.domain.errors import ToolError
from arvis.domain.projects import LONGEST_NOTES, Project, ProjectStatus
from arvis.domain.tools import Permit, Risk
from arvis.ports.store import Store, Transaction
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.testing.clock import SteppedClock
from arvis.tools.registry import Policy
from arvis.tools.update_project import create
from tests.flows.web_server import DAEMON_KEY, OPERATOR_KEY, VIEWER_KEY, Site, running_site

ALL = "/api/projects"
HELPER, OTHER = Agent(id="a0", slug="helper", name="Helper"), Agent(id="a1", slug="other", name="Other")
GONE = Agent(id="a2", slug="gone", name="Gone", status=AgentStatus.ARCHIVED)


def begin(tx: Transaction) -> None:
    for agent in (HELPER, OTHER, GONE):
        tx.agents.add(agent, 0)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as site:
        await site.store.write(begin)
        yield site


async def made(site: Site, title: str = "The garden shed", **more: Any) -> dict[str, Any]:
    answer = await site.call("POST", ALL, json={"title": title, **more})
    assert answer.status == 201, answer.text
    return cast("dict[str, Any]", answer.json())


# -- people ------------------------------------------------------------------------------------------------


async def test_a_project_is_made_and_found_by_id_and_slug(site: Site) -> None:
    first = await made(site, goal="A dry shed.", agent="helper")
    assert (first["slug"], first["status"], first["agent"]) == ("the-garden-shed", "active", "helper")
    assert (await made(site))["slug"] == "the-garden-shed-2"
    assert (await made(site, title="Пруд"))["slug"] == "project"
    for name in (first["id"], first["slug"]):
        assert (await site.call("GET", f"{ALL}/{name}")).json() == first
    row = await site.store.read(lambda tx: tx.projects.get(first["id"]))
    owner = await site.store.read(lambda tx: tx.principals.find("web", "owner"))
    assert row is not None
    assert owner is not None
    assert row.principal_id == owner.id


async def test_projects_are_listed_filtered_and_paged(site: Site) -> None:
    one, two = await made(site, agent="helper"), await made(site, status="done")
    for query, ids in {
        "": [two["id"], one["id"]], "?status=done": [two["id"]], "?agent=helper": [one["id"]], "?agent=a1": [],
        f"?cursor={two['id']}": [one["id"]],
    }.items():  # fmt: skip
        assert [item["id"] for item in (await site.call("GET", ALL + query)).json()["items"]] == ids, query
    assert (await site.call("GET", f"{ALL}?limit=1")).json()["nextCursor"] == two["id"]
    assert (await site.call("GET", f"{ALL}?status=wish")).status == 422


async def test_what_was_done_last_is_undone(site: Site) -> None:
    first = await made(site, notes="Dry wood.", agent="helper")
    path = f"{ALL}/{first['id']}"

    async def undone() -> Any:
        return (await site.call("POST", f"{path}/undo", key=OPERATOR_KEY)).json()["project"]

    def fixed(project: dict[str, Any]) -> dict[str, Any]:
        return {**project, "updatedAt": 0}

    change = {"status": "paused", "agent": None, "slug": "shed"}
    changed = (await site.call("PATCH", path, json=change)).json()
    assert {name: changed[name] for name in change} == change
    assert fixed(await undone()) == fixed(first)
    assert fixed(await undone()) == fixed(changed)
    assert (await site.call("PATCH", path, json={"status": "paused"})).status == 200  # no change: no new version
    assert fixed(await undone()) == fixed(first)
    assert (await site.call("DELETE", f"{ALL}/the-garden-shed")).json() == {"ok": True}
    assert (await site.call("GET", path)).status == 404
    assert fixed(await undone()) == fixed(first)
    path = f"{ALL}/{(await made(site, title='Pond'))['id']}"
    assert await undone() is None
    assert (await site.call("POST", f"{ALL}/none/undo")).status == 404


UNUSABLE: list[tuple[dict[str, Any], int]] = [
    ({"title": None}, 422), ({"title": " "}, 422), ({"title": "a\nb"}, 422), ({"title": "x" * 201}, 422),
    ({"goal": "x" * 4_001}, 422), ({"notes": "x" * 8_001}, 422), ({"status": "wish"}, 422), ({"slug": "No!"}, 422),
    ({"slug": "taken"}, 409), ({"agent": "nobody"}, 404), ({"agent": "gone"}, 404), ({"goal": 1}, 422),
]  # fmt: skip


async def test_what_cannot_be_a_project(site: Site) -> None:
    await made(site, slug="taken")
    for change, status in UNUSABLE:
        body = {name: value for name, value in {"title": "Shed", **change}.items() if value is not None}
        answer = await site.call("POST", ALL, json=body)
        assert answer.status == status, (change, answer.text)
    assert len((await site.call("GET", ALL)).json()["items"]) == 1


async def test_operators_may_and_viewers_may_not(site: Site) -> None:
    assert (await site.call("POST", ALL, key=OPERATOR_KEY, json={"title": "Shed"})).status == 201
    for method, path in (("GET", ALL), ("POST", ALL), ("PATCH", f"{ALL}/shed"), ("DELETE", f"{ALL}/shed")):
        assert (await site.call(method, path, key=VIEWER_KEY, json={})).status == 403


async def test_the_command_line_keeps_projects(site: Site, tmp_path: Path) -> None:
    (tmp_path / "address").write_text(site.url, encoding="utf-8")
    (tmp_path / "api-key").write_text(DAEMON_KEY, encoding="utf-8")

    async def out(*arguments: str) -> str:
        command = [*arguments, "--data", str(tmp_path)]
        done = await asyncio.to_thread(CliRunner().invoke, projects, command)
        assert done.exit_code == 0, (done.output, done.exception)
        return done.stdout

    assert await out("list") == "No projects.\n"
    assert "garden-shed is created" in await out("create", "Garden shed", "--agent", "helper", "--goal", "Dry.")
    assert "is changed" in await out("update", "garden-shed", "--agent", "none", "--status", "paused")
    assert (await out("list")).splitlines()[1].split()[:3] == ["garden-shed", "paused", "-"]
    assert "Dry." in await out("show", "garden-shed")
    assert "was restored to its previous version" in await out("undo", "garden-shed")
    deleted = await out("delete", "garden-shed")
    assert "was restored to its previous version" in await out("undo", deleted.split()[-3].strip("`"))


# -- agents ------------------------------------------------------------------------------------------------


def shed(**more: Any) -> Project:
    fields = {"id": "p1", "slug": "shed", "agent_id": HELPER.id, "title": "Shed", "goal": "", "notes": "Dry wood."}
    times = {"principal_id": None, "created_at": 1, "updated_at": 1}
    return Project(**{**fields, "status": ProjectStatus.ACTIVE, **times, **more})


class Desk:
    """The tool over a store, called for one agent."""

    def __init__(self, store: Store) -> None:
        absent = cast("Any", None)
        self.store = store
        self.clock = SteppedClock()
        self.tool: Tool = create(
            ToolServices(
                store,
                self.clock,
                fetcher=absent,
                http=absent,
                sandbox=absent,
                secrets=absent,
                search=absent,
                reader=absent,
            )
        )

    async def begin(self, *found: Project) -> None:
        def write(tx: Transaction) -> None:
            begin(tx)
            for each in found:
                tx.projects.add(each)

        await self.store.write(write)

    async def call(self, agent: Agent = HELPER, project: str = "shed", **arguments: Any) -> str:
        caller = Caller(agent, None, "c", "e", None, "call", Path("none"), "Asia/Tokyo")
        return await self.tool.call({"project": project, **arguments}, caller)

    async def project(self) -> Project:
        found = await self.store.read(lambda tx: tx.projects.by_slug("shed"))
        assert found is not None
        return found


async def test_an_agent_adds_a_line_and_sets_the_status(store: Store) -> None:
    desk = Desk(store)
    await desk.begin(shed())
    assert await desk.call(note="Found   two\nboards.", status="paused") == "Noted. The project shed is paused."
    found = await desk.project()
    assert found.notes == "Dry wood.\n- 2027-01-15: Found two boards."
    assert (found.status, found.updated_at, found.goal) == (ProjectStatus.PAUSED, desk.clock.now(), "")
    versions = await store.read(lambda tx: tx.versions.newest("project", "p1", 5))  # type: ignore[arg-type]
    assert [(version.data or {})["status"] for version in versions] == ["paused", "active"]


async def test_a_call_that_is_made_again_adds_nothing(store: Store) -> None:
    desk = Desk(store)
    await desk.begin(shed())
    for _ in range(2):
        await desk.call(note="Found two boards.")
    assert (await desk.project()).notes.count("Found two boards.") == 1
    versions = await store.read(lambda tx: tx.versions.newest("project", "p1", 5))  # type: ignore[arg-type]
    assert len(versions) == 2


async def test_an_agent_leaves_others_projects_alone(store: Store) -> None:
    desk = Desk(store)
    await desk.begin(shed(), shed(id="p2", slug="pond", agent_id=None))
    assert "Noted" in await desk.call(OTHER, project="pond", note="Deep.")
    for agent, name in ((OTHER, "shed"), (HELPER, "none")):
        with pytest.raises(ToolError, match="You have no project"):
            await desk.call(agent, project=name, note="Mine!")
    with pytest.raises(ToolError, match="nothing to record"):
        await desk.call(note=" ")
    assert (await desk.project()).notes == "Dry wood."


async def test_notes_stay_a_page_and_what_people_wrote_stays(store: Store) -> None:
    desk = Desk(store)
    await desk.begin(shed())
    for number in range(40):
        await desk.call(note=f"{number}: " + "x" * 990)
    notes = (await desk.project()).notes
    assert len(notes) <= LONGEST_NOTES
    assert notes.startswith("Dry wood.\n")
    assert "39: x" in notes.splitlines()[-1]
    full = replace(await desk.project(), notes="y" * LONGEST_NOTES)
    await store.write(lambda tx: tx.projects.update(full))
    with pytest.raises(ToolError, match="are full, and people wrote most of them"):
        await desk.call(note="One more.")


def test_no_person_is_asked_for_a_note_unless_a_rule_says_so() -> None:
    tool = create(cast("ToolServices", None))
    assert (tool.spec.name, tool.risk, tool.repeatable) == ("update_project", Risk.WRITE, True)
    assert Policy(rules={}).permit(tool) is Permit.ALWAYS
    assert Policy(rules={"write": Permit.NEVER}).permit(tool) is Permit.NEVER
    assert Policy(rules={"update_project": Permit.ASK}).permit(tool) is Permit.ASK
