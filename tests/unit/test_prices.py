"""The costs of model calls, and their estimates before the calls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.domain.runs import Account, Image, RunRequest, RunResult, Turn
from arvis.domain.tools import ToolCall, ToolOutput, ToolSpec
from arvis.llm.prices import Price, Prices, prompt_tokens
from arvis.llm.runner import Runner
from arvis.llm.selection import Choice
from arvis.testing.clock import SteppedClock
from arvis.testing.providers import GivenProviders

OWN = Prices(
    own={
        "demo": Price(1, 2),
        "custom/llama": Price(0.5, 0.5),
        "gpt-4o": Price(7, 7),
        "ollama/free": Price(0, 0),
        "house/model": Price(3, 3),
    }
)


def request(text: str = "Hello", *, max_tokens: int = 100) -> RunRequest:
    return RunRequest("", (Turn("user", text),), None, "Helper", max_tokens=max_tokens)


def estimate(asked: RunRequest, *choices: Choice) -> int:
    return Prices().at_most(choices, prompt_tokens(asked), asked.max_tokens)


def choice(provider: str, model: str) -> Choice:
    return Choice(Account(name=f"{provider}-{model}", provider=provider, model=model), model)


@pytest.mark.parametrize(
    ("provider", "model", "micros"),
    [
        ("openai", "gpt-4o-mini", 1000 * 0.15 + 500 * 0.6),
        ("openai", "gpt-4o-mini-2024-07-18", 1000 * 0.15 + 500 * 0.6),
        ("anthropic", "claude-haiku-4-5-20251001", 1000 * 1 + 500 * 5),
        ("openrouter", "openai/gpt-4o", 1000 * 2.5 + 500 * 10),
        ("openai", "gpt-unknown", None),
        ("custom", "gpt-4o", None),
        ("demo", "demo", None),
    ],
)
def test_list_prices(provider: str, model: str, micros: float | None) -> None:
    price = Prices().of(provider, model)
    assert (None if price is None else price.micros(1000, 500)) == micros


@pytest.mark.parametrize(
    ("provider", "model", "price"),
    [
        ("demo", "demo", Price(1, 2)),
        ("custom", "llama", Price(0.5, 0.5)),
        ("ollama", "llama", None),
        ("ollama", "free", Price(0, 0)),
        ("custom", "gpt-4o", Price(7, 7)),
        ("openai", "gpt-4o-2024-08-06", Price(7, 7)),
        ("openrouter", "openai/gpt-4o", Price(7, 7)),
        ("openrouter", "house/model", Price(3, 3)),
        ("openai", "gpt-4.1", Price(2, 8, 0.5)),
    ],
)
def test_prices_of_the_configuration_win_and_count_for_every_provider(
    provider: str, model: str, price: Price | None
) -> None:
    assert OWN.of(provider, model) == price


@pytest.mark.parametrize(
    ("price", "tokens", "micros"),
    [
        (Price(3, 15, 0.3, 3.75), (1000, 10, 0, 0), 3150),
        (Price(3, 15, 0.3, 3.75), (1000, 10, 400, 500), 300 + 120 + 1875 + 150),
        (Price(3, 15), (1000, 10, 400, 500), 3150),
        (Price(3, 15, 0.3), (100, 0, 400, 0), 120),
        (Price(0.15, 0.6), (1, 0, 0, 0), 0),
    ],
)
def test_what_a_cache_holds_has_its_own_price(price: Price, tokens: tuple[int, int, int, int], micros: int) -> None:
    assert price.micros(*tokens) == micros


def test_the_estimate_is_that_of_the_dearest_who_may_be_asked() -> None:
    cheap, dear = choice("openai", "gpt-4o-mini"), choice("anthropic", "claude-opus-4-5")
    alone = estimate(request(), cheap)
    assert 0 < alone < estimate(request(), cheap, dear, choice("demo", "demo"))
    assert estimate(request(), choice("demo", "demo")) == 0
    assert estimate(request(max_tokens=200), cheap) == alone + 60


def test_everything_in_a_prompt_counts() -> None:
    call = ToolCall("1", "search", {"q": "x" * 350})
    rich = RunRequest(
        "s" * 350,
        (
            Turn("user", "u" * 350, images=(Image("image/png", b""),)),
            Turn("assistant", "", calls=(call,)),
            Turn("user", "", outputs=(ToolOutput("1", "o" * 350),)),
        ),
        None,
        "Helper",
        tools=(ToolSpec("search", "d" * 350, {"type": "object"}),),
    )
    assert prompt_tokens(rich) > 5 * 100 + 1000


@given(st.text(max_size=200))
def test_no_text_has_less_than_its_tokens(text: str) -> None:
    """Every character outside of ASCII counts as a token, and 3.5 ASCII characters as one."""
    least = sum(1 / 3.5 if character.isascii() else 1 for character in text)
    assert prompt_tokens(request(text)) >= least


class _Frugal:
    name = "frugal"

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return RunResult(
            "Hi", request.model or "", account.provider, account.name, 1000, 10, cached_tokens=400, written_tokens=500
        )


async def test_a_receipt_tells_of_the_cache_and_of_the_price() -> None:
    account = Account(name="main", provider="frugal", model="m")
    prices = Prices(own={"frugal/m": Price(3, 15, 0.3, 3.75)})

    def made(prices: Prices | None) -> Runner:
        return Runner(
            providers=GivenProviders({"frugal": _Frugal()}),
            accounts=lambda: [account],
            clock=SteppedClock(),
            new_id=lambda: "call",
            random=lambda: 0.0,
            prices=prices,
        )

    (call,) = (await made(prices).run(request(), model=None, on_text=lambda *_: None)).calls
    assert (call.cached_tokens, call.written_tokens, call.priced, call.cost_micros) == (400, 500, True, 2445)
    assert made(prices).largest(request(), model=None).micros > 0
    (free,) = (await made(None).run(request(), model=None, on_text=lambda *_: None)).calls
    assert (free.priced, free.cost_micros) == (False, 0)
    assert made(None).largest(request(), model=None).micros == 0
