"""People over HTTP and on the command line: listed, given roles, admitted, refused; and the roles that may do so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click import Command
from click.testing import CliRunner, Result

from arvis.cli.commands import people as pairing_command
from arvis.cli.commands import people as people_command
from arvis.domain.agents import Agent
from arvis.domain.memory import Category, NewFact, principal_scope
from arvis.domain.messages import Address, IncomingMessage, PrincipalRole, Sender
from arvis.ports.store import Transaction
from arvis.services.people import MOST_TRIES, new_code, offer_pairing
from tests.flows.web_server import CHAT_KEY, DAEMON_KEY, OPERATOR_KEY, VIEWER_KEY, Answer, Site, running_site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as site:
        (tmp_path / "address").write_text(site.url, encoding="utf-8")
        (tmp_path / "api-key").write_text(DAEMON_KEY, encoding="utf-8")
        yield site


async def seen(site: Site, user: str, role: PrincipalRole | None = None, platform: str = "chat") -> str:
    def script(tx: Transaction) -> str:
        return tx.principals.seen(platform, user, user.title(), role, site.clock.now()).id

    return await site.store.write(script)


async def asks(site: Site, user: str, number: int) -> str:
    """Write as a stranger, and return the code."""
    code = new_code(lambda _bits: number)
    message = IncomingMessage(Address("chat", "main", user), "e", Sender(user, user.title()), "hi", is_direct=True)
    assert await site.store.write(offer_pairing, message, site.clock.now(), code) is not None
    return code


async def names(site: Site, query: str = "") -> list[str]:
    page = (await site.call("GET", f"/api/people?platform=chat&{query}")).json()
    return sorted(each["name"] for each in page["items"])


async def change(site: Site, person: str, key: str = DAEMON_KEY, **body: Any) -> Answer:
    return await site.call("PATCH", f"/api/people/{person}", key=key, json=body)


async def test_people_are_listed_by_what_they_are(site: Site) -> None:
    for user in ("ann", "bob", "boss"):
        await seen(site, user)
    await seen(site, "former", PrincipalRole.OWNER)
    await change(site, await seen(site, "ann"), role="operator", paired=True)
    assert await names(site) == ["Ann", "Bob", "Boss", "Former"]
    assert [await names(site, f"role={role}") for role in ("operator", "member", "blocked")] == [
        ["Ann"],
        ["Bob", "Former"],
        [],
    ]
    assert [await names(site, f"paired={paired}") for paired in ("true", "false")] == [
        ["Ann"],
        ["Bob", "Boss", "Former"],
    ]
    assert [await names(site, f"q={text}") for text in ("BO", "%", "ann")] == [["Bob", "Boss"], [], ["Ann"]]
    first = (await site.call("GET", "/api/people?platform=chat&limit=3")).json()
    rest = (await site.call("GET", f"/api/people?platform=chat&limit=3&cursor={first['nextCursor']}")).json()
    assert (len(first["items"]), len(rest["items"]), rest["nextCursor"]) == (3, 1, None)


async def test_what_was_changed_is_shown_with_who_did_it(site: Site) -> None:
    ann = await seen(site, "ann")
    assert (await site.call("GET", f"/api/people/{ann}")).json()["changes"] == []
    changed = (await change(site, ann, role="blocked")).json()
    assert (changed["role"], changed["paired"]) == ("blocked", False)
    owner = (await site.call("GET", "/api/people?platform=web")).json()["items"][0]
    assert [(each["role"], each["by"]) for each in changed["changes"]] == [("blocked", owner["id"]), ("member", None)]
    assert owner["role"] == "owner"


@pytest.mark.parametrize(
    ("user", "body", "status"),
    [
        ("boss", {"role": "blocked"}, 409),
        ("ann", {"role": "owner"}, 422),
        ("ann", {"role": "king"}, 422),
        ("ann", {"paired": "yes"}, 422),
        ("ann", {"role": "blocked", "paired": True}, 422),
    ],
)
async def test_what_cannot_be_changed(site: Site, user: str, body: dict[str, Any], status: int) -> None:
    assert (await change(site, await seen(site, user), **body)).status == status


async def test_over_the_web_the_key_says_who_operates(site: Site) -> None:
    visitor = await seen(site, "visitor", platform="web")
    assert (await change(site, visitor, role="operator")).status == 422
    assert (await change(site, visitor, role="blocked")).json()["role"] == "blocked"
    owner = await seen(site, "owner", platform="web")
    assert (await change(site, owner, role="blocked")).status == 409
    assert (await site.call("GET", "/api/people/nobody")).status == 404


async def test_who_may_do_what(site: Site) -> None:
    ann = await seen(site, "ann")
    code = await asks(site, "stranger", 1)
    routes = [
        ("GET", "/api/people", None),
        ("GET", "/api/pairings", None),
        ("POST", "/api/pairings/reject", {"code": code}),
        ("PATCH", f"/api/people/{ann}", {"role": "member"}),
    ]
    allowed = {CHAT_KEY: 0, VIEWER_KEY: 2, OPERATOR_KEY: 3, DAEMON_KEY: 4}
    for key, number in allowed.items():
        answers = [await site.call(method, path, key=key, json=body) for method, path, body in routes]
        assert [answer.status != 403 for answer in answers] == [place < number for place in range(4)]


async def test_a_stranger_is_let_in_by_an_operator(site: Site) -> None:
    code = await asks(site, "stranger", 3)
    listed = (await site.call("GET", "/api/pairings")).json()["items"]
    assert [(each["userName"], each["connector"], each["status"]) for each in listed] == [
        ("Stranger", "main", "pending")
    ]
    approved = await site.call("POST", "/api/pairings/approve", key=OPERATOR_KEY, json={"code": code.lower()})
    assert (approved.status, approved.json()["paired"], approved.json()["role"]) == (200, True, "member")
    assert (await site.call("GET", "/api/pairings")).json()["items"] == []
    everybody = (await site.call("GET", "/api/pairings?pending=false")).json()["items"]
    assert [each["status"] for each in everybody] == ["approved"]
    again = await site.call("POST", "/api/pairings/approve", json={"code": code})
    assert (again.status, again.code) == (404, "wrong_code")


async def test_wrong_codes_are_counted(site: Site) -> None:
    for _ in range(MOST_TRIES):
        assert (await site.call("POST", "/api/pairings/approve", json={"code": "nothing"})).status == 404
    code = await asks(site, "stranger", 4)
    assert (await site.call("POST", "/api/pairings/approve", json={"code": code})).status == 429
    asked = (await site.call("GET", "/api/pairings")).json()["items"][0]["id"]
    assert (await site.call("POST", "/api/pairings/reject", json={"id": asked})).json()["status"] == "rejected"
    assert (await site.call("POST", "/api/pairings/reject", json={"id": asked})).status == 404
    for body in ({}, {"id": asked, "code": code}, {"code": 5}):
        assert (await site.call("POST", "/api/pairings/reject", json=body)).status == 422


async def run(folder: Path, command: Command, *arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, command, [*arguments, "--data", str(folder)])


async def out(folder: Path, command: Command, *arguments: str) -> str:
    done = await run(folder, command, *arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


async def test_on_the_command_line(site: Site, tmp_path: Path) -> None:
    pairing, people = pairing_command.pairing, people_command.people
    assert await out(tmp_path, pairing, "list") == "No open pairing requests.\n"
    codes = [await asks(site, user, number) for number, user in enumerate(("ann", "bob"), 5)]
    header, newest, _ = (await out(tmp_path, pairing, "list")).splitlines()
    assert (header.split()[0], newest.split()[-2:]) == ("ID", ["Bob", "bob"])
    assert await out(tmp_path, pairing, "approve", codes[0]) == "Ann (chat:ann) is paired and was notified.\n"
    assert await out(tmp_path, pairing, "reject", codes[1]) == "Bob (chat:bob) is rejected.\n"
    assert "rejected" in await out(tmp_path, pairing, "list", "--all")
    assert (await run(tmp_path, pairing, "approve", codes[0])).exit_code == 1
    assert (await run(tmp_path, pairing, "reject")).exit_code == 2

    assert "Ann" in await out(tmp_path, people, "list", "--platform", "chat", "--paired")
    steps = [
        (people, ("update", "chat:ann", "--role", "operator"), "is now operator"),
        (people, ("block", "chat:ann"), "is blocked"),
        (people, ("unblock", "chat:ann"), "is no longer blocked"),
        (pairing, ("approve", "--person", "chat:ann"), "is paired"),
        (pairing, ("revoke", "chat:ann"), "is no longer paired"),
    ]
    for command, arguments, words in steps:
        assert await out(tmp_path, command, *arguments) == f"Ann (chat:ann) {words}.\n"
    shown = (await out(tmp_path, people, "show", "chat:ann")).splitlines()
    assert "role        member" in shown
    assert len(shown) > 10
    assert (await run(tmp_path, people, "show", "chat:nobody")).exit_code == 1


async def test_an_owner_deletes_the_memory_about_a_person(site: Site, tmp_path: Path) -> None:
    ann, bob = await seen(site, "ann"), await seen(site, "bob")

    def learn(tx: Transaction) -> None:
        tx.agents.add(Agent(id="agent1", slug="helper", name="Helper"), site.clock.now())
        for scope, content in ((ann, "likes tea"), (bob, "likes gin"), (ann, "lives in Rome")):
            fact = NewFact("agent1", principal_scope(scope), Category.LEARNED_PATTERN, content)
            tx.facts.note(tx.facts.add(fact, site.clock.now()), "added", by_id="x", now=site.clock.now())

    await site.store.write(learn)
    path = f"/api/people/{ann}/memory"
    assert (await site.call("DELETE", path, key=OPERATOR_KEY)).status == 403
    assert (await site.call("DELETE", "/api/people/none/memory")).status == 404
    gone = await out(tmp_path, people_command.people, "forget", "chat:ann", "--yes")
    assert gone == "Permanently deleted: 2 facts and 0 values about chat:ann.\n"
    assert (await site.call("DELETE", path)).json() == {"facts": 0, "values": 0}
    left = (await site.call("GET", "/api/memory")).json()["items"]
    assert [each["content"] for each in left] == ["likes gin"]
    entries = (await site.call("GET", "/api/audit?kind=person_forgotten")).json()["items"]
    assert [(each["subject"], each["fields"]["facts"]) for each in entries] == [(ann, 0), (ann, 2)]


async def test_people_choose_their_time_zone_and_language(site: Site, tmp_path: Path) -> None:
    ann = await seen(site, "ann")
    assert (await change(site, ann, key=CHAT_KEY, timezone="Asia/Tokyo")).status == 403
    shown = (await change(site, ann, timezone="Asia/Tokyo")).json()
    assert (shown["timezone"], shown["language"], shown["role"]) == ("Asia/Tokyo", None, "member")
    assert (await change(site, ann, language="no language")).status == 422
    owned = (await site.call("GET", "/api/people?platform=web")).json()["items"][0]["id"]
    assert (await change(site, owned, language="de")).status == 200, "that of an owner, too"

    mine = "/api/auth/preferences"
    changed = await site.call("PATCH", mine, key=CHAT_KEY, json={"timezone": "Europe/Berlin", "language": "pt-BR"})
    assert changed.json() == {"timezone": "Europe/Berlin", "language": "pt-BR"}
    await site.call("PATCH", mine, key=CHAT_KEY, json={"timezone": ""})
    assert (await site.call("GET", mine, key=CHAT_KEY)).json() == {"timezone": None, "language": "pt-BR"}

    out = await run(tmp_path, people_command.people, "update", "chat:ann", "--language", "de", "--timezone", "")
    assert "now uses de as language and now uses the default as time zone" in out.output
