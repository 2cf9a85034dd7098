"""Work that has begun waits for the store; a write that cannot succeed by waiting fails at once."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from arvis.domain.errors import DiskFull, LeaseLost, StoreError
from arvis.ports.store import Store, Transaction
from arvis.queue.outages import PAUSE_SECONDS, RetryingStore
from arvis.testing.clock import SteppedClock, StoppedClock


class TroubledStore:
    """A store that raises the given errors, and then works."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.tries = 0

    async def write(self, script: Any, *args: Any) -> Any:
        self.tries += 1
        if self.errors:
            raise self.errors.pop(0)
        return script(None, *args)


def double(_: Transaction, number: int) -> int:
    return 2 * number


async def test_a_write_is_tried_until_there_is_room() -> None:
    clock, troubled = SteppedClock(), TroubledStore(DiskFull("full"), DiskFull("full"))
    patient = RetryingStore(store=cast("Store", troubled), clock=clock)
    assert await patient.write(double, 21) == 42
    assert clock.slept == [PAUSE_SECONDS] * 2


@pytest.mark.parametrize("error", [LeaseLost("lost"), StoreError("refused")])
async def test_other_failures_are_told_at_once(error: Exception) -> None:
    troubled = TroubledStore(error)
    with pytest.raises(type(error)):
        await RetryingStore(store=cast("Store", troubled), clock=SteppedClock()).write(double, 21)
    assert troubled.tries == 1


async def test_who_is_cancelled_waits_no_longer() -> None:
    clock = StoppedClock()
    write = asyncio.create_task(
        RetryingStore(store=cast("Store", TroubledStore(DiskFull("full"))), clock=clock).write(double, 21)
    )
    async with asyncio.timeout(5):
        await clock.asleep.wait()
    write.cancel()
    with pytest.raises(asyncio.CancelledError):
        await write
