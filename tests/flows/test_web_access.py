"""Access to the API: every route of the table with every wrong credential, host and origin.

The lists only grow.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yarl
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from arvis.config.sections import Web
from arvis.tools.mcp.logins import CALLBACK
from arvis.web.http.identity import PUBLIC, Role
from tests.flows.web_script import a_job
from tests.flows.web_server import (
    CHAT_KEY,
    DAEMON_KEY,
    KEYS,
    OPERATOR_KEY,
    OWNER_KEY,
    VIEWER_KEY,
    Site,
    running_site,
)

#: The longest time for which wrong keys of an address are counted.
HOUR_MS = 3_600_000
WRONG_CREDENTIALS: list[dict[str, str]] = [
    {},
    {"Authorization": ""},
    {"Authorization": "Bearer"},
    {"Authorization": "Bearer "},
    {"Authorization": "Bearer undefined"},
    {"Authorization": "Bearer null"},
    {"Authorization": f"Bearer {DAEMON_KEY}x"},
    {"Authorization": f"Bearer {DAEMON_KEY[:-1]}"},
    {"Authorization": f"Bearer {DAEMON_KEY.upper()}"},
    {"Authorization": f"Basic {DAEMON_KEY}"},
    {"Authorization": DAEMON_KEY},
    {"X-API-Key": DAEMON_KEY},
    {"X-Forwarded-User": "owner", "X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1"},
    {"Cookie": "arvis_session=", "X-Arvis-Request": "1"},
    {"Cookie": "arvis_session=undefined", "X-Arvis-Request": "1"},
    {"Cookie": f"arvis_session={DAEMON_KEY}", "X-Arvis-Request": "1"},
    {"Cookie": "arvis_session=a; arvis_session=b", "X-Arvis-Request": "1"},
]
WRONG_HOSTS = [
    "evil.example",
    "evil.example:5070",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "evil-localhost",
    "localhost.",
    "127.0.0.2",
    "127.1",
    "0.0.0.0",
    "2130706433",
    "[::2]",
    "::1",
    "user@localhost",
    "localhost:port",
    "localhost/",
    "localhost, evil.example",
    "",
]
WRONG_ORIGINS = [
    "null",
    "",
    "http://evil.example",
    "http://localhost:1",
    "http://localhost",
    "{own}.evil.example",
    "{own}0",
    "{own}/",
    "{https}",
    "http://evil.example@{host}",
    "file://",
    "{own} http://evil.example",
    "{OWN}",
]
KEYS_BY_ROLE = {
    Role.OWNER: (DAEMON_KEY, OWNER_KEY),
    Role.OPERATOR: (OPERATOR_KEY,),
    Role.VIEWER: (VIEWER_KEY,),
    Role.CHAT: (CHAT_KEY,),
}
PAGE_PATHS = ("/", "/index.html")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        site.insights.all_jobs["x"] = a_job("x")
        yield site


def requests(site: Site, *, public: bool | None = None) -> list[tuple[str, str]]:
    """Return method and address of every route of the table (`public`: only the public ones, or only the others)."""
    return [
        (endpoint.method, re.sub(r"\{\w+\}", "x", endpoint.path))
        for endpoint in site.parts.endpoints
        if public in {None, endpoint.access == PUBLIC}
    ]


def body_for(method: str) -> dict[str, Any]:
    return {"json": {"content": "x", "code": "x", "decision": "approve"}} if method == "POST" else {}


async def test_the_public_list_is_short(site: Site) -> None:
    public = {"/health", "/ready", "/api/auth/login", "/api/auth/state", "/hooks/x/x", "/hooks/x", "/oauth/callback"}
    assert {path for _, path in requests(site, public=True)} == public
    for path in ("/health", "/ready", *PAGE_PATHS):
        assert (await site.call("GET", path, key=None)).status in {200, 404}


async def test_nothing_opens_without_a_right_credential(site: Site) -> None:
    for (method, path), headers in itertools.product(requests(site, public=False), WRONG_CREDENTIALS):
        site.clock.monotonic_ms += HOUR_MS  # otherwise, the limit on wrong keys would answer
        answer = await site.call(method, path, key=None, headers=headers, **body_for(method))
        assert answer.status == 401, (method, path, headers, answer.text)
        assert answer.code
    assert not site.inbox.received


async def test_each_role_gets_what_is_its_own_and_no_more(site: Site) -> None:
    for endpoint in site.parts.endpoints:
        if endpoint.access == PUBLIC:
            continue
        path = re.sub(r"\{\w+\}", "x", endpoint.path)
        for role, keys in KEYS_BY_ROLE.items():
            for key in keys:
                answer = await site.call(endpoint.method, path, key=key, **body_for(endpoint.method))
                refused = answer.status == 403 and answer.code == "role"
                assert refused is (role not in endpoint.access), (role, endpoint.method, path, answer.text)


@pytest.mark.parametrize("host", WRONG_HOSTS)
async def test_strange_hosts_are_not_answered(site: Site, host: str) -> None:
    for method, path in [*requests(site), *(("GET", path) for path in PAGE_PATHS)]:
        answer = await site.call(method, path, headers={"Host": host}, **body_for(method))
        assert answer.status in {400, 403}, (method, path)
    assert not site.inbox.received


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:5070", "127.0.0.1:9", "[::1]:5070", "arvis.example:443"])
async def test_known_hosts_are_answered_whatever_the_port(tmp_path: Path, host: str) -> None:
    web = Web(port=0, api_keys=KEYS, allowed_hosts=("arvis.example",))
    async with running_site(tmp_path, web=web) as site:
        assert (await site.call("GET", "/health", key=None, headers={"Host": host})).status == 200


def origins(site: Site) -> list[str]:
    host = site.url.removeprefix("http://")
    known = {"own": site.url, "OWN": site.url.upper(), "https": f"https://{host}", "host": host}
    return [origin.format(**known) for origin in WRONG_ORIGINS]


async def test_another_site_changes_nothing(site: Site) -> None:
    """Neither the login's cookie nor a key helps a foreign page, and it cannot log anybody in."""
    cookie = {"Cookie": f"arvis_session={await site.log_in()}"}
    changing = [(method, path) for method, path in requests(site) if method != "GET"]
    for (method, path), origin in itertools.product(changing, origins(site)):
        for credential in (cookie, {"Authorization": f"Bearer {DAEMON_KEY}"}, {}):
            answer = await site.call(
                method, path, key=None, headers={**credential, "Origin": origin}, **body_for(method)
            )
            assert (answer.status, answer.code) == (403, "wrong_origin"), (method, path, origin)
    assert not site.inbox.received
    assert (await site.call("GET", "/api/auth/me", key=None, headers=cookie)).status == 200


