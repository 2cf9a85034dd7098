"""A claim passes on what its commit has begun, exactly as the rows say, and nothing that was changed since then."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from arvis.domain.executions import Cursor, ExecutionStatus
from arvis.domain.jobs import Job, NewJob, Priority
from arvis.domain.messages import Attachment, MessageStatus, Role
from arvis.domain.taint import Label
from arvis.engine.lifecycle import begin
from arvis.ports.store import Store, Transaction
from arvis.store.open import Database
from tests.conformance.databases import opened
from tests.conformance.store.scripts import AGENT, NOW, PLACE, add_agent, claim, said

Change = Callable[[Transaction], object]


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(Database(tmp_path / "arvis.db", None, tmp_path)) as store:
        await store.write(add_agent)
        yield store


def begin_turn(tx: Transaction, *, then: Change = lambda tx: None) -> list[Job]:
    """Begin a turn with one message, and claim its job in the same commit."""
    conversation = tx.conversations.open(AGENT.id, PLACE, NOW)
    state = {"agent": AGENT.id, "address": PLACE.to_json(), "conversation": conversation.id}
    begin(tx, "e1", "agent", state, lane="a", priority=Priority.MESSAGE, principal_id=None, now=NOW)
    tx.messages.add(said("m1", execution="e1", conversation=conversation.id))
    tx.messages.add(said("other", role=Role.NOTICE, execution="e1", conversation=conversation.id))
    tx.jobs.add(NewJob.advance("e1", "a", Priority.MESSAGE, principal_id=None), NOW)
    then(tx)
    return claim(tx)


async def test_a_claim_passes_on_the_rows_of_its_commit(store: Store) -> None:
    [job] = await store.write(begin_turn)
    assert job.begun is not None
    assert await store.read(lambda tx: tx.executions.get("e1")) == job.begun.execution
    assert await store.read(lambda tx: tx.messages.of_turn("e1")) == job.begun.messages


async def test_a_later_claim_passes_on_nothing(store: Store) -> None:
    await store.write(lambda tx: begin_turn(tx, then=lambda tx: tx.jobs.lock(["a"])))
    await store.write(lambda tx: tx.jobs.rescue("node-1", "boot-2", NOW + 1))
    [job] = await store.write(claim, owner="boot-2", now=NOW + 60_000)
    assert job.begun is None


CHANGES: dict[str, Change] = {
    "a file": lambda tx: tx.files.add("m1", [Attachment("a.txt", "text/plain", 1, "0" * 64)]),
    "a label": lambda tx: tx.messages.label("m1", frozenset({Label.FLAGGED})),
    "a status": lambda tx: tx.messages.mark_turn("e1", MessageStatus.WAITING),
    "a text": lambda tx: tx.incoming.replace_text("m1", "changed", 1),
    "another turn": lambda tx: tx.messages.move("m1", "e2", 0),
    "the end": lambda tx: tx.executions.set_status("e1", ExecutionStatus.CANCELLED, None, NOW),
    "a position": lambda tx: tx.executions.put_cursor(Cursor("c2", "e1", "", None)),
    "the state": lambda tx: tx.executions.save(
        replace(execution, state={"more": 1}) if (execution := tx.executions.get("e1")) else None  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_rows_that_were_changed_are_not_passed_on(store: Store, change: Change) -> None:
    [job] = await store.write(lambda tx: begin_turn(tx, then=change))
    assert job.begun is None


async def test_changes_of_other_turns_do_not_matter(store: Store) -> None:
    def change(tx: Transaction) -> None:
        tx.messages.mark_turn("e2", MessageStatus.WAITING)
        tx.executions.set_status("e2", ExecutionStatus.CANCELLED, None, NOW)

    [job] = await store.write(lambda tx: begin_turn(tx, then=change))
    assert job.begun is not None


async def test_a_script_that_fails_passes_on_nothing(store: Store) -> None:
    def fail(tx: Transaction) -> None:
        begin_turn(tx)
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        await store.write(fail)
    [job] = await store.write(begin_turn)
    assert job.begun is not None
