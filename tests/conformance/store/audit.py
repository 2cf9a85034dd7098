"""Cases for actions that models request, and for turns that agents hand over."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.effects import AuditEntry, EffectKind, Outcome, Proposal
from arvis.ports.changes import Delegation
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import AGENT, NOW, begin_execution
from tests.conformance.store.transactions import TransactionCases

WANTED = Proposal(2, EffectKind.CREATE_AGENT, "news", {"slug": "news", "tools": ["web_search"], "text": "ü 🚀"})
ENTRY = AuditEntry(
    id="A1",
    at=NOW,
    execution_id="turn-1",
    message_id="message-1",
    agent_id=AGENT.id,
    principal_id="ann",
    proposal=WANTED,
    taint="files tools",
    outcome=Outcome.REFUSED,
    reason="no_right",
    report="create the agent “news” (this person may not do that)",
)
TASK = Delegation("turn-2", "turn-1", "turn-1", "agent-2", 1, ("agent-1", "agent-2"), "task", NOW)


def add_entries(tx: Transaction, *entries: AuditEntry) -> None:
    for entry in entries:
        tx.audit.add(entry)


def entries_of(tx: Transaction, execution_id: str) -> list[AuditEntry]:
    return tx.audit.of_execution(execution_id)


def add_delegations(tx: Transaction, *delegations: Delegation) -> None:
    for delegation in delegations:
        tx.delegations.add(delegation)


class AuditCases(TransactionCases):
    async def test_a_line_of_the_audit_comes_back_as_it_went_in(self, store: Store) -> None:
        nobody = replace(ENTRY, id="A2", message_id=None, principal_id=None, reason=None, outcome=Outcome.DONE)
        await store.write(add_entries, ENTRY, nobody)
        assert await store.read(entries_of, "turn-1") == [ENTRY, nobody]

    async def test_the_lines_of_a_turn_come_in_the_order_of_its_tags(self, store: Store) -> None:
        first = replace(ENTRY, id="A2", proposal=replace(WANTED, ordinal=1))
        await store.write(add_entries, ENTRY, first, replace(ENTRY, id="A3", execution_id="turn-9"))
        assert [entry.id for entry in await store.read(entries_of, "turn-1")] == ["A2", "A1"]

    async def test_what_was_done_for_a_person_is_counted(self, store: Store) -> None:
        done = replace(ENTRY, outcome=Outcome.DONE)
        await store.write(
            add_entries,
            replace(done, id="early", at=NOW - 1),
            replace(done, id="now"),
            replace(done, id="bob", principal_id="bob"),
            replace(done, id="other", proposal=replace(WANTED, kind=EffectKind.CREATE_CLIENT)),
            replace(done, id="refused", outcome=Outcome.REFUSED),
        )
        assert await store.read(lambda tx: tx.audit.count("ann", EffectKind.CREATE_AGENT, NOW)) == 1
        assert await store.read(lambda tx: tx.audit.count("ann", EffectKind.CREATE_AGENT, NOW - 1)) == 2

    async def test_delegations_are_found_and_counted_by_their_root(self, store: Store) -> None:
        deeper = replace(TASK, execution_id="turn-3", parent_id="turn-2", depth=2, kind="report")
        other = replace(TASK, execution_id="turn-4", root_id="turn-9")
        run = replace(TASK, execution_id="run-5", kind="run")

        def script(tx: Transaction) -> int:
            begin_execution(tx, "turn-1")
            add_delegations(tx, TASK, deeper, other, run)
            return tx.delegations.count_of_root("turn-1")

        assert await store.write(script) == 2
        assert await store.read(lambda tx: tx.delegations.runs_of_root("turn-1")) == 1
        assert await store.read(lambda tx: tx.delegations.get("turn-3")) == deeper
        assert await store.read(lambda tx: tx.delegations.get("turn-1")) is None

    async def test_the_calls_of_an_execution_cost_nothing_before_there_are_some(self, store: Store) -> None:
        assert await store.read(lambda tx: tx.usage.cost_of("turn-1")) == 0
