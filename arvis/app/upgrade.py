"""Upgrades the database of an older version, and checks the upgraded data before the commit.

The checks compare the numbers of rows and, on SQLite, examine the pages (both in `arvis/store/`). They also read the
rows that `arvis doctor` reads, and run one turn with the demo model (`trial_turn.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from arvis.process.memory import importing
from arvis.store.health import read_records, unreadable_rows
from arvis.store.location import Database
from arvis.store.open import bring_up_to_date, rehearse_upgrade
from arvis.store.sql.migrations import Candidate, Migration, upgrade_failed
from arvis.store.trial import TrialStore


def upgrade(database: Database, now: int) -> list[str]:
    """Upgrade the database to this version, and return the names of the migrations that ran. The caller must have
    checked the files (`make_sound`), and must not run in an event loop. Raise the errors of `bring_up_to_date`."""
    return bring_up_to_date(database, now, _Check(now))


def rehearse(database: Database, now: int, *, at_rest: bool) -> list[str]:
    """Run the same steps as `upgrade`, but change nothing (`rehearse_upgrade`)."""
    return rehearse_upgrade(database, now, _Check(now), at_rest=at_rest)


class _Check:
    """The `UpgradeCheck` that reads the rows and runs the turn."""

    def __init__(self, now: int) -> None:
        self._now = now
        self._unreadable: frozenset[str] = frozenset()

    def before(self, candidate: Candidate) -> None:
        """Record the rows that are unreadable before the upgrade. A row that only lacks a column of the new schema is
        not recorded."""
        found = unreadable_rows(candidate.rows_if_possible)
        self._unreadable = frozenset(_names(row for row in found if KeyError.__name__ not in row))

    def after(self, candidate: Candidate, ran: Sequence[Migration]) -> None:  # noqa: ARG002 - the protocol's signature
        records = read_records(lambda query, /, **given: candidate.session.rows(query, **given), self._now)
        if new := [row for row in records.unreadable if not self._unreadable.issuperset(_names([row]))]:
            raise upgrade_failed(f"rows cannot be read after the migrations: {'; '.join(new)}")
        # The modules that handle messages are imported only here, because a start without migrations does not need
        # them.
        with importing():
            from arvis.app.trial_turn import play  # noqa: PLC0415
        asyncio.run(play(TrialStore(candidate, now=self._now)))


def _names(complaints: Iterable[str]) -> Iterable[str]:
    """Return the table and the name of each row from texts such as `agents helper (ValueError: …)`."""
    return (complaint.partition(" (")[0] for complaint in complaints)
