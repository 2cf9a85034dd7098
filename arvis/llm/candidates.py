"""The accounts that can answer a request, and their models (behaviour.md 1.11)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from arvis.domain.runs import Account

#: Answers when no account is configured, or when an agent names it (interfaces.md §5).
DEMO = Account(name="demo", provider="demo", model="demo")

#: The provider of a model name without one.
DEFAULT_PROVIDER = "anthropic"

#: Accounts of these providers serve only the model they name, because their other models are unknown; others serve
#: any model of their vendor.
_OWN_MODEL_ONLY = frozenset({"custom", "ollama", "claude_cli"})

#: Their models cannot ask for tools, because the program between has no way to hand calls on.
TOOLLESS = frozenset({"claude_cli"})


@dataclass(frozen=True, slots=True)
class Choice:
    """An account and the name of the model to ask it for, without provider prefix. `wish` counts the models that the
    agent would rather have."""

    account: Account
    model: str
    wish: int = field(default=0, compare=False)


def candidates(accounts: Sequence[Account], model: str | None, fallbacks: Sequence[str] = ()) -> tuple[Choice, ...]:
    """Return every candidate, each account and model once: the preferred model (written `provider/model`, the first
    slash splits, or a bare name) at the accounts that serve it, then each fallback at its accounts, then every
    account with its own model. A model without fallbacks is the only one, so that there may be no candidate. Accounts
    are in the order of their priority."""
    ranked = sorted(accounts, key=lambda account: account.priority)
    if not ranked:
        return _at_demo(model, fallbacks)
    wanted = [model, *fallbacks] if model is not None else list(fallbacks)
    found = [replace(choice, wish=wish) for wish, name in enumerate(wanted) for choice in _serving(ranked, name)]
    if model is None or fallbacks:
        found += [Choice(account, account.model, len(wanted)) for account in ranked]
    return tuple(dict.fromkeys(found))


def _at_demo(model: str | None, fallbacks: Sequence[str]) -> tuple[Choice, ...]:
    """Return the demo, which answers under any name if there is no account."""
    wanted = [model, *fallbacks] if model is not None else list(fallbacks)
    named = [choice for name in wanted for choice in _serving([DEMO], name)]
    return tuple(dict.fromkeys([*named, Choice(DEMO, DEMO.model)]))


def _serving(ranked: Sequence[Account], model: str) -> Iterator[Choice]:
    """Yield the accounts that serve a model as an agent names it. The built-in demo serves any name."""
    provider, slash, name = model.partition("/")
    if not slash and provider != DEMO.provider:
        provider, name = DEFAULT_PROVIDER, model
    of_provider = [Choice(account, name or account.model) for account in ranked if account.provider == provider]
    if provider == DEMO.provider and not of_provider:
        yield Choice(DEMO, name or DEMO.model)
    yield from (choice for choice in of_provider if _serves(choice.account, choice.model))
    # A bare name, or a name that itself holds a slash, may be the own model of some account.
    yield from (Choice(account, model) for account in ranked if model in (account.model, *account.models))


def _serves(account: Account, model: str) -> bool:
    if account.models:
        return model in account.models
    return account.provider not in _OWN_MODEL_ONLY or model == account.model


def names_served(accounts: Sequence[Account]) -> frozenset[str] | None:
    """Return all names under which a model is served: `provider/model`, bare names, and `provider/*` for accounts
    that serve all models of their vendor. None without an account, because the demo then answers under every name."""
    if not accounts:
        return None
    own = {(each.provider, model) for each in accounts for model in (each.model, *each.models)}
    open_ = {each.provider for each in accounts if not each.models and each.provider not in _OWN_MODEL_ONLY}
    names = {name for provider, model in own for name in (model, f"{provider}/{model}", f"{provider}/")}
    return frozenset({*names, *(f"{provider}/*" for provider in open_), DEMO.provider, f"{DEMO.provider}/*"})
