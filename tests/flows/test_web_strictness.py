"""An unknown field or parameter is refused by name, so that a typing error has no silent effect."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.flows.web_server import Site, running_site


@pytest_asyncio.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as running:
        yield running


async def test_an_unknown_field_is_named_with_those_that_are_known(site: Site) -> None:
    answer = await site.call("POST", "/api/messages", json={"contnet": "hello"})
    assert (answer.status, answer.code) == (422, "unknown_field")
    assert "`contnet`" in answer.json()["error"]["message"]
    assert "content, effort, id, replySchema, replyTo, userId" in answer.json()["error"]["fix"]
    assert site.inbox.received == []


async def test_an_unknown_parameter_is_named_with_those_that_are_known(site: Site) -> None:
    answer = await site.call("GET", "/api/jobs?statsu=failed")
    assert (answer.status, answer.code) == (422, "unknown_parameter")
    assert "`statsu`" in answer.json()["error"]["message"]
    assert "status" in answer.json()["error"]["fix"]


async def test_who_may_not_pass_is_told_nothing_of_parameters(site: Site) -> None:
    assert (await site.call("GET", "/api/jobs?statsu=failed", key=None)).status == 401


async def test_doors_for_others_take_any_parameter(site: Site) -> None:
    assert (await site.call("GET", "/health?from=the-balancer", key=None)).status == 200