@pytest.mark.parametrize("where", ["cross-site", "same-site", "Cross-Site"])
async def test_a_browser_that_tells_the_site_is_believed(site: Site, where: str) -> None:
    for method, path in requests(site):
        answer = await site.call(method, path, headers={"Sec-Fetch-Site": where}, **body_for(method))
        if path == CALLBACK:
            # The browser comes back from an authorization server.
            assert answer.status == 409
            continue
        assert (answer.status, answer.code) == (403, "wrong_origin"), (method, path)
    assert (await site.call("GET", "/", key=None, headers={"Sec-Fetch-Site": where})).status == 200


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain", ""])
async def test_a_form_of_another_site_is_no_message(site: Site, kind: str) -> None:
    headers = {"Cookie": f"arvis_session={await site.log_in()}", "Content-Type": kind}
    for more in ({}, {"Origin": site.url}):
        answer = await site.call(
            "POST", "/api/messages", key=None, headers={**headers, **more}, data=b'{"content": "x"}'
        )
        assert answer.status in {400, 403}
    assert not site.inbox.received


async def test_a_cookie_must_say_where_it_comes_from(site: Site) -> None:
    cookie = {"Cookie": f"arvis_session={await site.log_in()}"}
    sent = {"content": "x"}
    assert (await site.call("POST", "/api/messages", key=None, headers=cookie, json=sent)).code == "no_origin"
    for more in ({"Origin": site.url}, {"X-Arvis-Request": "1"}):
        answer = await site.call("POST", "/api/messages", key=None, headers={**cookie, **more}, json=sent)
        assert answer.status == 202


