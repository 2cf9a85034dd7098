"""The outcome of a job that did not finish."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arvis.domain.jobs import Fail, Pool, Retry, Snooze
from arvis.queue.queue import RetryPolicy
from tests.unit.test_queue_slots import NOW, running_job

JOB = running_job("j", Pool.INTERACTIVE)
MINUTE = 60_000


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_the_second_and_third_try_come_after_two_and_four_minutes(chance: float) -> None:
    policy = RetryPolicy(max_attempts=3, unit_ms=MINUTE, random=lambda: chance)
    outcomes = [policy.scheduled(replace(JOB, attempts=n), Retry("no"), NOW) for n in range(3)]
    jitter = 1 + 0.1 * chance
    assert outcomes == [
        Retry("no", NOW + int(2 * MINUTE * jitter)),
        Retry("no", NOW + int(4 * MINUTE * jitter)),
        Fail("attempts", "no"),
    ]


def test_crashes_are_no_attempts() -> None:
    policy = RetryPolicy(max_attempts=1, unit_ms=MINUTE, random=lambda: 0)
    assert policy.scheduled(replace(JOB, crashes=4), Retry("no"), NOW) == Fail("attempts", "no")
    policy = RetryPolicy(max_attempts=2, unit_ms=MINUTE, random=lambda: 0)
    assert policy.scheduled(replace(JOB, crashes=4), Retry("no"), NOW) == Retry("no", NOW + 2 * MINUTE)


def test_waiting_and_giving_up_do_not_count() -> None:
    policy = RetryPolicy(max_attempts=3, unit_ms=MINUTE, random=lambda: 1)
    tired = replace(JOB, attempts=2)
    assert policy.scheduled(tired, Snooze.after(NOW, 1.5, "rate_limit"), NOW) == Snooze(NOW + 1500, "rate_limit")
    assert policy.scheduled(JOB, Fail("refused", "The model refused"), NOW) == Fail("refused", "The model refused")
