"""Embeds texts with one account and one model, which `embeddings` of the configuration names.

Vectors of several models are not comparable, so no other account can replace a failed account. A failed account gets a
cooldown, as after failed model calls (`llm/selection.py`). During the cooldown, searches use only words. Every call is
recorded in a receipt and counts towards the daily budget.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import structlog

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.embeddings import (
    MOST_TEXT,
    MOST_TEXTS,
    EmbeddingModel,
    EmbeddingRequest,
    EmbeddingResult,
    Meaning,
    Purpose,
    Vector,
)
from arvis.domain.errors import ArvisError, BudgetReached, ConfigError, ProviderError
from arvis.domain.money import OpenCall, Spender
from arvis.domain.runs import Account, Cooldown, ModelCall
from arvis.llm.budgets import BudgetSession
from arvis.llm.prices import Prices, text_tokens
from arvis.llm.selection import Choice, Cooldowns
from arvis.ports.clock import Clock
from arvis.ports.provider import EmbeddingProvider, Providers
from arvis.ports.store import Store, Transaction

log = structlog.get_logger(__name__)

#: The maximum time (seconds) that a search waits for the vector of its text.
SEARCH_SECONDS = 1.0
#: The maximum number of search texts whose vectors are cached in memory.
_HELD = 256
_CANCELLED = "cancelled"
#: The name of a model, and the digest of a search text.
_Key: TypeAlias = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class _Booking:
    """A call that was reserved in the budget: its payer, a receipt with the largest possible use, and its open call."""

    spender: Spender
    largest: ModelCall
    opened: OpenCall | None


class Embedder:
    """Embeds texts for one process. `choice` returns the configured account and model; None if texts are not
    embedded."""

    def __init__(
        self,
        *,
        choice: Callable[[], EmbeddingModel | None],
        accounts: Callable[[], Sequence[Account]],
        providers: Providers,
        store: Store,
        budget: BudgetSession,
        prices: Prices,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._choice = choice
        self._accounts = accounts
        self._providers = providers
        self._store = store
        self._budget = budget
        self._prices = prices
        self._clock = clock
        self._new_id = new_id
        self._rests = Cooldowns()
        self._known: OrderedDict[_Key, Meaning] = OrderedDict()
        self._asking: dict[_Key, asyncio.Task[Meaning | None]] = {}

    @property
    def model(self) -> str | None:
        """The name under which the vectors of the configured model are stored: `provider/model`, and the number of
        dimensions if it is configured. None if texts are not embedded."""
        choice = self._choice()
        account = None if choice is None else self._account(choice.account)
        if choice is None or account is None:
            return None
        wanted = "" if choice.dimensions is None else f"@{choice.dimensions}"
        return f"{account.provider}/{choice.model}{wanted}"

    @property
    def is_off(self) -> bool:
        """True if the configuration names no model. False if the configuration names a model, even if the account of
        the model is missing."""
        return self._choice() is None

    @property
    def rests_until(self) -> int | None:
        """The time (ms) until which the account is not called because it failed; None if the account may be called."""
        choice = self._choice()
        account = None if choice is None else self._account(choice.account)
        rest = None if choice is None or account is None else self._rests.known.get((account.name, choice.model))
        if rest is None or rest.refusals == 0 or rest.until <= self._clock.now():
            return None
        return rest.until

    async def meaning(self, text: str, *, within: float = SEARCH_SECONDS) -> Meaning | None:
        """Return the vector of a search text. Return None if texts are not embedded, if the account fails, or if it
        does not answer within this time (seconds). A late answer is cached for the next search of the same text."""
        model, text = self.model, " ".join(text.split())[:MOST_TEXT]
        if model is None or not text or self.rests_until is not None:
            return None
        # Erased texts must not stay in memory, so the cache contains a digest instead of the text.
        key = (model, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
        if (known := self._known.get(key)) is not None:
            self._known.move_to_end(key)
            return known
        if key not in self._asking:
            task = self._asking[key] = asyncio.create_task(self._ask(key, text))
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        done, _ = await asyncio.wait({self._asking[key]}, timeout=within)
        return next((task.result() for task in done if not task.cancelled()), None)

    async def _ask(self, key: _Key, text: str) -> Meaning | None:
        try:
            [vector] = await self.embed([text], Purpose.QUERY)
        except BudgetReached as error:
            log.info("question_not_embedded", error=error.what, why="without a vector, the search uses only words")
            return None
        except ArvisError as error:
            log.warning("question_not_embedded", error=error.what, why="without a vector, the search uses only words")
            return None
        if self.model != key[0]:
            return None  # another model was configured during the call
        found = self._known[key] = Meaning(key[0], vector)
        while len(self._known) > _HELD:
            self._known.popitem(last=False)
        return found

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        """Return the vectors of up to `MOST_TEXTS` texts. Raise `ProviderError`, `ConfigError` or `BudgetReached`."""
        choice = self._choice()
        account = None if choice is None else self._account(choice.account)
        if choice is None or account is None:
            raise _no_account(choice)
        provider = await self._providers.get(account.provider)
        if not isinstance(provider, EmbeddingProvider):
            raise ConfigError(
                f"The provider {account.provider} of the account {account.name} offers no embeddings",
                fix="Set embeddings.account to an account of openai, openrouter, custom, ollama or google.",
            )
        request = EmbeddingRequest([*texts[:MOST_TEXTS]], choice.model, choice.dimensions, purpose)
        largest = self._receipt(account, choice.model, sum(map(text_tokens, request.texts)))
        spender = Spender(execution_id=largest.id, visit="embed", turn=largest.id, job_id="")
        opened = await self._budget.open(spender, largest.cost_micros, largest if largest.priced else None)
        booking = _Booking(spender, largest, opened)
        result = await self._call(provider, request, account, partial(self._settle, booking))
        return [Vector.of(values) for values in result.vectors]

    async def _call(
        self,
        provider: EmbeddingProvider,
        request: EmbeddingRequest,
        account: Account,
        settle: Callable[[Transaction, ModelCall, Cooldown | None], None],
    ) -> EmbeddingResult:
        """Make the call, and store its receipt and the changed cooldown."""
        choice, begun, ticks = Choice(account, request.model), self._clock.now(), self._clock.monotonic()
        error, rest = None, None
        # A vendor may also charge for a cancelled call.
        tokens, kind = sum(map(text_tokens, request.texts)), _CANCELLED
        self._rests.started(choice)
        try:
            result = await provider.embed(request, account)
        except ProviderError as failed:
            error, tokens = failed, 0
            rest = self._rests.failed(choice, failed, self._clock.now(), asked_at=begun)
            raise
        else:
            tokens, kind = result.input_tokens or tokens, ""
            rest = self._rests.answered(choice, self._clock.now())
            return result
        finally:
            self._rests.ended(choice)
            receipt = replace(
                self._receipt(account, request.model, tokens),
                started_at=begun,
                duration_ms=round((self._clock.monotonic() - ticks) * 1000),
                error=(kind or None) if error is None else error.kind.value,
                detail=None if error is None else error.what,
            )
            await self._store.write(settle, receipt, rest)

    def _settle(self, booking: _Booking, tx: Transaction, receipt: ModelCall, rest: Cooldown | None) -> None:
        largest = booking.largest
        self._budget.close(tx, booking.spender, largest.cost_micros, (replace(receipt, id=largest.id),), booking.opened)
        if rest is not None:
            tx.cooldowns.put(rest)

    def _receipt(self, account: Account, model: str, tokens: int) -> ModelCall:
        price = self._prices.of(account.provider, model)
        return ModelCall(
            id=self._new_id(),
            account=account.name,
            provider=account.provider,
            model=model,
            started_at=self._clock.now(),
            duration_ms=0,
            input_tokens=tokens,
            cost_micros=0 if price is None else price.micros(tokens, 0),
            priced=price is not None,
        )

    def _account(self, name: str) -> Account | None:
        return next((account for account in self._accounts() if account.name == name), None)


def _no_account(choice: EmbeddingModel | None) -> ConfigError:
    if choice is None:
        return ConfigError("No model for embeddings is configured", fix="Set embeddings.account and embeddings.model.")
    return ConfigError(
        f"embeddings.account names {choice.account}, but there is no such account",
        fix="Name an account that `arvis accounts list` shows.",
    )