async def test_a_wrong_key_is_not_saved_by_a_right_cookie(site: Site) -> None:
    cookie = {"Cookie": f"arvis_session={await site.log_in()}"}
    assert (await site.call("GET", "/api/auth/me", key="wrong", headers=cookie)).status == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "//api/jobs"),
        ("GET", "/api//jobs"),
        ("GET", "/api/jobs/"),
        ("GET", "/API/jobs"),
        ("GET", "/api/%2e%2e/api/jobs"),
        ("GET", "/%2e%2e/%2e%2e/etc/passwd"),
        ("GET", "/..%2fserver.py"),
        ("GET", "/index.html/../../server.py"),
        ("GET", "/api%2fjobs"),
        ("GET", "/api/jobs;x"),
        ("GET", "/api/jobs/x%00"),
        ("PUT", "/api/jobs"),
        ("TRACE", "/api/jobs"),
        ("OPTIONS", "/api/jobs"),
        ("HEAD", "/api/jobs"),
        ("POST", "/api/nothing"),
        ("GET", "/ws"),
    ],
)
async def test_odd_addresses_and_methods_open_nothing(site: Site, method: str, path: str) -> None:
    headers = {"X-HTTP-Method-Override": "GET"}
    async with site.http.request(method, yarl.URL(site.url + path, encoded=True), headers=headers) as response:
        assert response.status in {401, 404, 405}


async def upgrade(site: Site, headers: dict[str, str]) -> int:
    """Return the status of an upgrade; 101 means that the socket opened."""
    address = site.url.replace("http", "ws") + "/ws"
    try:
        async with connect(address, additional_headers=headers):
            return 101
    except InvalidStatus as refusal:
        return refusal.response.status_code


async def test_sockets_of_other_sites_are_refused_before_the_upgrade(site: Site) -> None:
    cookie = {"Cookie": f"arvis_session={await site.log_in()}"}
    for origin in origins(site):
        assert await upgrade(site, {**cookie, "Origin": origin}) == 403, origin
    assert await upgrade(site, {**cookie, "Origin": site.url, "Sec-Fetch-Site": "cross-site"}) == 403
    assert await upgrade(site, {**cookie, "Origin": site.url}) == 101
    assert await upgrade(site, {}) == 101


@pytest.mark.parametrize("host", [host for host in WRONG_HOSTS if host])
async def test_sockets_for_strange_hosts_are_refused_before_the_upgrade(site: Site, host: str) -> None:
    headers = {
        "Host": host, "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }  # fmt: skip
    answer = await site.call("GET", "/ws", headers=headers)
    assert answer.status in {400, 403}


async def test_sockets_with_a_stale_login_are_refused_before_the_upgrade(site: Site) -> None:
    cookie = {"Cookie": f"arvis_session={await site.log_in()}"}
    assert (await site.call("POST", "/api/auth/logout", key=None, headers={**cookie, "Origin": site.url})).status == 200
    assert await upgrade(site, {**cookie, "Origin": site.url}) == 401
    assert await upgrade(site, {"Authorization": "Bearer wrong"}) == 401


async def test_every_answer_carries_the_policy(site: Site) -> None:
    for path, key in [
        ("/", None),
        ("/health", None),
        ("/api/jobs", DAEMON_KEY),
        ("/api/jobs", None),
        ("/nothing", None),
    ]:
        headers = (await site.call("GET", path, key=key)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-dns-prefetch-control"] == "off"
        assert headers["cache-control"] in {"no-store", "no-cache"}
        assert "date" in headers
        assert "server" not in headers
