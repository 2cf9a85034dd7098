"""Which account answers a request, and with which model (behaviour.md 1.11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arvis.domain.runs import Account

#: Answers when no account is configured, or when an agent names it (interfaces.md §5).
DEMO = Account(name="demo", provider="demo", model="demo")

#: What a model name without a provider means.
DEFAULT_PROVIDER = "anthropic"


@dataclass(frozen=True, slots=True)
class Choice:
    """An account and the name of the model to ask it for, without provider prefix."""

    account: Account
    model: str


def choose(accounts: Sequence[Account], model: str | None) -> Choice:
    """The account for a model written `provider/model` (the first slash splits) or as a bare name.

    The preferred provider's first account by priority gets the preferred model. Without one, an account
    whose own model has exactly this name; else the first account of all with *its own* model, for another
    vendor cannot know the name.
    """
    ranked = sorted(accounts, key=lambda account: account.priority) or [DEMO]
    if model is None:
        return Choice(ranked[0], ranked[0].model)
    provider, slash, name = model.partition("/")
    if not slash and provider != DEMO.provider:
        provider, name = DEFAULT_PROVIDER, model
    for account in [*ranked, DEMO]:
        if account.provider == provider:
            return Choice(account, name or account.model)
    own = next((account for account in ranked if account.model == model), ranked[0])
    return Choice(own, own.model)
