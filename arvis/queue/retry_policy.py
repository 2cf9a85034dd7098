"""The one place that decides when a failed job runs again: pure arithmetic, no I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arvis.domain.jobs import Fail, Job, Retry, Unfinished

#: The seed's sentence for a job that went down with its process, shown with the dead letter.
POISON_TEXT = "Job timed out — process likely crashed"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """After the n-th error the next attempt is 2^n units away, plus 0–10 % (behaviour §7); times in ms.
    `random` yields numbers from 0 to 1."""

    max_attempts: int
    unit_ms: int
    random: Callable[[], float]

    def scheduled(self, job: Job, result: Unfinished, now: int) -> Unfinished:
        """Return a result that the store can settle: a retry gets its time, or becomes a `Fail` after the last attempt."""
        if not isinstance(result, Retry):
            return result
        failures = job.attempts + 1
        if failures >= self.max_attempts:
            return Fail("attempts", result.error)
        delay = 2**failures * self.unit_ms * (1 + 0.1 * self.random())
        return Retry(result.error, now + int(delay))
