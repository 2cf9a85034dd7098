"""Builds the parts that embed texts, at their first use."""

from __future__ import annotations

from functools import partial

from arvis.app.foundation import Base, prices_of, spending_limits
from arvis.config import Config
from arvis.domain.embeddings import Meaning
from arvis.embedding import EmbeddingIndexer
from arvis.llm.budgets import BudgetSession
from arvis.llm.embedding import Embedder
from arvis.ports.embeddings import MeaningOf
from arvis.ports.provider import Providers
from arvis.process.on_demand import OnDemand


def build_embedder(*, base: Base, providers: Providers) -> Embedder:
    return Embedder(
        choice=lambda: base.settings.current().embeddings.choice,
        accounts=base.accounts.current,
        providers=providers,
        store=base.store,
        budget=BudgetSession(store=base.store, limits=partial(spending_limits, base), clock=base.clock),
        prices=prices_of(base.config),
        clock=base.clock,
        new_id=base.new_id,
    )


def build_indexer(*, base: Base, embedder: OnDemand[Embedder]) -> EmbeddingIndexer:
    return EmbeddingIndexer(
        embedder=embedder.now(),
        store=base.store,
        bus=base.bus,
        clock=base.clock,
        texts_per_minute=lambda: base.settings.current().embeddings.texts_per_minute,
        configured=lambda: base.settings.until(names_model),
    )


def names_model(config: Config) -> bool:
    return config.embeddings.choice is not None


def meaning_of(base: Base, embedder: OnDemand[Embedder]) -> MeaningOf:
    """Return the function that embeds search texts. It builds the embedder when a model is configured."""

    async def meaning(text: str) -> Meaning | None:
        if not names_model(base.settings.current()):
            return None
        return await (await embedder.get()).meaning(text)

    return meaning
