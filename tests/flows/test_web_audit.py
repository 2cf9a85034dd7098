"""The audit over HTTP: actions that models proposed, newest first, for operators."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from arvis.domain.effects import AuditEntry, Outcome
from arvis.ports.store import Transaction
from tests.conformance.store.audit import ENTRY
from tests.conformance.store.scripts import AGENT, NOW
from tests.flows.web_server import OPERATOR_KEY, VIEWER_KEY, Site, running_site

DONE = replace(ENTRY, id="A2", at=NOW + 1, outcome=Outcome.DONE, reason=None, report="created it", taint="")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    def begin(tx: Transaction, *entries: AuditEntry) -> None:
        tx.agents.add(AGENT, NOW)
        for entry in entries:
            tx.audit.add(entry)

    async with running_site(tmp_path, real_insights=True) as site:
        await site.store.write(begin, ENTRY, DONE)
        yield site


async def test_a_line_shows_who_wanted_what_and_what_became_of_it(site: Site) -> None:
    [_, shown] = (await site.call("GET", "/api/audit")).json()["items"]
    assert shown == {
        "id": "A1", "at": NOW, "kind": "create_agent", "subject": "news", "ordinal": 2,
        "fields": {"slug": "news", "tools": ["web_search"], "text": "ü 🚀"}, "agent": "helper", "principalId": "ann",
        "messageId": "message-1", "executionId": "turn-1", "taint": ["files", "tools"], "outcome": "refused",
        "reason": "no_right", "report": "create the agent “news” (this person may not do that)",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("", ["A2", "A1"]),
        ("outcome=refused", ["A1"]),
        ("agent=helper", ["A2", "A1"]),
        ("agent=agent-1&kind=create_agent", ["A2", "A1"]),
        ("kind=delegate", []),
        ("agent=nobody", []),
        ("cursor=A2", ["A1"]),
    ],
)
async def test_lines_are_filtered_and_paged(site: Site, query: str, ids: list[str]) -> None:
    found = (await site.call("GET", f"/api/audit?{query}")).json()
    assert [item["id"] for item in found["items"]] == ids


async def test_a_page_says_where_the_next_one_begins(site: Site) -> None:
    assert (await site.call("GET", "/api/audit?limit=1")).json()["nextCursor"] == "A2"


async def test_only_operators_read_it(site: Site) -> None:
    assert (await site.call("GET", "/api/audit", key=OPERATOR_KEY)).status == 200
    assert (await site.call("GET", "/api/audit", key=VIEWER_KEY)).status == 403
    assert (await site.call("GET", "/api/audit?outcome=maybe")).status == 422
