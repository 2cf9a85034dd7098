"""The one door to the models: every call of a model in Arvis goes through `Runner.run`.

It chooses the account, calls the provider, and tries again within seconds what may pass by itself
(reliability.md, decisions: 1, 4 and 15 s with full jitter). It never writes the database: the receipts of
all tries go back to the caller, who commits them with the reply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from arvis.domain.errors import TRANSIENT, ArvisError, ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, ModelCall, RunRequest, RunResult
from arvis.ports.clock import Clock
from arvis.ports.provider import Provider, StreamingProvider
from arvis.runner.choice import Choice, choose
from arvis.runner.prices import cost_micros

#: Upper ends of the waits before the second, third and fourth try, in seconds.
RETRY_DELAYS = (1.0, 4.0, 15.0)

#: A vendor that asks for a longer wait (seconds) is not waited for inside the run: the queue tries later.
LONGEST_WAIT = 20.0

OnText = Callable[[int, str], None]


@dataclass(frozen=True, slots=True)
class Run:
    """A reply, and the receipts of every try that led to it, the successful one last."""

    result: RunResult
    calls: tuple[ModelCall, ...]


@dataclass(frozen=True, slots=True)
class _Start:
    """When a try began: on the wall clock in ms, and in seconds of the clock that measures durations."""

    at: int
    ticks: float


class RunFailed(ArvisError):
    """No try gave a reply. `error` is the last provider error, `calls` the receipts of all tries."""

    def __init__(self, error: ProviderError, calls: tuple[ModelCall, ...]) -> None:
        super().__init__(error.what, why=error.why, fix=error.fix, code=error.code)
        self.error = error
        self.calls = calls


class Runner:
    """Stateless between runs, so any number of them may go on at once. `new_id` makes the ids of receipts,
    `random` gives a number from 0 up to 1 for the jitter."""

    def __init__(
        self,
        *,
        providers: Mapping[str, Provider],
        accounts: Sequence[Account],
        clock: Clock,
        new_id: Callable[[], str],
        random: Callable[[], float],
    ) -> None:
        self._providers = providers
        # Asked once: of a Protocol the question costs more than all the rest of a call.
        self._streaming = {name: made for name, made in providers.items() if isinstance(made, StreamingProvider)}
        self._accounts = tuple(accounts)
        self._clock = clock
        self._new_id = new_id
        self._random = random

    async def run(self, request: RunRequest, *, model: str | None, on_text: OnText) -> Run:
        """One reply. `model` as an agent writes it: `provider/model`, a bare name, or None for the account's
        own. `on_text` gets each streamed piece with its offset in characters; a new try starts at offset 0.
        Raises `RunFailed`. Cancellation ends the call in progress at once."""
        choice = choose(self._accounts, model)
        self._check(choice)
        request = replace(request, model=choice.model)
        calls: list[ModelCall] = []
        for delay in (*RETRY_DELAYS, None):
            started = _Start(at=self._clock.now(), ticks=self._clock.monotonic())
            try:
                result = await self._call(choice.account, request, on_text)
            except ProviderError as error:
                calls.append(self._receipt(choice, started, error=error))
                wait = self._wait(error, delay)
                if wait is None:
                    raise RunFailed(error, tuple(calls)) from error
                await self._clock.sleep(wait)
            else:
                calls.append(self._receipt(choice, started, result=result))
                return Run(result, tuple(calls))
        raise AssertionError("the last try has no wait after it, so it returned or raised")

    def _check(self, choice: Choice) -> None:
        account = choice.account
        if account.provider not in self._providers:
            what = f"the account {account.name} names the provider {account.provider}, which is not loaded"
            raise RunFailed(ProviderError(ProviderErrorKind.BAD_REQUEST, what), ())

    async def _call(self, account: Account, request: RunRequest, on_text: OnText) -> RunResult:
        """One try: streamed where the provider can."""
        if (streaming := self._streaming.get(account.provider)) is not None:
            result = await streaming.stream(request, account, _with_offset(on_text))
        else:
            result = await self._providers[account.provider].complete(request, account)
        if not result.content.strip():
            # Providers from elsewhere may miss this rule, and a user must never get silence.
            raise ProviderError(ProviderErrorKind.EMPTY, f"the account {account.name} gave an empty reply")
        return result

    def _wait(self, error: ProviderError, delay: float | None) -> float | None:
        """Seconds until the next try; None when there is none in this run."""
        asked = error.retry_after or 0.0
        if delay is None or error.kind not in TRANSIENT or asked > LONGEST_WAIT:
            return None
        return max(asked, delay * self._random())

    def _receipt(
        self, choice: Choice, started: _Start, *, result: RunResult | None = None, error: ProviderError | None = None
    ) -> ModelCall:
        account = choice.account
        model = result.model if result else choice.model
        tokens_in = (result.input_tokens if result else None) or 0
        tokens_out = (result.output_tokens if result else None) or 0
        return ModelCall(
            id=self._new_id(),
            account=account.name,
            provider=account.provider,
            model=model,
            started_at=started.at,
            duration_ms=round((self._clock.monotonic() - started.ticks) * 1000),
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cost_micros=cost_micros(account.provider, model, tokens_in, tokens_out),
            error=error.kind.value if error else None,
            detail=error.what if error else None,
        )


def _with_offset(on_text: OnText) -> Callable[[str], None]:
    """Count the characters of one try."""
    offset = 0

    def send(piece: str) -> None:
        nonlocal offset
        on_text(offset, piece)
        offset += len(piece)

    return send
