"""A process treats an expired lease as a crash only after the others have had time to renew theirs."""

from __future__ import annotations

from arvis.domain.errors import DatabaseAway
from arvis.queue.outages import GRACE_SECONDS, Contact
from arvis.testing.clock import SteppedClock

AWAY = DatabaseAway("The database is away", why="it is shut down", fix="Start it.")


async def test_leases_are_judged_only_some_time_after_the_start_and_after_an_outage() -> None:
    clock = SteppedClock()
    contact = Contact(clock=clock)
    assert not contact.judges_leases(), "the other processes may need time to reconnect, too"
    await clock.sleep(GRACE_SECONDS)
    assert contact.judges_leases()

    contact.lost(AWAY)
    await clock.sleep(10 * GRACE_SECONDS)
    assert not contact.judges_leases(), "the database is away"
    contact.found()
    assert not contact.judges_leases()
    await clock.sleep(GRACE_SECONDS - 0.1)
    assert not contact.judges_leases()
    await clock.sleep(0.1)
    assert contact.judges_leases()
    assert GRACE_SECONDS >= 5
