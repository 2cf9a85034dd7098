"""The account and the model that answer, and the costs."""

from __future__ import annotations

import pytest

from arvis.domain.runs import Account
from arvis.llm.selection import DEMO, candidates

CLAUDE = Account(name="claude", provider="anthropic", model="claude-sonnet-4-6", priority=20)
SPARE = Account(name="spare", provider="anthropic", model="claude-haiku-4-5", priority=10)
GPT = Account(name="gpt", provider="openai", model="gpt-4o-mini", priority=50)
ROUTER = Account(name="router", provider="openrouter", model="meta-llama/llama-4", priority=60)
TRIAL = Account(name="trial", provider="demo", model="demo", priority=5)


@pytest.mark.parametrize(
    ("accounts", "model", "name", "asked"),
    [
        # no requested model: the first account by priority, with its own model
        ([GPT, CLAUDE], None, "claude", "claude-sonnet-4-6"),
        # provider/model: that vendor's first account, with the requested model; only the first slash separates
        ([CLAUDE, GPT], "openai/gpt-4.1", "gpt", "gpt-4.1"),
        ([CLAUDE, SPARE], "anthropic/claude-opus-4-5", "spare", "claude-opus-4-5"),
        ([GPT, ROUTER], "openrouter/qwen/qwen-3", "router", "qwen/qwen-3"),
        ([GPT], "openai/", "gpt", "gpt-4o-mini"),
        # a name without a vendor is Anthropic's
        ([GPT, CLAUDE], "claude-opus-4-5", "claude", "claude-opus-4-5"),
        # if that vendor has no account: an account with this model
        ([CLAUDE, GPT, ROUTER], "meta-llama/llama-4", "router", "meta-llama/llama-4"),
        ([ROUTER, GPT], "gpt-4o-mini", "gpt", "gpt-4o-mini"),
        # the demo: if it is the only account, or if it is named
        ([], None, "demo", "demo"),
        ([], "openai/gpt-4.1", "demo", "demo"),
        ([CLAUDE], "demo/demo", "demo", "demo"),
        ([CLAUDE], "demo", "demo", "demo"),
        ([CLAUDE], "demo/anything", "demo", "anything"),
        ([CLAUDE, TRIAL], "demo/demo", "trial", "demo"),
        ([CLAUDE, TRIAL], None, "trial", "demo"),
    ],
)
def test_choice(accounts: list[Account], model: str | None, name: str, asked: str) -> None:
    first = candidates(accounts, model)[0]
    assert (first.account.name, first.model) == (name, asked)


def test_accounts_of_one_priority_keep_their_order() -> None:
    first = Account(name="first", provider="openai", model="a")
    second = Account(name="second", provider="openai", model="b")
    assert candidates([first, second], None)[0].account is first
    assert candidates([second, first], "openai/x")[0].account is second


@pytest.mark.parametrize("model", ["claude-opus-4-5", "google/gemini-2.0-flash", "openai/"])
def test_a_model_without_fallbacks_is_not_replaced_by_another(model: str) -> None:
    assert all(choice.model == "gpt-4o-mini" for choice in candidates([GPT, ROUTER], "openai/gpt-4o-mini"))
    assert candidates([ROUTER], model) == ()
    assert candidates([ROUTER], model, ["openai/gpt-4.1"])[0].account is ROUTER


def names(accounts: list[Account], model: str | None, *fallbacks: str) -> list[tuple[str, str]]:
    return [(choice.account.name, choice.model) for choice in candidates(accounts, model, fallbacks)]


def test_the_preferred_then_each_fallback_then_every_account_with_its_own_model() -> None:
    found = names([GPT, ROUTER, CLAUDE, SPARE], "anthropic/claude-opus-4-5", "openai/gpt-4.1", "openrouter/qwen/qwen-3")
    assert found == [
        ("spare", "claude-opus-4-5"),
        ("claude", "claude-opus-4-5"),
        ("gpt", "gpt-4.1"),
        ("router", "qwen/qwen-3"),
        ("spare", "claude-haiku-4-5"),
        ("claude", "claude-sonnet-4-6"),
        ("gpt", "gpt-4o-mini"),
        ("router", "meta-llama/llama-4"),
    ]


def test_each_account_and_model_once() -> None:
    assert names([GPT], "openai/gpt-4o-mini", "openai/gpt-4o-mini", "gpt-4o-mini") == [("gpt", "gpt-4o-mini")]


def test_an_account_of_ones_own_server_is_asked_for_its_own_model_only() -> None:
    local = Account(name="local", provider="custom", model="llama", base_url="http://127.0.0.1/v1", priority=1)
    assert names([local, GPT], "custom/qwen") == []
    assert names([local, GPT], "custom/qwen", "gpt-4.1") == [("local", "llama"), ("gpt", "gpt-4o-mini")]
    assert names([GPT, local], "custom/llama") == [("local", "llama")]


def test_a_list_of_models_is_what_an_account_serves() -> None:
    listed = Account(
        name="listed", provider="openai", model="gpt-4o-mini", models=("gpt-4o-mini", "gpt-4.1"), priority=1
    )
    other = Account(name="other", provider="openai", model="gpt-4o", priority=9)
    assert names([listed, other], "openai/gpt-5")[0] == ("other", "gpt-5")
    assert names([listed, other], "openai/gpt-4.1")[:2] == [("listed", "gpt-4.1"), ("other", "gpt-4.1")]
    assert names([other, listed], "gpt-4.1")[0] == ("listed", "gpt-4.1")


def test_the_demo_is_no_way_out_where_real_accounts_are() -> None:
    assert ("demo", "demo") not in names([GPT], "anthropic/x", "openai/y")


def test_the_built_in_demo_holds_no_key() -> None:
    assert DEMO.api_key is None
