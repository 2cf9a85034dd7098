"""Variables over HTTP: set, listed, removed; a secret value is sealed and never returned."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from arvis.process.secrets import SealedBox, secrets_key_file
from arvis.web.api.variables import DOTS
from tests.flows.web_server import OPERATOR_KEY, VIEWER_KEY, Site, files_with, running_site

CANARY = "canary-variable-81Hq"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as site:
        yield site


async def test_a_variable_is_set_shown_replaced_and_removed(site: Site) -> None:
    path = "/api/variables/home.city"
    assert (await site.call("PUT", path, json={"value": "Rome"})).status == 201
    assert (await site.call("PUT", path, json={"value": "Oslo ü"})).status == 200
    shown = (await site.call("GET", path)).json()
    assert (shown["key"], shown["value"], shown["secret"]) == ("home.city", "Oslo ü", False)
    assert abs(shown["updatedAt"] - site.clock.now()) < 60_000
    assert (await site.call("GET", "/api/variables")).json() == {"items": [shown], "nextCursor": None}
    assert (await site.call("DELETE", path)).json() == {"ok": True}
    assert [(await site.call(method, path)).status for method in ("GET", "DELETE")] == [404, 404]


async def test_a_secret_is_sealed_and_shown_as_dots(site: Site, tmp_path: Path) -> None:
    path = "/api/variables/TOKEN"
    answers = [await site.call("PUT", path, json={"value": CANARY, "secret": True})]
    answers += [await site.call("GET", path), await site.call("GET", "/api/variables")]
    assert not [answer for answer in answers if CANARY in answer.text or "v1." in answer.text]
    assert answers[1].json()["value"] == DOTS
    stored = await site.store.read(lambda tx: tx.variables.get("TOKEN"))
    assert stored is not None
    box = SealedBox(file=secrets_key_file(tmp_path), given=None, tell=print)
    assert box.open(stored.value) == CANARY
    assert files_with(CANARY, tmp_path) == []
    assert CANARY not in site.redact(f"a line with {CANARY}")


async def test_a_secret_stays_one_until_it_is_said_otherwise(site: Site) -> None:
    path = "/api/variables/TOKEN"
    await site.call("PUT", path, json={"value": CANARY, "secret": True})
    assert (await site.call("PUT", path, json={"value": "next"})).json()["value"] == DOTS
    assert (await site.call("PUT", path, json={"value": "open", "secret": False})).json()["value"] == "open"


async def test_variables_are_paged(site: Site) -> None:
    for key in ("a", "b", "c"):
        await site.call("PUT", f"/api/variables/{key}", json={"value": key})
    first = (await site.call("GET", "/api/variables?limit=2")).json()
    assert ([one["key"] for one in first["items"]], first["nextCursor"]) == (["a", "b"], "b")
    rest = (await site.call("GET", "/api/variables?limit=2&cursor=b")).json()
    assert ([one["key"] for one in rest["items"]], rest["nextCursor"]) == (["c"], None)


@pytest.mark.parametrize("key", ["a%20b", "a%2Cb", "%C3%BC", "a" * 101, "a%0A", "%00"])
async def test_a_key_that_is_none(site: Site, key: str) -> None:
    assert (await site.call("PUT", f"/api/variables/{key}", json={"value": "x"})).status == 422
    assert (await site.call("GET", f"/api/variables/{key}")).status == 404


@pytest.mark.parametrize("body", [{}, {"value": 1}, {"value": None}, {"value": "x", "secret": "yes"}])
async def test_a_value_that_is_none(site: Site, body: dict[str, object]) -> None:
    assert (await site.call("PUT", "/api/variables/a", json=body)).status == 422
    assert (await site.call("GET", "/api/variables/a")).status == 404


async def test_operators_read_and_owners_write(site: Site) -> None:
    await site.call("PUT", "/api/variables/a", json={"value": "x"})
    for path in ("/api/variables", "/api/variables/a"):
        assert (await site.call("GET", path, key=OPERATOR_KEY)).status == 200
        assert (await site.call("GET", path, key=VIEWER_KEY)).status == 403
    assert (await site.call("PUT", "/api/variables/a", key=OPERATOR_KEY, json={"value": "y"})).status == 403
    assert (await site.call("DELETE", "/api/variables/a", key=OPERATOR_KEY)).status == 403
