"""The one door to the models: every call of a model in Arvis goes through `Runner.run`.

The next account is asked at once; only when none is left does a run wait for what may pass by itself (1, 4 and 15 s
with full jitter: reliability.md, decisions). It never writes the database: the receipts of all tries, and what became
known of the accounts, go back to the caller, who commits them with the reply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from arvis.domain.errors import TRANSIENT, ArvisError, ConfigError, ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, ModelCall, Rest, RunRequest, RunResult
from arvis.ports.clock import Clock
from arvis.ports.provider import Provider, Providers, StreamingProvider
from arvis.runner.choice import Choice, candidates
from arvis.runner.prices import Prices, estimate_micros
from arvis.runner.rests import Rests

#: Upper ends of the waits before the second, third and fourth try, in seconds.
RETRY_DELAYS = (1.0, 4.0, 15.0)

#: A vendor that asks for a longer wait (seconds) is not waited for inside the run: the queue tries later.
LONGEST_WAIT = 20.0

OnText = Callable[[int, str], None]

#: What another account would answer with as well.
HOPELESS = frozenset({ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.REFUSED, ProviderErrorKind.TOO_LONG})


@dataclass(frozen=True, slots=True)
class Run:
    """A reply, the receipts of every try that led to it, the successful one last, and what became known of the
    accounts on the way."""

    result: RunResult
    calls: tuple[ModelCall, ...]
    rests: tuple[Rest, ...] = ()


@dataclass(frozen=True, slots=True)
class _Start:
    """When a try began: on the wall clock in ms, and in seconds of the clock that measures durations."""

    at: int
    ticks: float


@dataclass(slots=True)
class _Attempt:
    """What one run has seen. `errors` holds the last error of each choice, `end` is when the run must be over."""

    end: float
    calls: list[ModelCall] = field(default_factory=list)
    rests: list[Rest] = field(default_factory=list)
    errors: dict[Choice, ProviderError] = field(default_factory=dict)

    def passing(self) -> list[Choice]:
        """Those to ask again, in order."""
        return [choice for choice, error in self.errors.items() if _passes(error)]

    def verdict(self, now: int) -> ProviderError:
        """What the job should act upon: an error that may pass before a limit, and a limit before a refusal. A limit
        lasts until the first account is back."""
        errors = list(self.errors.values())
        if passing := [error for error in errors if error.kind in TRANSIENT]:
            return passing[-1]
        limits = [error for error in errors if error.kind is ProviderErrorKind.RATE_LIMIT]
        if not limits:
            return errors[-1]
        soonest = min(rest.until for rest in self.rests if rest.kind == ProviderErrorKind.RATE_LIMIT)
        return ProviderError(ProviderErrorKind.RATE_LIMIT, limits[-1].what, retry_after=(soonest - now) / 1000)


class RunFailed(ArvisError):
    """No try gave a reply. `error` is what to act upon, `calls` the receipts of all tries, `rests` what became known of
    the accounts."""

    def __init__(self, error: ProviderError, calls: tuple[ModelCall, ...], rests: tuple[Rest, ...] = ()) -> None:
        super().__init__(error.what, why=error.why, fix=error.fix, code=error.code)
        self.error = error
        self.calls = calls
        self.rests = rests


class Runner:
    """Any number of runs may go on at once; they share what is known of the accounts. `accounts` gives those of this
    moment, `new_id` makes the ids of receipts, `random` gives a number from 0 up to 1 for the jitter; `deadline` bounds a
    run in seconds; without `prices` the built-in ones count."""

    def __init__(
        self,
        *,
        providers: Providers,
        accounts: Callable[[], Sequence[Account]],
        clock: Clock,
        new_id: Callable[[], str],
        random: Callable[[], float],
        deadline: float = 900.0,
        prices: Prices | None = None,
    ) -> None:
        self._providers = providers
        # Asked once: of a Protocol the question costs more than all the rest of a call.
        self._streams: dict[Provider, StreamingProvider | None] = {}
        self._accounts = accounts
        self._clock = clock
        self._new_id = new_id
        self._random = random
        self._deadline = deadline
        self._prices = prices or Prices()
        self._rests = Rests()

    def learn(self, rests: Iterable[Rest]) -> None:
        """Take over what is stored of the accounts."""
        self._rests.learn(rests)

    def estimate(self, request: RunRequest, *, model: str | None, fallbacks: Sequence[str] = ()) -> int:
        """What a reply may cost at most, in millionths of a US dollar, whoever of the candidates gives it; 0 when nobody
        knows a price. The parameters are those of `run`."""
        return estimate_micros(request, self._prices, candidates(self._accounts(), model, fallbacks))

    async def run(
        self, request: RunRequest, *, model: str | None, fallbacks: Sequence[str] = (), on_text: OnText
    ) -> Run:
        """One reply. `model` and `fallbacks` as an agent writes them: `provider/model`, or a bare name; None for the
        accounts' own. `on_text` gets each streamed piece with its offset in characters; a new try starts at offset 0.
        Raises `RunFailed`. Cancellation ends the call in progress at once."""
        attempt = _Attempt(end=self._clock.monotonic() + self._deadline)
        asked = self._open(candidates(self._accounts(), model, fallbacks))
        for delay in (*RETRY_DELAYS, None):
            for choice in asked:
                result = await self._try(choice, replace(request, model=choice.model), on_text, attempt)
                if result is not None:
                    return Run(result, tuple(attempt.calls), tuple(attempt.rests))
            asked = attempt.passing()
            wait = self._wait(attempt, delay)
            if not asked or wait is None:
                break
            await self._clock.sleep(wait)
        raise RunFailed(attempt.verdict(self._clock.now()), tuple(attempt.calls), tuple(attempt.rests))

    def _open(self, choices: Sequence[Choice]) -> list[Choice]:
        """The choices to try, in order. Raises `RunFailed` when all rest."""
        now = self._clock.now()
        asked, until = self._rests.order(choices, now)
        if until is not None:
            what = "every account rests: the vendors asked for a pause"
            error = ProviderError(ProviderErrorKind.RATE_LIMIT, what, retry_after=(until - now) / 1000)
            raise RunFailed(error, ())
        return asked

    async def _try(self, choice: Choice, request: RunRequest, on_text: OnText, attempt: _Attempt) -> RunResult | None:
        """One call; None when the next choice is to be tried. Raises `RunFailed` for what no other can mend."""
        started = _Start(at=self._clock.now(), ticks=self._clock.monotonic())
        try:
            result = await self._call(choice.account, request, on_text)
        except ProviderError as error:
            attempt.calls.append(self._receipt(choice, started, error=error))
            if error.kind in HOPELESS:
                raise RunFailed(error, tuple(attempt.calls), tuple(attempt.rests)) from error
            attempt.errors[choice] = error
            if not _passes(error):
                attempt.rests.append(self._rests.refused(choice, error, self._clock.now(), asked=started.at))
            return None
        attempt.calls.append(self._receipt(choice, started, result=result))
        if (rest := self._rests.answered(choice, self._clock.now())) is not None:
            attempt.rests.append(rest)
        return result

    async def _call(self, account: Account, request: RunRequest, on_text: OnText) -> RunResult:
        """One try: streamed where the provider can."""
        provider = await self._provider(account)
        if provider not in self._streams:
            self._streams[provider] = provider if isinstance(provider, StreamingProvider) else None
        if (streaming := self._streams[provider]) is not None:
            result = await streaming.stream(request, account, _with_offset(on_text))
        else:
            result = await provider.complete(request, account)
        if not result.content.strip() and not result.calls:
            # Providers from elsewhere may miss this rule, and a user must never get silence.
            raise ProviderError(ProviderErrorKind.EMPTY, f"the account {account.name} gave an empty reply")
        return result

    async def _provider(self, account: Account) -> Provider:
        """What cannot be loaded is passed over like an account whose key is refused: only a person can mend it."""
        try:
            return await self._providers.get(account.provider)
        except ConfigError as missing:
            what = f"the account {account.name} cannot be used: {missing.what}"
            raise ProviderError(ProviderErrorKind.AUTH, what) from missing

    def _wait(self, attempt: _Attempt, delay: float | None) -> float | None:
        """Seconds until the next round; None when there is none in this run."""
        if delay is None:
            return None
        asked = max((error.retry_after or 0.0 for error in attempt.errors.values() if _passes(error)), default=0.0)
        wait = max(asked, delay * self._random())
        return wait if self._clock.monotonic() + wait < attempt.end else None

    def _receipt(
        self, choice: Choice, started: _Start, *, result: RunResult | None = None, error: ProviderError | None = None
    ) -> ModelCall:
        account = choice.account
        model = result.model if result else choice.model
        tokens_in = (result.input_tokens if result else None) or 0
        tokens_out = (result.output_tokens if result else None) or 0
        cached, written = (result.cached_tokens, result.written_tokens) if result else (0, 0)
        price = self._prices.of(account.provider, model)
        return ModelCall(
            id=self._new_id(),
            account=account.name,
            provider=account.provider,
            model=model,
            started_at=started.at,
            duration_ms=round((self._clock.monotonic() - started.ticks) * 1000),
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cost_micros=price.micros(tokens_in, tokens_out, cached, written) if price else 0,
            cached_tokens=cached,
            error=error.kind.value if error else None,
            detail=error.what if error else None,
            written_tokens=written,
            priced=price is not None,
        )


def _passes(error: ProviderError) -> bool:
    """Whether it is worth asking the same account again in this run."""
    return error.kind in TRANSIENT and (error.retry_after or 0.0) <= LONGEST_WAIT


def _with_offset(on_text: OnText) -> Callable[[str], None]:
    """Count the characters of one try."""
    offset = 0

    def send(piece: str) -> None:
        nonlocal offset
        on_text(offset, piece)
        offset += len(piece)

    return send
