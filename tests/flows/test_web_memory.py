"""Memory over HTTP: facts are added, found, corrected, confirmed and restored; each person sees the facts about
themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.agents import Agent
from arvis.domain.memory import Category, NewFact, State, principal_scope
from arvis.domain.taint import CLEAN, Label
from arvis.memory.service import Refused, put_state, remember
from arvis.ports.store import Transaction
from tests.flows.web_server import CHAT_KEY, OPERATOR_KEY, VIEWER_KEY, Site, running_site

HELPER = Agent(id="agent1", slug="helper", name="Helper")
ROOM = "room:telegram:main:-100:"


def settle(tx: Transaction, now: int) -> None:
    tx.agents.add(HELPER, now)
    tx.agents.add(replace(HELPER, id="agent2", slug="other"), now)


def learn(tx: Transaction, scope: str, content: str, now: int, *labels: Label) -> str:
    new = NewFact("agent1", scope, Category.LEARNED_PATTERN, content, taint=frozenset(labels), author_id="model")
    kept = remember(tx, new, by_id="model", now=now)
    assert not isinstance(kept, Refused)
    return kept.fact.id


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as site:
        await site.store.write(settle, site.clock.now())
        yield site


async def listed(site: Site, query: str = "", **more: Any) -> list[str]:
    return [fact["content"] for fact in (await site.call("GET", f"/api/memory{query}", **more)).json()["items"]]


async def tell(site: Site, content: str, **more: Any) -> dict[str, Any]:
    answer = await site.call("POST", "/api/memory", json={"agent": "helper", "content": content, **more})
    assert answer.status in {200, 201}, answer.text
    found = answer.json()
    assert isinstance(found, dict)
    return found


async def test_a_fact_is_told_brought_up_to_date_and_undone(site: Site) -> None:
    old = await tell(site, "prefers Python 3.11", category="user_preference")
    assert (old["outcome"], old["agent"], old["scope"], old["taint"]) == ("added", "helper", "agent", [])
    assert (await tell(site, "Prefers Python 3.11", category="user_preference"))["outcome"] == "refreshed"
    new = await tell(site, "prefers Python 3.12", category="user_preference")
    assert (new["outcome"], new["previousId"]) == ("superseded", old["id"])
    assert await listed(site) == ["prefers Python 3.12"]
    shown = (await site.call("GET", f"/api/memory/{old['id']}")).json()
    assert [change["change"] for change in shown["changes"]] == ["added", "refreshed", "superseded"]
    assert (shown["status"], shown["changes"][-1]["replacedById"]) == ("superseded", new["id"])
    undone = (await site.call("POST", "/api/memory/undo", json={"agent": "helper"})).json()["undone"]
    assert "prefers Python 3.11" in undone
    assert await listed(site) == ["prefers Python 3.11"]


async def test_a_fact_is_deleted_once_and_may_come_back(site: Site) -> None:
    fact = await tell(site, "likes tea")
    path = f"/api/memory/{fact['id']}"
    assert [(await site.call("DELETE", path)).status for _ in range(2)] == [200, 409]
    assert (await listed(site), await listed(site, "?status=deleted")) == ([], ["likes tea"])
    assert (await site.call("POST", "/api/memory/undo", json={"agent": "helper"})).status == 200
    assert await listed(site) == ["likes tea"]
    for expected in (200, 409):
        assert (await site.call("POST", "/api/memory/undo", json={"agent": "helper"})).status == expected
    assert (await site.call("POST", f"{path}/confirm")).status == 409


async def test_a_fact_is_corrected_and_both_texts_stay(site: Site) -> None:
    old = await tell(site, "The office opens at nine.")
    path = f"/api/memory/{old['id']}"
    new = (await site.call("PATCH", path, json={"content": "It opens at ten on Mondays."}, key=OPERATOR_KEY)).json()
    assert (new["outcome"], new["previousId"], new["taint"]) == ("superseded", old["id"], [])
    assert await listed(site) == ["It opens at ten on Mondays."]
    assert (await site.call("GET", path)).json()["supersededBy"] == new["id"]
    assert (await site.call("PATCH", path, json={"content": "x"})).status == 409
    later = site.clock.now() + 1_000_000
    path = f"/api/memory/{new['id']}"
    assert (await site.call("PATCH", path, json={"expiresAt": later})).json()["expiresAt"] == later
    assert (await site.call("PATCH", path, json={"expiresAt": None})).json()["expiresAt"] is None
    for wrong in ({"expiresAt": 1}, {"content": " "}, {"content": "x" * 3_000}):
        assert (await site.call("PATCH", path, json=wrong)).status == 422
    assert (await site.call("PATCH", path, json={"content": "x"}, key=VIEWER_KEY)).status == 403
    assert (await site.call("PATCH", path, json={"content": "x"}, key=CHAT_KEY)).status == 404
    assert (await tell(site, "The lift is closed.", expiresAt=later))["expiresAt"] == later


async def test_a_fact_has_a_period_and_shows_the_facts_that_it_replaced(site: Site) -> None:
    now = site.clock.now()
    old = await tell(site, "The office is based in Oslo.", validFrom=-5)
    new = await tell(site, "The office is based in Bergen.", validFrom=now - 7, validUntil=now + 900_000)
    shown = (await site.call("GET", f"/api/memory/{new['id']}")).json()
    assert [(each["id"], each["validFrom"], each["validUntil"]) for each in shown["replaces"]] == [
        (old["id"], -5, now - 7)
    ]
    path = f"/api/memory/{new['id']}"
    assert (await site.call("PATCH", path, json={"validUntil": now})).json()["status"] == "ended"
    assert await listed(site, "?status=ended") == ["The office is based in Bergen."]
    opened = (await site.call("PATCH", path, json={"validFrom": None, "validUntil": None})).json()
    assert (opened["status"], opened["validFrom"]) == ("active", None)
    for wrong in ({"validFrom": 5, "validUntil": 4}, {"validUntil": 2**60}, {"validFrom": "2024"}):
        assert (await site.call("PATCH", path, json=wrong)).status in {400, 422}, wrong


async def test_somebody_vouches_for_what_came_from_elsewhere(site: Site) -> None:
    fact_id = await site.store.write(learn, ROOM, "the door code is 1234", site.clock.now(), Label.PEOPLE)
    path = f"/api/memory/{fact_id}"
    assert (await site.call("GET", path)).json()["taint"] == ["people"]
    assert (await site.call("POST", f"{path}/confirm", key=OPERATOR_KEY)).json()["taint"] == []
    undo = {"agent": "agent1", "scope": ROOM}
    assert "No longer confirmed" in (await site.call("POST", "/api/memory/undo", json=undo)).json()["undone"]
    assert (await site.call("GET", path)).json()["taint"] == ["people"]


async def test_facts_are_filtered_searched_and_paged(site: Site) -> None:
    for content in ("我喜欢绿茶", "prefers C++", "drinks green tea"):
        await tell(site, content)
    await tell(site, "be brief", category="sticky")
    await tell(site, "drinks coffee", agent="other", scope=ROOM)
    assert await listed(site, "?q=c%2B%2B") == ["prefers C++"]
    assert await listed(site, "?q=绿茶") == ["我喜欢绿茶"]
    assert await listed(site, "?q=drinks&agent=other") == ["drinks coffee"]
    assert await listed(site, "?q=cofeee") == ["drinks coffee"]
    assert await listed(site, "?q=cofeee&agent=helper") == []
    assert await listed(site, "?q=cofeee&status=deleted") == []
    assert await listed(site, "?q=...") == []
    assert await listed(site, "?category=sticky") == ["be brief"]
    assert await listed(site, f"?scope={ROOM}") == ["drinks coffee"]
    first = (await site.call("GET", "/api/memory?limit=3&agent=helper")).json()
    rest = (await site.call("GET", f"/api/memory?limit=3&agent=helper&cursor={first['nextCursor']}")).json()
    contents = [fact["content"] for fact in (*first["items"], *rest["items"])]
    assert contents == ["be brief", "drinks green tea", "prefers C++", "我喜欢绿茶"]
    assert rest["nextCursor"] is None


async def test_a_chat_key_reaches_what_is_kept_about_its_own_person_alone(site: Site) -> None:
    assert await listed(site, key=CHAT_KEY) == []
    mine = await own_scope(site)
    own = await site.store.write(learn, mine, "likes tea", site.clock.now())
    other = await site.store.write(learn, "principal:bob", "likes gin", site.clock.now())
    await site.store.write(put_state, State("agent1", mine, "a", "1", CLEAN, None, None, 1))
    await site.store.write(put_state, State("agent1", ROOM, "b", "2", CLEAN, None, None, 1))
    for query in ("", "?scope=principal:bob", "?q=likes", "?agent=helper"):
        assert await listed(site, query, key=CHAT_KEY) == ["likes tea"]
    states = (await site.call("GET", "/api/memory/states", key=CHAT_KEY)).json()["items"]
    assert [state["key"] for state in states] == ["a"]
    assert (await site.call("GET", f"/api/memory/{own}", key=CHAT_KEY)).status == 200
    for method in ("GET", "DELETE"):
        assert (await site.call(method, f"/api/memory/{other}", key=CHAT_KEY)).status == 404
    assert (await site.call("POST", f"/api/memory/{own}/confirm", key=CHAT_KEY)).status == 403
    assert (await site.call("DELETE", f"/api/memory/{own}", key=CHAT_KEY)).status == 200
    undo = {"agent": "helper", "scope": "principal:bob"}
    assert "likes tea" in (await site.call("POST", "/api/memory/undo", key=CHAT_KEY, json=undo)).json()["undone"]
    assert await listed(site, "?scope=principal:bob") == ["likes gin"]


async def own_scope(site: Site) -> str:
    """Return the scope of the chat key's person, the only member."""

    def find(tx: Transaction, user_id: str) -> str | None:
        found = tx.principals.find("web", user_id)
        return found.id if found else None

    me = (await site.call("GET", "/api/auth/me", key=CHAT_KEY)).json()
    principal_id = await site.store.read(find, me["userId"])
    assert principal_id is not None
    return principal_scope(principal_id)


