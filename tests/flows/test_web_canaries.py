"""No response contains a secret that was sent to the web server; each secret contains a recognisable mark."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.web.http.endpoints import Endpoint
from arvis.web.http.identity import Role
from tests.flows.login_kit import add_user, browser_of, enter, make_key
from tests.flows.web_server import DAEMON_KEY, OPERATOR_KEY, OWNER_KEY, VIEWER_KEY, Site, running_site

ACCOUNT, IN_ADDRESS, VARIABLE, HOOK, PASSWORD = (
    f"canary-{name}-4f1c" for name in ("account", "address", "variable", "hook", "password")
)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as site:
        yield site


async def _told(site: Site) -> dict[str, str]:
    """Create objects with secrets, and return all secrets by description."""
    account = {"name": "vendor", "provider": "custom", "apiKey": ACCOUNT, "model": "m"}
    address = f"http://ann:{IN_ADDRESS}@127.0.0.1:9/v1"
    made = await site.call("POST", "/api/accounts", json={**account, "baseUrl": address})
    assert made.status in {201, 422}, made.text
    if made.status == 422:
        assert IN_ADDRESS not in made.text
        assert (
            await site.call("POST", "/api/accounts", json={**account, "baseUrl": "http://127.0.0.1:9/v1"})
        ).status == 201
    variable = {"value": VARIABLE, "secret": True}
    assert (await site.call("PUT", "/api/variables/token", json=variable)).status == 201
    hook = {"path": "/ci", "agent": "bare", "template": "x", "platform": "web", "channelId": "room", "secret": HOOK}
    assert (await site.call("POST", "/api/agents", json={"slug": "bare"})).status == 201
    assert (await site.call("POST", "/api/webhooks", json=hook)).status == 201
    amy = await add_user(site, "amy", "operator")
    assert (await amy.call("PUT", "/api/auth/password", json={"password": PASSWORD})).status == 200
    again = browser_of(site, await enter(site, {"user": "amy", "password": PASSWORD}))
    key = await make_key(site, "operator")
    code = (await site.call("POST", "/api/auth/codes")).json()["code"]
    return {
        "key of an account": ACCOUNT, "password in an address": IN_ADDRESS, "variable": VARIABLE, "secret of a webhook": HOOK, "password": PASSWORD,
        "login": again.cookie, "login of before": amy.cookie, "key of the product": key["key"], "login code": code,
        "key of the daemon": DAEMON_KEY, "key of the configuration": OWNER_KEY,
    }  # fmt: skip


async def _paths(site: Site, endpoint: Endpoint) -> list[str]:
    """Return the route's addresses with the ids of existing objects."""
    if "{" not in endpoint.path:
        return [endpoint.path]
    listed = endpoint.path.partition("/{")[0]
    found = await site.call("GET", listed)
    if found.status != 200:
        return []
    items: list[dict[str, Any]] = found.json().get("items", [])
    names = [each.get("id") or each.get("key") or each.get("name") for each in items]
    return [re.sub(r"\{\w+\}", str(name), endpoint.path, count=1) for name in names if name]


def _text_of(body: bytes) -> str:
    """Return the text of a response; of an archive, the texts of its files."""
    if not zipfile.is_zipfile(io.BytesIO(body)):
        return body.decode()
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return "\n".join(archive.read(name).decode() for name in archive.namelist())


async def test_no_answer_tells_a_secret(site: Site) -> None:
    secrets, asked = await _told(site), 0
    readers = {Role.OWNER: DAEMON_KEY, Role.OPERATOR: OPERATOR_KEY, Role.VIEWER: VIEWER_KEY}
    for endpoint in site.parts.endpoints:
        if endpoint.method != "GET" or endpoint.path == "/api/doctor":
            continue
        for path in await _paths(site, endpoint):
            for role, key in readers.items():
                if role not in endpoint.access or "{" in path:
                    continue
                async with site.http.get(site.url + path, headers={"Authorization": f"Bearer {key}"}) as response:
                    body = await response.read()
                    assert response.status < 500, path
                text = _text_of(body)
                found = [what for what, secret in secrets.items() if secret in text]
                assert not found, (role, path, found)
                asked += 1
    assert asked > 130
