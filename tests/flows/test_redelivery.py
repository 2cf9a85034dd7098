"""A short day on which platforms bring everything again, on both databases (`python -m tests.flows.redelivery` runs long)."""

from __future__ import annotations

import secrets

from arvis.store.opening import Database
from tests.flows.redelivery import (
    Counts,
    run_day,
)

EVENTS = 150


async def test_each_event_is_one_message_and_has_one_reply(either_database: Database, figures: list[str]) -> None:
    counts, seed = Counts(), secrets.randbelow(1_000_000)
    await run_day(either_database, EVENTS, seed, counts)
    assert counts.violations == [], f"seed {seed}"
    assert counts.deliveries > EVENTS
    assert counts.crashes > 0
    where = "SQLite" if either_database.url is None else "PostgreSQL"
    figures.append(f"redelivery on {where}: {counts.deliveries} of {counts.events} events, {counts.folded} folded")
