"""Lists of attacks on the web server: odd requests and credentials on every route, requests of foreign pages on every
writing route, and sockets. A new route is included automatically.

The attacks of a list are distributed among the routes: each route gets a share, and every attack is used.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from arvis.domain.users import UserRole
from arvis.ports.store import Transaction
from arvis.web.http.endpoints import WRITES, Endpoint
from arvis.web.http.identity import PUBLIC
from tests.flows.attack_lists import (
    FOREIGN_ORIGINS,
    FOREIGN_SHAPES,
    FORGED,
    ODD_HOSTS,
    ODD_PATHS,
    OTHER_METHODS,
    Headers,
)
from tests.flows.login_kit import Browser, add_user, make_key, owner
from tests.flows.web_raw import RawAnswer, ask_raw
from tests.flows.web_server import CHAT_KEY, DAEMON_KEY, VIEWER_KEY, Site, running_site

T = TypeVar("T")

SOON = 1.0
AT_ONCE = 8
UPGRADE: Headers = (
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as site:
        yield site


def path_of(endpoint: Endpoint) -> str:
    return re.sub(r"\{\w+\}", "x", endpoint.path)


def told(site: Site, text: str) -> str:
    port = site.server.port
    for name, value in {"port": port, "other": port + 1, "own": site.url, "host": f"127.0.0.1:{port}"}.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def headers_of(site: Site, headers: Iterable[tuple[str, str]]) -> Headers:
    return tuple((name, told(site, value)) for name, value in headers)


def share(turn: Iterator[T], most: int) -> Sequence[T]:
    return list(itertools.islice(turn, most))


async def all_of(site: Site, asked: Collection[tuple[str, Headers]]) -> list[tuple[str, RawAnswer]]:
    """Send many requests, a few at a time, and return each response with its request."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(line: str, headers: Headers) -> tuple[str, RawAnswer]:
        host = next((value for name, value in headers if name == "Host"), None)
        others = [each for each in headers if each[0] != "Host"]
        async with room:
            return f"{line} {headers}", await ask_raw(site, line, *others, host=host)

    return await asyncio.gather(*(one(*each) for each in asked))


def odd_lines(site: Site, endpoint: Endpoint, shapes: Iterable[str], methods: Iterable[str]) -> Iterator[str]:
    path = path_of(endpoint)
    coded = "".join(f"%{ord(letter):02x}" if letter.isalnum() else letter for letter in path)
    words = {"path": path, "upper": path.upper(), "coded": coded, "twice": coded.replace("%", "%25")}
    for shape in shapes:
        yield f"{endpoint.method} {told(site, shape).format(**words)}"
    for method in methods:
        yield f"{method} {path}"


# -- every route with odd requests -------------------------------------------------------------------------


async def test_whatever_is_made_of_an_address_opens_nothing(site: Site) -> None:
    """No access, no server error, and no redirect."""
    shapes, methods = itertools.cycle(ODD_PATHS), itertools.cycle(OTHER_METHODS)
    asked: list[tuple[str, Headers]] = []
    for endpoint in site.parts.endpoints:
        if endpoint.access != PUBLIC:
            asked += [(line, ()) for line in odd_lines(site, endpoint, share(shapes, 7), share(methods, 3))]
    assert len(asked) > 1_000
    for what, found in await all_of(site, asked):
        page = found.status == 200 and b"<!doctype html>" in found.body[:100].lower()
        assert page or found.status in {400, 401, 403, 404, 405}, (what, found)
        assert "location" not in found.headers, what
    assert not site.inbox.received


async def test_what_proxies_tell_makes_nobody_somebody(site: Site) -> None:
    turn = itertools.cycle(FORGED)
    asked = [
        (f"{endpoint.method} {path_of(endpoint)}", (forged, ("X-Arvis-Request", "1")))
        for endpoint in site.parts.endpoints
        if endpoint.access != PUBLIC
        for forged in share(turn, 5)
    ]
    assert len(asked) > 500
    for what, found in await all_of(site, asked):
        # After too many wrong keys from one address, the answer is 429, which gives no access, either.
        assert found.status in {401, 429}, (what, found)


