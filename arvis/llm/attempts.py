"""The attempts of one call of `Runner.run`: their errors, token counts and receipts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import PERMANENT, TRANSIENT, ArvisError, ProviderError, ProviderErrorKind
from arvis.domain.runs import Cooldown, Measure, ModelCall, RunRequest, RunResult
from arvis.llm.prices import Prices, prompt_tokens, text_tokens
from arvis.llm.selection import DEMO, Choice, Selection
from arvis.ports.clock import Clock

#: The errors after which the vendor charges for the call, because its model has run.
_WORKED = frozenset({ProviderErrorKind.EMPTY, ProviderErrorKind.TIMEOUT})


@dataclass(slots=True)
class Trail:
    """The record of one call of `Runner.run`, complete even if that call is cancelled. The caller passes in an empty
    trail and stores its content."""

    #: The receipts of all attempts so far.
    calls: list[ModelCall] = field(default_factory=list)
    #: The cooldowns that changed.
    rests: list[Cooldown] = field(default_factory=list)
    #: For each reply: the model (`provider/model`), the size of the request, and the tokens that the vendor counted.
    counted: list[tuple[str, Measure, int]] = field(default_factory=list)
    #: The context windows that vendors reported: the model, and its window in tokens.
    limits: list[tuple[str, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Run:
    """A reply, the receipts of all attempts (the successful attempt is last), and the cooldowns that changed."""

    result: RunResult
    calls: tuple[ModelCall, ...]
    rests: tuple[Cooldown, ...] = ()


@dataclass(frozen=True, slots=True)
class LargestUse:
    """The highest possible cost of a model call in micros (0 if no price is known), a receipt for that cost, and the
    size of the request. The receipt is booked if the process dies during the call; it is None if the call cannot cost
    anything."""

    micros: int
    receipt: ModelCall | None
    size: Measure


@dataclass(slots=True)
class Try:
    """One attempt: one request to one account."""

    choice: Choice
    request: RunRequest
    #: The start of the attempt on the wall clock, in ms.
    at: int
    #: The start of the attempt, in seconds of the monotonic clock.
    ticks: float
    #: True as soon as the request is passed to the provider.
    sent: bool = False
    #: The text streamed so far.
    pieces: list[str] = field(default_factory=list)
    #: An empty reply whose token counts are known; None if there is no such reply.
    result: RunResult | None = None

    def costs(self, error: ProviderError | None) -> bool:
        """Return whether the vendor charges for this attempt, which gave no answer. `error` is None if the attempt was
        cancelled."""
        return self.sent and (error is None or bool(self.pieces) or error.kind in _WORKED)

    def estimated(self, result: RunResult | None = None) -> RunResult:
        """Return the usage, estimated from the prompt and the text of `result`. Without a `result`, the text streamed
        so far is used."""
        said = "".join(self.pieces) if result is None else result.content
        calls = () if result is None else result.calls
        spent_in = prompt_tokens(self.request)
        spent_out = text_tokens(said) + sum(text_tokens(call.what) for call in calls)
        account, model = self.choice.account, self.choice.model
        return RunResult("", model, account.provider, account.name, input_tokens=spent_in, output_tokens=spent_out)


@dataclass(slots=True)
class Attempt:
    """The state of one call of `Runner.run`."""

    #: The deadline, in seconds of the monotonic clock.
    end: float
    trail: Trail
    #: The size of the request.
    size: Measure
    #: All candidates, in the order of the agent's preference.
    choices: Sequence[Choice]
    #: The last error of each choice.
    errors: dict[Choice, ProviderError] = field(default_factory=dict)
    #: The choices that are not called again, because they refused permanently or used up the time limit of a call.
    refused: set[Choice] = field(default_factory=set)
    #: The choices that were called since the last pause.
    tried: set[Choice] = field(default_factory=set)
    #: The number of pauses so far. The run pauses between two passes over the accounts.
    round: int = 0

    def failed(self, choice: Choice, error: ProviderError) -> None:
        self.errors[choice] = error
        if error.kind in PERMANENT or error.spent:
            self.refused.add(choice)

    @property
    def helpful(self) -> list[Choice]:
        """Return the choices that may be called again before this run ends."""
        return [choice for choice in self.choices if choice not in self.refused]

    def faulty(self) -> set[Choice]:
        """Return the choices that failed since the last pause with an error that may disappear within seconds."""
        return {choice for choice in self.tried if self.errors[choice].kind in TRANSIENT}

    def verdict(self, selection: Selection, now: int) -> ProviderError:
        """Return the error that decides what the queue does with the job. The error is a rate limit, with the time to
        wait, in two cases: an attempt ended with a rate limit, or an account becomes available at a known time. In all
        other cases, the order of precedence is: a temporary error, the error for a prompt that is too long, any other
        error."""
        errors = list(self.errors.values())
        limits = [error for error in errors if error.kind is ProviderErrorKind.RATE_LIMIT]
        if selection.pending or limits:
            until = now if selection.until is None else max(now, selection.until)
            what = limits[-1].what if limits else "every account has a cooldown, because the vendors asked for a pause"
            return ProviderError(ProviderErrorKind.RATE_LIMIT, what, retry_after=(until - now) / 1000)
        if passing := [error for error in errors if error.kind in TRANSIENT]:
            return passing[-1]
        too_long = [error for error in errors if error.kind is ProviderErrorKind.TOO_LONG]
        return (too_long or errors)[-1]


class RunFailed(ArvisError):
    """The failure of all attempts. `error` decides what the queue does next. `calls` contains the receipts of all
    attempts, and `rests` the cooldowns that changed."""

    def __init__(self, error: ProviderError, calls: tuple[ModelCall, ...], rests: tuple[Cooldown, ...] = ()) -> None:
        super().__init__(error.what, why=error.why, fix=error.fix, code=error.code)
        self.error = error
        self.calls = calls
        self.rests = rests


class Unserved(RunFailed):
    """The failure of a run that called no vendor: no account serves the agent's model, and the agent has no
    fallbacks."""

    def __init__(self, model: str | None) -> None:
        what = f"no account serves the model {model}, and the agent names no fallbacks"
        super().__init__(ProviderError(ProviderErrorKind.BAD_REQUEST, what), ())


# -- receipts ----------------------------------------------------------------------------------------------------------


#: The `error` in the receipt of a cancelled attempt.
CANCELLED = "cancelled"
_CANCELLED_TEXT = "the call was cancelled before the answer arrived"
_ESTIMATED = " (tokens and cost are estimates)"
#: The `detail` in the receipt of an answer without token counts.
UNCOUNTED = "the server did not say how many tokens it used: tokens and cost are estimates"


def left_out_text(names: Sequence[str]) -> str | None:
    """Return the `detail` in the receipt of an answer if its model did not get these parts of the request; None if the
    model got the whole request."""
    if not names:
        return None
    words = ", ".join("the reasoning effort" if name == "effort" else name for name in names)
    return f"not sent, because the model or its server does not support it: {words}"


class Receipts:
    """Makes the receipts of successful and failed attempts."""

    def __init__(self, *, prices: Prices, clock: Clock, new_id: Callable[[], str]) -> None:
        self._prices = prices
        self._clock = clock
        self._new_id = new_id

    def failed(self, tried: Try, error: ProviderError | None) -> ModelCall:
        """Return the receipt of an attempt without an answer. `error` is None if the attempt was cancelled. A call that
        was refused before processing costs nothing. Nothing is estimated for a model without a price."""
        kind, detail = (error.kind.value, error.what) if error else (CANCELLED, _CANCELLED_TEXT)
        used, choice = tried.result, tried.choice
        if used is None and tried.costs(error) and self._prices.of(choice.account.provider, choice.model):
            used, detail = tried.estimated(), detail + _ESTIMATED
        return replace(self._receipt(tried, used), error=kind, detail=detail)

    def answered(self, tried: Try, result: RunResult) -> ModelCall:
        """Return the receipt of an answer. Missing token counts are estimated, because otherwise the answer would be
        free and no budget would limit it."""
        free = tried.choice.account.provider == DEMO.provider
        detail = left_out_text(result.left_out)
        if free or (result.input_tokens and (result.output_tokens or not (result.content or result.calls))):
            receipt = self._receipt(tried, result)
            return receipt if detail is None else replace(receipt, detail=detail)
        guess = tried.estimated(result)
        used = replace(
            result,
            input_tokens=result.input_tokens or guess.input_tokens,
            output_tokens=result.output_tokens or guess.output_tokens,
        )
        return replace(self._receipt(tried, used), detail="; ".join(filter(None, [UNCOUNTED, detail])))

    def _receipt(self, tried: Try, used: RunResult | None) -> ModelCall:
        account, asked = tried.choice.account, tried.choice.model
        model = used.model if used else asked
        tokens_in = (used.input_tokens if used else None) or 0
        tokens_out = (used.output_tokens if used else None) or 0
        cached, written = (used.cached_tokens, used.written_tokens) if used else (0, 0)
        # A vendor may report a model name without a price; then the price of the requested name applies.
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
