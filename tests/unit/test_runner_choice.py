"""Which account answers, with which model; and what it costs."""

from __future__ import annotations

import pytest

from arvis.domain.runs import Account
from arvis.runner.choice import DEMO, choose
from arvis.runner.prices import cost_micros

CLAUDE = Account(name="claude", provider="anthropic", model="claude-sonnet-4-6", priority=20)
SPARE = Account(name="spare", provider="anthropic", model="claude-haiku-4-5", priority=10)
GPT = Account(name="gpt", provider="openai", model="gpt-4o-mini", priority=50)
ROUTER = Account(name="router", provider="openrouter", model="meta-llama/llama-4", priority=60)
TRIAL = Account(name="trial", provider="demo", model="demo", priority=5)


@pytest.mark.parametrize(
    ("accounts", "model", "name", "asked"),
    [
        # no wish: the first account by priority, with its own model
        ([GPT, CLAUDE], None, "claude", "claude-sonnet-4-6"),
        # provider/model: that vendor's first account, with the wished model; only the first slash splits
        ([CLAUDE, GPT], "openai/gpt-4.1", "gpt", "gpt-4.1"),
        ([CLAUDE, SPARE], "anthropic/claude-opus-4-5", "spare", "claude-opus-4-5"),
        ([GPT, ROUTER], "openrouter/qwen/qwen-3", "router", "qwen/qwen-3"),
        ([GPT], "openai/", "gpt", "gpt-4o-mini"),
        # a bare name is Anthropic's
        ([GPT, CLAUDE], "claude-opus-4-5", "claude", "claude-opus-4-5"),
        # without that vendor: an account with this very model, else any account with its own model
        ([CLAUDE, GPT, ROUTER], "meta-llama/llama-4", "router", "meta-llama/llama-4"),
        ([ROUTER, GPT], "gpt-4o-mini", "gpt", "gpt-4o-mini"),
        ([ROUTER, GPT], "claude-opus-4-5", "gpt", "gpt-4o-mini"),
        ([GPT], "google/gemini-2.0-flash", "gpt", "gpt-4o-mini"),
        # the demo: alone, or by name
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
    choice = choose(accounts, model)
    assert (choice.account.name, choice.model) == (name, asked)


def test_accounts_of_one_priority_keep_their_order() -> None:
    first = Account(name="first", provider="openai", model="a")
    second = Account(name="second", provider="openai", model="b")
    assert choose([first, second], None).account is first
    assert choose([second, first], "openai/x").account is second


def test_the_built_in_demo_holds_no_key() -> None:
    assert DEMO.api_key is None


@pytest.mark.parametrize(
    ("provider", "model", "micros"),
    [
        ("openai", "gpt-4o-mini", 1000 * 0.15 + 500 * 0.6),
        ("openai", "gpt-4o-mini-2024-07-18", 1000 * 0.15 + 500 * 0.6),
        ("anthropic", "claude-haiku-4-5-20251001", 1000 * 1 + 500 * 5),
        ("openrouter", "openai/gpt-4o", 1000 * 2.5 + 500 * 10),
        ("openai", "gpt-unknown", 0),
        ("custom", "gpt-4o", 0),
        ("demo", "demo", 0),
    ],
)
def test_cost(provider: str, model: str, micros: float) -> None:
    assert cost_micros(provider, model, 1000, 500) == round(micros)
