"""`arvis doctor` shows settings from the dashboard, and its other checks use them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.acceptance.clinic import Patient

MEGABYTE = 1_000_000


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path).born()


@pytest.mark.parametrize(
    ("stored", "environ", "status", "words"),
    [
        ('{"queue.workers": 3, "budgets.daily_usd": 9}', {}, "ok", "queue.workers, budgets.daily_usd"),
        (
            '{"queue.workers": 3}',
            {"ARVIS__QUEUE__WORKERS": "4"},
            "ok",
            "Environment variables override: queue.workers.",
        ),
        ('{"queue.workers": 1, "budgets.daily_usd": 9}', {}, "warn", "`queue.workers`: "),
        ('{"no.such": 1}', {}, "warn", "`no.such`: "),
    ],
)
def test_what_was_set_in_the_dashboard(
    patient: Patient, stored: str, environ: Mapping[str, str], status: str, words: str
) -> None:
    assert "stored_settings" not in patient.examined()
    patient.write(lambda tx: tx.settings.put("config.changes", stored, 1))
    found = patient.examined(environ)["stored_settings"]
    assert found.status == status
    assert words in f"{found.what} {found.why}"


def test_what_was_set_in_the_dashboard_counts_for_the_other_checks(patient: Patient) -> None:
    (patient.data / "logs").mkdir()
    with (patient.data / "logs" / "arvis-2026-01-01.log").open("wb") as log:
        log.truncate(1_200 * MEGABYTE)
    assert "for 14 days" in patient.examined()["logs"].why
    patient.write(lambda tx: tx.settings.put("config.changes", '{"retention.logs_days": 90}', 1))
    assert "for 90 days" in patient.examined()["logs"].why
