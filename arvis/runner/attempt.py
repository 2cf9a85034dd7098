"""What one run goes through: its tries, what is known of each, and what it leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field

from arvis.domain.errors import TRANSIENT, ArvisError, ProviderError, ProviderErrorKind
from arvis.domain.measures import Measure
from arvis.domain.runs import ModelCall, Rest, RunRequest, RunResult
from arvis.runner.choice import Choice
from arvis.runner.prices import prompt_tokens, text_tokens

#: A vendor that asks for a longer wait (seconds) is not waited for inside the run: the queue tries later.
LONGEST_WAIT = 20.0

#: After these the vendor has worked, and sends an invoice for it.
_WORKED = frozenset({ProviderErrorKind.EMPTY, ProviderErrorKind.TIMEOUT})


@dataclass(slots=True)
class Trail:
    """What a run leaves behind, also when it is cancelled: the receipts of all tries so far, and what became known of
    the accounts and models. Handed in by whoever has to keep it. `counted` holds for each reply the model
    (`provider/model`), the size of the request and the tokens that the vendor counted; `limits` the windows that vendors
    told."""

    calls: list[ModelCall] = field(default_factory=list)
    rests: list[Rest] = field(default_factory=list)
    counted: list[tuple[str, Measure, int]] = field(default_factory=list)
    limits: list[tuple[str, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Run:
    """A reply, the receipts of every try that led to it, the successful one last, and what became known of the
    accounts on the way."""

    result: RunResult
    calls: tuple[ModelCall, ...]
    rests: tuple[Rest, ...] = ()


@dataclass(slots=True)
class Try:
    """One call of one account. `at` is when it began on the wall clock in ms, `ticks` the same in seconds of the clock
    that measures durations; `pieces` are what was streamed so far, `asked` says whether the provider was reached, and
    `result` is a reply without an answer whose usage is known."""

    choice: Choice
    request: RunRequest
    at: int
    ticks: float
    asked: bool = False
    pieces: list[str] = field(default_factory=list)
    result: RunResult | None = None

    def costs(self, error: ProviderError | None) -> bool:
        """Whether the vendor has worked for a try that gave no answer; without an error it was cancelled."""
        return self.asked and (error is None or bool(self.pieces) or error.kind in _WORKED)

    def estimated(self) -> RunResult:
        """What such a try has used."""
        spent_in, spent_out = prompt_tokens(self.request), text_tokens("".join(self.pieces))
        account, model = self.choice.account, self.choice.model
        return RunResult("", model, account.provider, account.name, input_tokens=spent_in, output_tokens=spent_out)


@dataclass(slots=True)
class Attempt:
    """What one run has seen. `errors` holds the last error of each choice, `end` is when the run must be over, `size` what
    is asked."""

    end: float
    trail: Trail
    size: Measure
    errors: dict[Choice, ProviderError] = field(default_factory=dict)

    def passing(self) -> list[Choice]:
        """Those to ask again, in order."""
        return [choice for choice, error in self.errors.items() if passes(error)]

    def verdict(self, now: int) -> ProviderError:
        """What the job should act upon: an error that may pass before a limit, a limit before a prompt that is too long
        for somebody, and that before a refusal. A limit lasts until the first account is back."""
        errors = list(self.errors.values())
        if passing := [error for error in errors if error.kind in TRANSIENT]:
            return passing[-1]
        limits = [error for error in errors if error.kind is ProviderErrorKind.RATE_LIMIT]
        if not limits:
            too_long = [error for error in errors if error.kind is ProviderErrorKind.TOO_LONG]
            return (too_long or errors)[-1]
        soonest = min(rest.until for rest in self.trail.rests if rest.kind == ProviderErrorKind.RATE_LIMIT)
        return ProviderError(ProviderErrorKind.RATE_LIMIT, limits[-1].what, retry_after=(soonest - now) / 1000)


class RunFailed(ArvisError):
    """No try gave a reply. `error` is what to act upon, `calls` the receipts of all tries, `rests` what became known of
    the accounts."""

    def __init__(self, error: ProviderError, calls: tuple[ModelCall, ...], rests: tuple[Rest, ...] = ()) -> None:
        super().__init__(error.what, why=error.why, fix=error.fix, code=error.code)
        self.error = error
        self.calls = calls
        self.rests = rests


def passes(error: ProviderError) -> bool:
    """Whether it is worth asking the same account again in this run."""
    return error.kind in TRANSIENT and (error.retry_after or 0.0) <= LONGEST_WAIT
