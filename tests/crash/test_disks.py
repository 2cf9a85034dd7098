"""Short forms of the campaigns with power cuts and full disks.

The long forms are `python -m tests.crash power-cut` and `python -m tests.crash disk-full`.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.crash.daemon import CHECKOUT
from tests.crash.disk_full import is_expected
from tests.crash.namespace import REFUSED
from tests.parts import refused


def campaign(name: str, *options: str) -> None:
    """Play a campaign to its end. Skip the test if this machine refuses."""
    command = [sys.executable, "-m", "tests.crash", name, *options]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if done.returncode == REFUSED:
        refused(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr


def test_two_power_cuts_lose_nothing() -> None:
    campaign("power-cut", "--cuts", "2", "--window", "1")


@pytest.mark.long
def test_a_build_that_does_not_sync_is_caught() -> None:
    campaign("power-cut", "--cuts", "1", "--unsynced")


def test_a_disk_that_fills_up_and_is_freed_loses_nothing() -> None:
    campaign("disk-full", "--runs", "1", "--floods", "1", "--meanwhile", "nothing")


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (
            'POST of m-000001 was answered 503: {"error":{"code":"disk_low","message":"No room.","fix":"Free some."}}',
            True,
        ),
        (
            "The socket of chat-0 received an error: {'type': 'error', 'error': {'code': 'disk_full', 'fix': 'Free some.'}}",
            True,
        ),
        ('POST of m-000001 was answered 503: {"error":{"code":"disk_low","message":"No room."}}', False),
        ('POST of m-000001 was answered 500: {"error":{"code":"internal","message":"?","fix":"?"}}', False),
    ],
)
def test_a_refusal_is_expected_only_with_its_code_and_a_fix(problem: str, expected: bool) -> None:
    assert is_expected(problem) is expected
