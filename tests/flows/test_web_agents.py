"""Agents over HTTP: created, changed, bound, deleted and restored; viewers read, owners write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.agents import Agent
from tests.flows.web_server import CHAT_KEY, OPERATOR_KEY, VIEWER_KEY, Site, principal_of, running_site

NEWS = {"slug": "news", "name": "News", "role": "reporter", "description": "reads the news", "prompt": "Be brief."}
HALL = {
    "platform": "discord",
    "channel": "1234567890123456789",
    "permission": "full",
    "respond": "all",
    "observe": 5,
}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as site:
        yield site


async def made(site: Site, **more: Any) -> dict[str, Any]:
    answer = await site.call("POST", "/api/agents", json={**NEWS, **more})
    assert answer.status == 201, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


async def test_an_agent_is_made_and_found_by_slug_and_id(site: Site) -> None:
    news = await made(site, tools=["get_time"], contextTokens=None, bindings=[HALL])
    assert news["bindings"] == [HALL]
    assert (news["status"], news["contextTokens"], news["graph"], news["tools"]) == (
        "active",
        None,
        "agent",
        ["get_time"],
    )
    for name in ("news", news["id"]):
        assert (await site.call("GET", f"/api/agents/{name}")).json() == news
    listed = (await site.call("GET", "/api/agents")).json()
    assert ([one["id"] for one in listed["items"]], listed["nextCursor"]) == ([news["id"]], None)
    assert (await site.call("GET", "/api/agents/nobody")).status == 404


async def test_a_slug_is_a_name_too(site: Site) -> None:
    answer = await site.call("POST", "/api/agents", json={"slug": "bare"})
    assert (answer.status, answer.json()["name"], answer.json()["contextTokens"]) == (201, "bare", 96_000)


async def test_what_the_body_does_not_name_stays(site: Site) -> None:
    news = await made(site, model="openai/gpt-4o-mini", allowUsers=["7"])
    changed = (await site.call("PATCH", "/api/agents/news", json={"description": "reads the weather"})).json()
    assert changed == {**news, "description": "reads the weather"}
    changed = (await site.call("PATCH", "/api/agents/news", json={"model": None, "name": None})).json()
    assert (changed["model"], changed["name"]) == (None, "News")


async def test_a_long_prompt_is_taken_and_a_longer_one_refused(site: Site) -> None:
    assert len((await made(site, prompt="x" * 65_536))["prompt"]) == 65_536
    answer = await site.call("PATCH", "/api/agents/news", json={"prompt": "x" * 65_537})
    assert (answer.status, "`prompt`" in answer.json()["error"]["message"]) == (422, True)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"slug": 7},
        {"slug": "Not A Slug"},
        {"slug": "drop"},
        {"slug": "a", "tools": "get_time"},
        {"slug": "a", "tools": [7]},
        {"slug": "a", "contextTokens": 100},
        {"slug": "a", "contextTokens": "many"},
        {"slug": "a", "timezone": "Mars"},
        {"slug": "a", "effort": "huge"},
        {"slug": "a", "graph": "none"},
        {"slug": "a", "role": "conductor"},
        {"slug": "a", "bindings": [{}]},
        {"slug": "a", "bindings": [{"platform": "web", "channel": "x", "permission": "all"}]},
        {"slug": "a", "bindings": [{"platform": "web", "channel": "x\u0007"}]},
    ],
)
async def test_an_agent_that_cannot_be(site: Site, body: dict[str, Any]) -> None:
    answer = await site.call("POST", "/api/agents", json=body)
    assert (answer.status, bool(answer.code)) == (422, True)
    assert (await site.call("GET", "/api/agents")).json()["items"] == []


async def test_a_new_tool_must_be_installed_or_be_of_a_server(site: Site) -> None:
    """A stored tool whose package is gone stays, so that the agent can still be changed."""
    await site.store.write(
        lambda tx: tx.agents.add(Agent(id="A", slug="old", name="Old", tools=("gone",)), site.clock.now())
    )
    kept = await site.call("PATCH", "/api/agents/old", json={"tools": ["gone", "get_time", "files.read", "files.*"]})
    assert (kept.status, kept.json()["tools"]) == (200, ["gone", "get_time", "files.read", "files.*"])
    for refused in (
        await site.call("PATCH", "/api/agents/old", json={"tools": ["gone", "nonsense"]}),
        await site.call("POST", "/api/agents", json={"slug": "new", "tools": ["nonsense"]}),
    ):
        error = refused.json()["error"]
        assert (refused.status, "names nonsense" in error["message"], "get_time" in error["fix"]) == (422, True, True)


async def test_what_is_taken_is_a_conflict(site: Site) -> None:
    await made(site, bindings=[HALL])
    again = await site.call("POST", "/api/agents", json=NEWS)
    assert (again.status, again.code) == (409, "slug_taken")
    taken = await site.call("POST", "/api/agents", json={"slug": "other", "bindings": [HALL]})
    assert (taken.status, taken.code, "news" in taken.text) == (409, "channel_taken", True)
    assert (await site.call("GET", "/api/agents/other")).status == 404


async def test_an_agent_pauses_goes_on_is_deleted_and_comes_back(site: Site) -> None:
    news = await made(site, bindings=[HALL])
    path = f"/api/agents/{news['id']}"
    assert (await site.call("POST", f"{path}/pause")).json()["status"] == "paused"
    assert [one["slug"] for one in (await site.call("GET", "/api/agents?status=paused")).json()["items"]] == ["news"]
    assert (await site.call("POST", f"{path}/resume")).json()["status"] == "active"
    gone = (await site.call("DELETE", path)).json()
    assert (gone["status"], gone["bindings"]) == ("archived", [])
    assert (await site.call("GET", "/api/agents")).json()["items"] == []
    assert [one["slug"] for one in (await site.call("GET", "/api/agents?status=archived")).json()["items"]] == ["news"]
    assert (await site.call("DELETE", path)).code == "agent_deleted"
    assert (await site.call("POST", f"{path}/undo")).json() == news


async def test_versions_tell_who_changed_what(site: Site) -> None:
    await made(site)
    await site.call("PATCH", "/api/agents/news", json={"name": "Weather"})
    versions = (await site.call("GET", "/api/agents/news/versions")).json()["items"]
    assert [(each["version"], each["agent"]["name"]) for each in versions] == [(2, "Weather"), (1, "News")]
    owner = await site.store.read(principal_of, "owner")
    assert owner is not None
    assert {each["by"] for each in versions} == {owner.id}
    assert len((await site.call("GET", "/api/agents/news/versions?limit=1")).json()["items"]) == 1


async def test_channels_are_bound_listed_and_left(site: Site) -> None:
    await made(site)
    bound = await site.call("POST", "/api/agents/news/bindings", json={"platform": "web", "channel": "a/b ü"})
    place = {"platform": "web", "channel": "a/b ü", "permission": "full", "respond": None, "observe": None}
    assert (bound.status, bound.json()["bindings"]) == (201, [place])
    assert (await site.call("GET", "/api/agents/news/bindings")).json()["items"] == [place]
    where = "/api/agents/news/bindings?platform=web&channel=a/b%20%C3%BC"
    assert (await site.call("DELETE", where)).json()["bindings"] == []
    assert (await site.call("DELETE", where)).status == 404
    assert (await site.call("DELETE", "/api/agents/news/bindings?platform=web")).status == 422


async def test_viewers_look_operators_pause_and_owners_change(site: Site) -> None:
    await made(site)
    changes: list[tuple[str, str, Any]] = [
        ("POST", "/api/agents", {"slug": "x"}),
        ("PATCH", "/api/agents/news", {"name": "x"}),
        ("DELETE", "/api/agents/news", None),
        ("POST", "/api/agents/news/undo", None),
        ("POST", "/api/agents/news/bindings", {"platform": "web", "channel": "x"}),
        ("DELETE", "/api/agents/news/bindings?platform=web&channel=x", None),
    ]
    for method, path, body in changes:
        for key in (CHAT_KEY, VIEWER_KEY, OPERATOR_KEY):
            assert (await site.call(method, path, json=body, key=key)).status == 403
    for path in ("/api/agents", "/api/agents/news", "/api/agents/news/versions", "/api/agents/news/bindings"):
        assert (await site.call("GET", path, key=VIEWER_KEY)).status == 200
        assert (await site.call("GET", path, key=CHAT_KEY)).status == 403
    assert (await site.call("POST", "/api/agents/news/pause", key=VIEWER_KEY)).status == 403
    assert (await site.call("POST", "/api/agents/news/pause", key=OPERATOR_KEY)).status == 200
