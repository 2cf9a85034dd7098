"""What becomes of a job that did not finish: pure arithmetic, no I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arvis.domain.jobs import Failed, GiveUp, Job, NotBefore, Retry, Snooze, TryAgain

#: The seed's sentence for a job that went down with its process, shown with the dead letter.
POISON_TEXT = "Job timed out — process likely crashed"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """After the n-th error the next attempt is 2^n units away, plus 0–10 % (behaviour §7); times in ms.
    `random` yields numbers from 0 to 1."""

    max_attempts: int
    unit_ms: int
    random: Callable[[], float]

    def outcome(self, job: Job, verdict: TryAgain | NotBefore | GiveUp, now: int) -> Retry | Snooze | Failed:
        match verdict:
            case GiveUp(reason=reason, error=error):
                return Failed(reason, error)
            case NotBefore(seconds=seconds, reason=reason):
                return Snooze(now + int(seconds * 1000), reason)
            case TryAgain(error=error):
                failures = job.attempts + 1
                if failures >= self.max_attempts:
                    return Failed("attempts", error)
                delay = 2**failures * self.unit_ms * (1 + 0.1 * self.random())
                return Retry(now + int(delay), error)