async def test_what_proxies_tell_makes_nobody_more_than_they_are(site: Site) -> None:
    """The role of a chat user or a viewer does not change."""
    turn = itertools.cycle(each for each in FORGED if each[0] not in {"Authorization", "Cookie"})
    for key, role in ((CHAT_KEY, "chat"), (VIEWER_KEY, "viewer")):
        asked = [
            (f"{endpoint.method} {path_of(endpoint)}", (("Authorization", f"Bearer {key}"), forged))
            for endpoint in site.parts.endpoints
            if role not in endpoint.access
            for forged in share(turn, 2)
        ]
        assert len(asked) > 100
        for what, found in await all_of(site, asked):
            assert (found.status, found.code) == (403, "role"), (what, found)


async def test_a_strange_host_gets_no_answer_to_anything(site: Site) -> None:
    turn = itertools.cycle(ODD_HOSTS)
    key = ("Authorization", f"Bearer {DAEMON_KEY}")
    asked = [
        (f"{endpoint.method} {path_of(endpoint)}", (("Host", told(site, host)), key))
        for endpoint in site.parts.endpoints
        for host in share(turn, 3)
    ]
    for what, found in await all_of(site, asked):
        assert found.status in {400, 403}, (what, found)
        assert found.code in {None, "wrong_host"}, (what, found)


# -- pages of other sites ----------------------------------------------------------------------------------


async def test_no_page_of_another_site_changes_anything(site: Site) -> None:
    """The requests carry an owner's cookie, and go to every writing route, even those without a credential."""
    login = await owner(site)
    cookie = ("Cookie", f"arvis_session={login.cookie}")
    origins = itertools.cycle((("Origin", origin), ("Content-Type", "application/json")) for origin in FOREIGN_ORIGINS)
    before = await site.store.read(_everything)
    writing = [endpoint for endpoint in site.parts.endpoints if endpoint.method in WRITES]
    asked: list[tuple[str, Headers]] = []
    for endpoint in writing:
        shapes = [*FOREIGN_SHAPES, *share(origins, 6)]
        assert len(shapes) >= 30
        asked += [(f"{endpoint.method} {path_of(endpoint)}", headers_of(site, (*each, cookie))) for each in shapes]
    assert len(asked) > 1_800
    for what, found in await all_of(site, asked):
        assert found.status in {400, 403}, (what, found)
        assert found.code in {None, "wrong_origin", "no_origin", "wrong_host"}, (what, found)
    assert await site.store.read(_everything) == before
    assert not site.inbox.received
    assert await login.status() == 200


def _everything(tx: Transaction) -> tuple[object, ...]:
    """Return the rows that a request without a body could change."""
    return tx.users.after("", 100), tx.api_keys.before(None, 100), tx.settings.get("setup.dismissed"), tx.agents.all()


async def test_no_page_of_another_site_logs_anybody_in(site: Site) -> None:
    """The existing login stays, too."""
    code = (await site.call("POST", "/api/auth/codes")).json()["code"]
    for origin in FOREIGN_ORIGINS:
        headers = {"Origin": told(site, origin), "Content-Type": "application/json"}
        found = await ask_raw(site, "POST /api/auth/login", *headers.items())
        assert (found.status, found.code) == (403, "wrong_origin"), origin
    assert (await site.call("POST", "/api/auth/login", key=None, json={"code": code})).status == 200


# -- sockets -----------------------------------------------------------------------------------------------


async def upgrade(site: Site, *headers: tuple[str, str]) -> int:
    """Return the status of an upgrade; 101 means that the socket opened."""
    ((_, found),) = await all_of(site, [("GET /ws", headers_of(site, (*UPGRADE, *headers)))])
    return found.status


