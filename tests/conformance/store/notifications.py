"""Cases for notifications."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.messages import Address
from arvis.domain.notifications import Hint, Notification, NotificationState, Problem, Remedy, Severity
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import NOW
from tests.conformance.store.transactions import TransactionCases

PROBLEM = Problem(
    cause="bot:chat/main:down",
    text="It is down. ü 🚀",
    severity=Severity.WARNING,
    hint=Hint("`arvis bots list`", "The page Bots.", "/settings/bots"),
    remedy=Remedy.RESTART_BOT,
    subject="chat/main",
    interval=5,
    lasts=1_000,
    avoid=Address("chat", "main", ""),
)
FOUND = Notification(
    id="N1",
    problem=PROBLEM,
    state=NotificationState.OPEN,
    first_at=NOW,
    last_at=NOW,
    count=1,
    sent_at=NOW,
    expires_at=NOW + 1_000,
)
STATE = replace(
    FOUND,
    id="N2",
    problem=Problem(cause="disk", text="It is full."),
    sent_at=None,
    mailed_at=NOW + 1,
    expires_at=None,
)


def add_all(tx: Transaction, *found: Notification) -> None:
    for each in found:
        tx.notifications.add(each)


class NotificationCases(TransactionCases):
    async def test_a_notification_comes_back_as_it_was_stored_and_changed(self, store: Store) -> None:
        await store.write(add_all, FOUND, STATE)
        assert await store.read(lambda tx: tx.notifications.get("N1")) == FOUND
        assert await store.read(lambda tx: tx.notifications.newest("disk")) == STATE
        problem = replace(PROBLEM, text="It is back.", severity=Severity.INFO, remedy=None, avoid=None, lasts=900)
        changed = replace(
            FOUND, problem=problem, state=NotificationState.DISMISSED, last_at=NOW + 100, count=3, sent_at=NOW + 2,
            mailed_at=NOW + 3, end_unmailed=True, ended_at=NOW + 200, ended_by="Ann",
        )  # fmt: skip
        await store.write(lambda tx: tx.notifications.save(changed))
        assert await store.read(lambda tx: tx.notifications.get("N1")) == changed
        assert await store.read(lambda tx: tx.notifications.get("N9")) is None

    async def test_the_newest_notification_of_a_cause_is_found(self, store: Store) -> None:
        ended = replace(FOUND, state=NotificationState.RESOLVED, ended_at=NOW)
        await store.write(add_all, ended, replace(FOUND, id="N3"))
        found = await store.read(lambda tx: tx.notifications.newest(PROBLEM.cause))
        assert found is not None
        assert found.id == "N3"

    async def test_notifications_whose_cause_may_persist_are_listed(self, store: Store) -> None:
        gone = replace(STATE, id="N3", state=NotificationState.RESOLVED, end_unmailed=True, ended_at=NOW)
        read = replace(STATE, id="N4", state=NotificationState.DISMISSED, ended_at=NOW)
        read_event = replace(FOUND, id="N5", state=NotificationState.DISMISSED, ended_at=NOW)
        await store.write(add_all, FOUND, STATE, gone, read, read_event)
        listed = await store.read(lambda tx: tx.notifications.lasting(9))
        assert [each.id for each in listed] == ["N1", "N2", "N4"]
        assert [each.id for each in await store.read(lambda tx: tx.notifications.unmailed_ends(9))] == ["N3"]

    async def test_ended_notifications_are_deleted_after_their_time(self, store: Store) -> None:
        ended = [replace(STATE, id=f"E{at}", state=NotificationState.RESOLVED, ended_at=NOW + at) for at in range(3)]
        await store.write(add_all, STATE, *ended)
        assert await store.write(lambda tx: tx.notifications.prune(NOW + 2, 1)) == 1
        assert await store.write(lambda tx: tx.notifications.prune(NOW + 2, 9)) == 1
        left = await store.read(lambda tx: [tx.notifications.get(name) is None for name in ("N2", "E0", "E1", "E2")])
        assert left == [False, True, True, False]
