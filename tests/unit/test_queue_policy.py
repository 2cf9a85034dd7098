"""What becomes of a job that did not finish (vector Q2)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arvis.domain.jobs import Failed, GiveUp, NotBefore, Pool, Retry, Snooze, TryAgain
from arvis.queue.retry_policy import RetryPolicy
from tests.unit.test_queue_slots import NOW, running_job

JOB = running_job("j", Pool.INTERACTIVE)
MINUTE = 60_000


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_the_second_and_third_try_come_after_two_and_four_minutes(chance: float) -> None:
    policy = RetryPolicy(max_attempts=3, unit_ms=MINUTE, random=lambda: chance)
    outcomes = [policy.outcome(replace(JOB, attempts=n), TryAgain("no"), NOW) for n in range(3)]
    jitter = 1 + 0.1 * chance
    assert outcomes == [
        Retry(NOW + int(2 * MINUTE * jitter), "no"),
        Retry(NOW + int(4 * MINUTE * jitter), "no"),
        Failed("attempts", "no"),
    ]


def test_crashes_are_no_attempts() -> None:
    policy = RetryPolicy(max_attempts=1, unit_ms=MINUTE, random=lambda: 0)
    assert policy.outcome(replace(JOB, crashes=4), TryAgain("no"), NOW) == Failed("attempts", "no")
    policy = RetryPolicy(max_attempts=2, unit_ms=MINUTE, random=lambda: 0)
    assert policy.outcome(replace(JOB, crashes=4), TryAgain("no"), NOW) == Retry(NOW + 2 * MINUTE, "no")


def test_waiting_and_giving_up_do_not_count() -> None:
    policy = RetryPolicy(max_attempts=3, unit_ms=MINUTE, random=lambda: 1)
    tired = replace(JOB, attempts=2)
    assert policy.outcome(tired, NotBefore(1.5, "rate_limit"), NOW) == Snooze(NOW + 1500, "rate_limit")
    assert policy.outcome(JOB, GiveUp("refused", "The model refused"), NOW) == Failed("refused", "The model refused")