async def test_no_socket_opens_for_another_site(site: Site) -> None:
    cookie = ("Cookie", f"arvis_session={(await owner(site)).cookie}")
    assert len(FOREIGN_ORIGINS) >= 40
    for origin in FOREIGN_ORIGINS:
        for credential in (cookie, ("Authorization", f"Bearer {DAEMON_KEY}"), ("X-Nothing", "x")):
            assert await upgrade(site, ("Origin", origin), credential) in {400, 403}, origin
    for host in ODD_HOSTS:
        for origin in ("{own}", f"http://{host}"):
            assert await upgrade(site, ("Host", told(site, host)), ("Origin", origin), cookie) in {400, 403}, host
    for where in ("cross-site", "same-site", "Cross-Site"):
        assert await upgrade(site, ("Origin", "{own}"), cookie, ("Sec-Fetch-Site", where)) == 403
    twice = (("Origin", "{own}"), ("Origin", "http://evil.example"))
    assert await upgrade(site, *twice, cookie) in {400, 403}
    assert await upgrade(site, *reversed(twice), cookie) in {400, 403}
    assert await upgrade(site, ("Origin", "{own}"), cookie) == 101


async def test_no_socket_opens_for_a_browser_that_is_not_logged_in(site: Site) -> None:
    """The server refuses the upgrade without a login, with an ended login, with a revoked key, and with a cookie
    without its page."""
    gone, made = await add_user(site, "gone", "viewer"), await make_key(site, "viewer")
    cookie, key = ("Cookie", f"arvis_session={gone.cookie}"), ("Authorization", f"Bearer {made['key']}")
    assert await upgrade(site, ("Origin", "{own}"), cookie) == 101
    assert await upgrade(site, key) == 101
    assert await upgrade(site, cookie) == 403
    assert await upgrade(site, ("Origin", "{own}")) == 401
    assert await upgrade(site, ("Origin", "{own}"), ("Cookie", "arvis_session=")) == 401
    assert (await gone.call("POST", "/api/auth/logout")).status == 200
    assert (await site.call("DELETE", f"/api/keys/{made['id']}")).status == 200
    assert await upgrade(site, ("Origin", "{own}"), cookie) == 401
    assert await upgrade(site, key) == 401
    for method in ("POST", "PUT", "HEAD", "OPTIONS"):
        ((_, found),) = await all_of(site, [(f"{method} /ws", UPGRADE)])
        assert found.status in {400, 403, 404, 405, 426}, method


async def _logs_out(site: Site, who: Browser) -> None:
    assert (await who.call("POST", "/api/auth/logout")).status == 200


async def _loses_the_role(site: Site, who: Browser) -> None:
    assert (await site.call("PATCH", "/api/users/amy", json={"role": "chat"})).status == 200


async def _is_removed(site: Site, who: Browser) -> None:
    assert (await site.call("DELETE", "/api/users/amy")).status == 200


async def _is_logged_out_by_an_owner(site: Site, who: Browser) -> None:
    (login,) = (await site.call("GET", "/api/auth/sessions?user=amy")).json()["items"]
    assert (await site.call("DELETE", f"/api/auth/sessions/{login['id']}")).status == 200


async def _gets_another_password(site: Site, who: Browser) -> None:
    given = {"password": "correct horse battery"}
    assert (await site.call("PUT", "/api/users/amy/password", json=given)).status == 200


@pytest.mark.parametrize(
    "end", [_logs_out, _loses_the_role, _is_removed, _is_logged_out_by_an_owner, _gets_another_password]
)
async def test_an_open_socket_ends_within_a_second(site: Site, end: object) -> None:
    amy = await add_user(site, "amy", UserRole.OPERATOR)
    async with amy.socket() as socket:
        assert callable(end)
        await end(site, amy)
        async with asyncio.timeout(SOON):
            assert await socket.close_code() == 4001
    assert await amy.status() == 401


async def test_the_sockets_of_a_revoked_key_end_within_a_second(site: Site) -> None:
    made = await make_key(site, "chat")
    async with site.socket(apiKey=made["key"]) as socket:
        assert (await site.call("DELETE", f"/api/keys/{made['id']}")).status == 200
        async with asyncio.timeout(SOON):
            assert await socket.close_code() == 4001
