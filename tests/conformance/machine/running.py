"""Runs the machine: a number of histories with a number of steps each, the same ones for the same seed."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import seed as seeded
from hypothesis.stateful import run_state_machine_as_test

from tests.conformance.machine.machine import Machine, Tally


def run_histories(url: str | None, tally: Tally, *, histories: int, steps: int, seed: int | None = None) -> None:
    """Run histories on SQLite, or on the PostgreSQL database at this address.

    Raise `Violation` with the shortest history found.
    """
    machine = type("Histories", (Machine,), {"url": url, "tally": tally})
    if seed is not None:
        machine = seeded(seed)(machine)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=histories,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
        ),
    )
