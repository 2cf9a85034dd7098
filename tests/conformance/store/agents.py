"""Cases for changes of agents: their channels and their versions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.agents import AgentStatus, AgentVersion, Binding, Permission
from arvis.domain.errors import StoreError
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import AGENT, NOW, add_agent
from tests.conformance.store.transactions import TransactionCases

HALL = Binding("web", "hall", AGENT.id, Permission.READ_ONLY)


def keep(tx: Transaction, /, number: int, **changes: Any) -> AgentVersion:
    kept = AgentVersion(AGENT.id, number, replace(AGENT, **changes), (HALL,) * (number % 2), "ann", NOW + number)
    tx.agents.keep_version(kept)
    return kept


class AgentCases(TransactionCases):
    async def test_a_binding_ends(self, store: Store) -> None:
        await store.write(add_agent)
        await store.write(lambda tx: tx.agents.bind(HALL, NOW))
        assert not await store.write(lambda tx: tx.agents.unbind("web", "other"))
        assert await store.write(lambda tx: tx.agents.unbind("web", "hall"))
        assert not await store.write(lambda tx: tx.agents.unbind("web", "hall"))
        assert await store.read(lambda tx: tx.agents.bindings()) == ()

    async def test_versions_come_back_as_they_were_kept_the_newest_first(self, store: Store) -> None:
        await store.write(add_agent)
        changes: dict[str, Any] = {
            "prompt": "Überall „hier“",
            "tools": ("a", "b.*"),
            "status": AgentStatus.PAUSED,
            "model": "x/y",
        }
        kept = [await store.write(keep, 1), await store.write(keep, 2, **changes), await store.write(keep, 10)]
        assert await store.read(lambda tx: tx.agents.versions(AGENT.id, 10)) == kept[::-1]
        assert await store.read(lambda tx: tx.agents.versions(AGENT.id, 1)) == kept[2:]
        assert await store.read(lambda tx: tx.agents.versions("other", 10)) == []

    async def test_a_version_is_kept_once(self, store: Store) -> None:
        await store.write(add_agent)
        await store.write(keep, 1)
        with pytest.raises(StoreError):
            await store.write(keep, 1, name="Other")
        assert [one.agent for one in await store.read(lambda tx: tx.agents.versions(AGENT.id, 10))] == [AGENT]
