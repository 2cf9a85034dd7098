"""What one process does for all at quiet hours: what is past its time leaves, and a backup is taken.

Nobody waits for it, and a database that cannot be used now is asked again at the next round.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from arvis.domain.errors import ArvisError, StoreError
from arvis.domain.ids import first_id_at
from arvis.domain.money import day_of
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding

log = structlog.get_logger(__name__)

ROUND_SECONDS = 3600.0
#: Between two slices, so that the writer stays free for people.
REST_SECONDS = 0.05
SLICE = 500


class Housekeeping:
    """`back_up` takes a backup when one is due and says how many seconds it is to the next (None: backups are somebody
    else's). Times in ms."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        keep_finished_ms: int,
        keep_history_ms: int,
        back_up: Callable[[], Awaitable[float]] | None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._keep_finished_ms = keep_finished_ms
        self._keep_history_ms = keep_history_ms
        self._back_up = back_up

    async def run(self, holding: Holding) -> None:
        """Round after round, until cancelled."""
        while True:
            await self._prune(holding)
            await self._clock.sleep(min(ROUND_SECONDS, await self._save()))

    async def _prune(self, holding: Holding) -> None:
        now = self._clock.now()
        limits = now - self._keep_finished_ms, now - self._keep_history_ms, now
        try:
            while await self._store.write(prune, holding, *limits):
                await self._clock.sleep(REST_SECONDS)
        except StoreError as error:
            log.warning("duty_failed", duty="prune", error=error.what, why=error.why)

    async def _save(self) -> float:
        """Seconds to the next backup."""
        if self._back_up is None:
            return ROUND_SECONDS
        try:
            return await self._back_up()
        except ArvisError as error:
            log.error("backup_failed", error=error.what, why=error.why, fix=error.fix)  # noqa: TRY400 the error says it all
            return ROUND_SECONDS


def prune(tx: Transaction, holding: Holding, jobs_before: int, history_before: int, now: int) -> bool:
    """Delete a slice of what is past its time; whether there may be more."""
    holding.check(tx)
    # A day too many is kept where midnight is elsewhere.
    first, day = first_id_at(history_before), day_of(history_before, "UTC")
    gone = (
        tx.jobs.prune(jobs_before, SLICE),
        tx.executions.prune(history_before, SLICE // 5),
        tx.timeline.prune(history_before, SLICE),
        tx.spending.prune(first, day, now, SLICE),
    )
    return gone[0] == SLICE or gone[1] == SLICE // 5 or max(gone[2:]) >= SLICE
