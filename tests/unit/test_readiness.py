"""The age of a readiness result: no result becomes fresh again when the clock is set back."""

from __future__ import annotations

from pathlib import Path

from arvis.store.open import Database
from arvis.testing.clock import SteppedClock
from arvis.web.system_routes import ReadinessProbe
from tests.conformance.databases import opened


class SetClock(SteppedClock):
    """A clock that can be set back."""

    def set_back(self, seconds: float) -> None:
        self._ms -= seconds * 1000


async def test_a_clock_that_is_set_back_keeps_no_old_answer(tmp_path: Path) -> None:
    clock = SetClock()
    async with opened(Database(tmp_path / "arvis.db", None, tmp_path)) as store:
        probe = ReadinessProbe(store=store, clock=clock, roles=dict, bots=dict, room=lambda: True)
        assert (await probe.look()).ready
    clock.set_back(60)
    assert not (await probe.look()).ready, "the database is closed"
