"""The attempts of one run: their findings, their usage, and their receipts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from arvis.domain.errors import PERMANENT, TRANSIENT, ArvisError, ProviderError, ProviderErrorKind
from arvis.domain.runs import Cooldown, Measure, ModelCall, RunRequest, RunResult
from arvis.llm.prices import Prices, prompt_tokens, text_tokens
from arvis.llm.selection import DEMO, Choice, Selection
from arvis.ports.clock import Clock

#: After these the vendor has worked, and sends an invoice for it.
_WORKED = frozenset({ProviderErrorKind.EMPTY, ProviderErrorKind.TIMEOUT})


@dataclass(slots=True)
class Trail:
    """The record of a run, also when it is cancelled: the receipts of all attempts so far, and new knowledge about
    accounts and models. The caller passes it in and stores it. `counted` holds for each reply the model
    (`provider/model`), the size of the request and the tokens that the vendor counted; `limits` the windows that
    vendors reported."""

    calls: list[ModelCall] = field(default_factory=list)
    rests: list[Cooldown] = field(default_factory=list)
    counted: list[tuple[str, Measure, int]] = field(default_factory=list)
    limits: list[tuple[str, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Run:
    """A reply, the receipts of every try that led to it, the successful one last, and what became known of the
    accounts on the way."""

    result: RunResult
    calls: tuple[ModelCall, ...]
    rests: tuple[Cooldown, ...] = ()


@dataclass(frozen=True, slots=True)
class LargestUse:
    """The most that one call can cost (`micros`; 0 if no price is known), and the receipt of such a call, which is booked
    if its end is not seen (None: nothing is spent)."""

    micros: int
    receipt: ModelCall | None


@dataclass(slots=True)
class Try:
    """One call of one account."""

    choice: Choice
    request: RunRequest
    #: Its start on the wall clock in ms.
    at: int
    #: Its start in seconds of the clock that measures durations.
    ticks: float
    #: The provider was reached.
    asked: bool = False
    #: The text streamed so far.
    pieces: list[str] = field(default_factory=list)
    #: A reply without an answer whose usage is known.
    result: RunResult | None = None

    def costs(self, error: ProviderError | None) -> bool:
        """Return whether the vendor has worked for an attempt without an answer; without an error it was cancelled."""
        return self.asked and (error is None or bool(self.pieces) or error.kind in _WORKED)

    def estimated(self, result: RunResult | None = None) -> RunResult:
        """Return the estimated usage of an attempt without a reported usage, by its `result` or by the text streamed
        so far."""
        said = "".join(self.pieces) if result is None else result.content
        calls = () if result is None else result.calls
        spent_in = prompt_tokens(self.request)
        spent_out = text_tokens(said) + sum(text_tokens(call.what) for call in calls)
        account, model = self.choice.account, self.choice.model
        return RunResult("", model, account.provider, account.name, input_tokens=spent_in, output_tokens=spent_out)


@dataclass(slots=True)
class Attempt:
    """The state of one run."""

    #: The deadline of the run.
    end: float
    trail: Trail
    #: The size of the request.
    size: Measure
    #: All candidates, in the order of the agent's preference.
    choices: Sequence[Choice]
    #: The last error of each choice.
    errors: dict[Choice, ProviderError] = field(default_factory=dict)
    #: The choices that were refused permanently, or would cost as much time and money again.
    refused: set[Choice] = field(default_factory=set)
    #: The choices that were called in this round.
    tried: set[Choice] = field(default_factory=set)
    #: The number of earlier rounds.
    round: int = 0

    def failed(self, choice: Choice, error: ProviderError) -> None:
        self.errors[choice] = error
        if error.kind in PERMANENT or error.spent:
            self.refused.add(choice)

    @property
    def helpful(self) -> list[Choice]:
        """Return the choices without a refusal that outlasts this run."""
        return [choice for choice in self.choices if choice not in self.refused]

    def faulty(self) -> set[Choice]:
        """Return the choices that failed in this round with an error that may pass within seconds."""
        return {choice for choice in self.tried if self.errors[choice].kind in TRANSIENT}

    def verdict(self, selection: Selection, now: int) -> ProviderError:
        """Return the error that the job acts upon. While an account recovers at a known time, only that counts: the
        job waits for the first one. Else a temporary error comes before a prompt that is too long for some account,
        and that before a refusal."""
        errors = list(self.errors.values())
        limits = [error for error in errors if error.kind is ProviderErrorKind.RATE_LIMIT]
        if selection.pending or limits:
            until = now if selection.until is None else max(now, selection.until)
            what = limits[-1].what if limits else "every account has a cooldown: the vendors asked for a pause"
            return ProviderError(ProviderErrorKind.RATE_LIMIT, what, retry_after=(until - now) / 1000)
        if passing := [error for error in errors if error.kind in TRANSIENT]:
            return passing[-1]
        too_long = [error for error in errors if error.kind is ProviderErrorKind.TOO_LONG]
        return (too_long or errors)[-1]


class RunFailed(ArvisError):
    """No attempt gave a reply. `error` decides the next step, `calls` holds the receipts of all attempts, `rests` the
    new knowledge about accounts."""

    def __init__(self, error: ProviderError, calls: tuple[ModelCall, ...], rests: tuple[Cooldown, ...] = ()) -> None:
        super().__init__(error.what, why=error.why, fix=error.fix, code=error.code)
        self.error = error
        self.calls = calls
        self.rests = rests


class Unserved(RunFailed):
    """No account serves the only permitted model of the agent. No call was made."""

    def __init__(self, model: str | None) -> None:
        what = f"no account serves the model {model}, and the agent names no fallbacks"
        super().__init__(ProviderError(ProviderErrorKind.BAD_REQUEST, what), ())


# -- receipts ----------------------------------------------------------------------------------------------------------


#: The error of the receipt of a try that the caller ended.
CANCELLED = "cancelled"
_CANCELLED_TEXT = "the call was ended before the answer was there"
_ESTIMATED = " (tokens and cost are estimates)"
#: The detail of the receipt of an answer that came without counts.
UNCOUNTED = "the server did not say how many tokens it used: tokens and cost are estimates"


class Receipts:
    """Writes a receipt for each try, successful or not."""

    def __init__(self, *, prices: Prices, clock: Clock, new_id: Callable[[], str]) -> None:
        self._prices = prices
        self._clock = clock
        self._new_id = new_id

    def failed(self, tried: Try, error: ProviderError | None) -> ModelCall:
        """Return the receipt of an attempt without an answer; without an error it was cancelled. A call that was
        refused before processing costs nothing, and for a model without a price nothing is estimated."""
        kind, detail = (error.kind.value, error.what) if error else (CANCELLED, _CANCELLED_TEXT)
        used, choice = tried.result, tried.choice
        if used is None and tried.costs(error) and self._prices.of(choice.account.provider, choice.model):
            used, detail = tried.estimated(), detail + _ESTIMATED
        return replace(self._receipt(tried, used), error=kind, detail=detail)

    def answered(self, tried: Try, result: RunResult) -> ModelCall:
        """Return the receipt of an answer. Counts that the server leaves out are estimated, else no budget would
        hold."""
        free = tried.choice.account.provider == DEMO.provider
        if free or (result.input_tokens and (result.output_tokens or not (result.content or result.calls))):
            return self._receipt(tried, result)
        guess = tried.estimated(result)
        used = replace(
            result,
            input_tokens=result.input_tokens or guess.input_tokens,
            output_tokens=result.output_tokens or guess.output_tokens,
        )
        return replace(self._receipt(tried, used), detail=UNCOUNTED)

    def _receipt(self, tried: Try, used: RunResult | None) -> ModelCall:
        account, asked = tried.choice.account, tried.choice.model
        model = used.model if used else asked
        tokens_in = (used.input_tokens if used else None) or 0
        tokens_out = (used.output_tokens if used else None) or 0
        cached, written = (used.cached_tokens, used.written_tokens) if used else (0, 0)
        # A vendor may report a name that no list has: then the requested name counts.
        price = self._prices.of(account.provider, model) or self._prices.of(account.provider, asked)
        return ModelCall(
            id=self._new_id(),
            account=account.name,
            provider=account.provider,
            model=model,
            started_at=tried.at,
            duration_ms=round((self._clock.monotonic() - tried.ticks) * 1000),
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cost_micros=price.micros(tokens_in, tokens_out, cached, written) if price else 0,
            cached_tokens=cached,
            written_tokens=written,
            priced=price is not None,
        )
