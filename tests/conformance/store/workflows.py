"""Cases for workflows, their versions, their triggers, their runs and the runs' logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arvis.domain.executions import ExecutionStatus
from arvis.domain.ids import first_id_at
from arvis.domain.triggers import Trigger
from arvis.domain.workflows import LogEntry, Workflow, WorkflowRun, WorkflowVersion
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import NOW, begin_execution
from tests.conformance.store.transactions import TransactionCases

DIGEST = Workflow("w1", "digest", "Digest ü 🚀", "Reads the news", True, 1, 1, "ann", NOW, NOW)
TRIAGE = replace(DIGEST, id="w2", slug="triage", name="Triage", enabled=False, runnable=None)
DRAWN = {"schema": 1, "nodes": [{"id": "s", "type": "start", "x": 0.5, "y": -1, "data": {"ü": None}}]}
FIRST = WorkflowVersion("w1", 1, DRAWN, 0, "first", "ann", NOW)
INVOICES = Trigger("w1", "t1", "message", "telegram", "room", "invoice, bill", "Invoices")
RUN = WorkflowRun("e1", "w1", 1, "api", "s", None, "ann", NOW)


def add_workflows(tx: Transaction) -> None:
    for workflow in (DIGEST, TRIAGE):
        tx.workflows.add(workflow)


def triggers(tx: Transaction, kind: str, limit: int) -> Sequence[Trigger]:
    return tx.workflows.triggers(kind, limit).rows


def add_run(tx: Transaction) -> None:
    add_workflows(tx)
    begin_execution(tx, "e1")
    tx.workflow_runs.add(RUN)


def keep(tx: Transaction, *versions: WorkflowVersion) -> None:
    for version in versions:
        tx.workflows.keep_version(version)


def log(tx: Transaction, *contents: str, run_id: str = "e1") -> int:
    return tx.workflow_runs.log(run_id, [("a", "llm_response", each) for each in contents], NOW)


def entries(tx: Transaction, after: int = 0, limit: int = 99) -> list[LogEntry]:
    return tx.workflow_runs.entries("e1", after, limit)


class WorkflowCases(TransactionCases):
    async def test_a_workflow_is_found_until_it_is_removed_and_by_its_id_after(self, store: Store) -> None:
        await store.write(add_workflows)
        assert await store.read(lambda tx: tx.workflows.get("w1")) == DIGEST
        assert await store.write(lambda tx: tx.workflows.hold("w2")) == TRIAGE
        assert await store.read(lambda tx: tx.workflows.by_slug("digest")) == DIGEST
        assert await store.read(lambda tx: (tx.workflows.all(), tx.workflows.count())) == ([DIGEST, TRIAGE], 2)
        gone = replace(DIGEST, removed_at=NOW + 1)
        await store.write(lambda tx: tx.workflows.update(gone))
        assert await store.read(lambda tx: (tx.workflows.by_slug("digest"), tx.workflows.count())) == (None, 1)
        assert await store.read(lambda tx: tx.workflows.get("w1")) == gone
        again = replace(DIGEST, id="w3")
        await store.write(lambda tx: tx.workflows.add(again))
        assert await store.read(lambda tx: tx.workflows.by_slug("digest")) == again

    async def test_versions_are_kept_as_they_were(self, store: Store) -> None:
        await store.write(add_workflows)
        second = replace(FIRST, version=2, document={**DRAWN, "name": "x"}, problems=3, principal_id=None)
        await store.write(keep, FIRST, second)
        assert await store.read(lambda tx: tx.workflows.version("w1", 1)) == FIRST
        assert await store.read(lambda tx: tx.workflows.version("w1", 2)) == second
        assert await store.read(lambda tx: tx.workflows.version("w2", 1)) is None

    async def test_triggers_stand_instead_of_those_before(self, store: Store) -> None:
        await store.write(add_workflows)
        hook = Trigger("w1", "t2", "webhook")
        other = replace(INVOICES, workflow_id="w2")
        await store.write(lambda tx: tx.workflows.set_triggers("w1", [INVOICES, hook]))
        await store.write(lambda tx: tx.workflows.set_triggers("w2", [other]))
        for kind, limit, found in (
            ("message", 9, [INVOICES, other]),
            ("message", 1, [INVOICES]),
            ("webhook", 9, [hook]),
            ("manual", 9, []),
        ):
            assert await store.read(triggers, kind, limit) == found
        await store.write(lambda tx: tx.workflows.set_triggers("w1", [hook]))
        assert await store.read(triggers, "message", 9) == [other]

    async def test_lines_of_a_run_are_numbered_in_order(self, store: Store) -> None:
        await store.write(add_run)
        assert await store.write(log, "one", "two") == 2
        assert await store.write(log, "three") == 3
        assert await store.write(log, "lost", run_id="e9") == 0
        told = await store.read(entries)
        assert [(each.number, each.content) for each in told] == [(1, "one"), (2, "two"), (3, "three")]
        assert told[0] == LogEntry("e1", 1, NOW, "a", "llm_response", "one")
        assert [each.number for each in await store.read(entries, 1, 1)] == [2]
        assert await store.read(lambda tx: tx.workflow_runs.get("e1")) == replace(RUN, entries=3)

    async def test_the_log_of_an_old_run_is_forgotten_and_that_of_a_live_one_never(self, store: Store) -> None:
        old, later = first_id_at(NOW), NOW + 1_000

        def begin(tx: Transaction) -> None:
            add_workflows(tx)
            begin_execution(tx, old)
            tx.workflow_runs.add(replace(RUN, execution_id=old))
            log(tx, "one", run_id=old)

        await store.write(begin)
        assert await store.write(lambda tx: tx.workflow_runs.prune(later, 9)) == 0
        await store.write(lambda tx: tx.executions.set_status(old, ExecutionStatus.DONE, None, NOW))
        assert await store.write(lambda tx: tx.workflow_runs.prune(NOW, 9)) == 0
        assert await store.write(lambda tx: tx.workflow_runs.prune(later, 9)) == 1
        assert await store.read(lambda tx: tx.workflow_runs.entries(old, 0, 9)) == []
        assert await store.write(lambda tx: tx.workflow_runs.prune(later, 9)) == 0