async def test_states_are_listed_paged_and_deleted(site: Site) -> None:
    for key in ("a", "b", "c"):
        await site.store.write(put_state, State("agent1", ROOM, key, key * 2, CLEAN, "ann", "m1", 1))
    first = (await site.call("GET", "/api/memory/states?limit=2&agent=helper")).json()
    assert [(one["key"], one["value"], one["agent"]) for one in first["items"]] == [
        ("a", "aa", "helper"),
        ("b", "bb", "helper"),
    ]
    rest = (await site.call("GET", f"/api/memory/states?limit=2&cursor={first['nextCursor']}")).json()
    assert ([one["key"] for one in rest["items"]], rest["nextCursor"]) == (["c"], None)
    path = f"/api/memory/states?agent=helper&scope={ROOM}&key=a"
    assert [(await site.call("DELETE", path)).status for _ in range(2)] == [200, 404]


async def test_viewers_read_and_operators_write(site: Site) -> None:
    fact = await tell(site, "likes tea")
    assert await listed(site, key=VIEWER_KEY) == ["likes tea"]
    body = {"agent": "helper", "content": "x"}
    for key, expected in ((VIEWER_KEY, 403), (CHAT_KEY, 403), (OPERATOR_KEY, 201), (None, 401)):
        assert (await site.call("POST", "/api/memory", key=key, json=body)).status == expected
    assert (await site.call("DELETE", f"/api/memory/{fact['id']}", key=VIEWER_KEY)).status == 403
    assert (await site.call("GET", "/api/memory", key=None)).status == 401


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"agent": None}, 422),
        ({"agent": "nobody"}, 404),
        ({"content": " "}, 422),
        ({"content": "x" * 2001}, 422),
        ({"content": None}, 422),
        ({"category": "preference"}, 422),
        ({"scope": "everything"}, 422),
        ({"scope": "principal:"}, 422),
        ({"scope": "room:web"}, 422),
    ],
)
async def test_a_fact_that_is_none(site: Site, wrong: dict[str, Any], status: int) -> None:
    body = {"agent": "helper", "content": "likes tea", **wrong}
    answer = await site.call("POST", "/api/memory", json=body)
    assert answer.status == status
    assert answer.code
    assert await listed(site) == []
