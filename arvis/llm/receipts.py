"""The receipts of tries: what each has used and cost, by the vendor's count or by an estimate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from arvis.domain.errors import ProviderError
from arvis.domain.runs import ModelCall, RunResult
from arvis.llm.attempts import Try
from arvis.llm.candidates import DEMO
from arvis.llm.prices import Prices
from arvis.ports.clock import Clock

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
