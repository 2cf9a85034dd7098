"""The cost of a call, and the highest possible cost before the call. The prices are the list prices of `prices.json`,
overridden by the configuration.

A model without a price may be called. Its cost is recorded as 0 instead of an invented amount, so the only limit that
applies is the daily number of turns of an unpaired person. The list contains the prices that the vendors published. If
a price depends on the length of the prompt, the list contains the highest price.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex
from arvis.domain.runs import Measure, RunRequest
from arvis.llm.selection import Choice
from arvis.llm.tokens import measure_request

#: The providers that charge the vendors' list prices. The same models on a self-hosted server are free.
_BILLING = frozenset({"anthropic", "google", "openai", "openrouter"})

#: The number of names whose prices are remembered. (Vendors choose the names of models in their replies.)
_MOST_FOUND = 1_000

_DATE = regex(r"-\d{4}-?\d{2}-?\d{2}$")

#: The minimum number of ASCII characters in a token; every other character counts as one token.
_CHARACTERS = 3.5
#: The maximum number of tokens that a vendor counts for one picture.
_PICTURE = 3_000
#: The number of tokens for roles, separators and similar parts of each message.
_FRAME = 10


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model in US dollars per million tokens, which is the same as micros per token."""

    input: float
    output: float
    #: The price of input that the vendor reads from its cache (None: the price of other input).
    cached: float | None = None
    #: The price of input that the vendor stores in its cache (None: the price of other input).
    written: float | None = None

    def micros(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0, written_tokens: int = 0) -> int:
        """Return the cost in micros; `input_tokens` includes `cached_tokens` and `written_tokens`."""
        fresh = max(0, input_tokens - cached_tokens - written_tokens)
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.written is None else self.written
        return round(
            fresh * self.input + cached_tokens * cached + written_tokens * written + output_tokens * self.output
        )

    def at_most(self, input_tokens: int, output_tokens: int) -> int:
        """Return the highest possible cost in micros. Each part of the input is counted at the highest of its prices,
        because the vendor may read it from its cache or store it there."""
        return round(input_tokens * max(self.input, self.cached or 0, self.written or 0) + output_tokens * self.output)


class Prices:
    """The prices of all models. `own` are the configured prices, by `model` or `provider/model`; they override the list
    prices and apply to every provider."""

    def __init__(self, *, own: Mapping[str, Price] | None = None) -> None:
        self._own = dict(own or {})
        self._listed = _listed()
        self._found: dict[tuple[str, str], Price | None] = {}

    @property
    def listed(self) -> Sequence[str]:
        """Return the names, without a vendor's prefix, of the models that have a list price. Models for embeddings are
        left out, because no agent can use them."""
        return sorted(name for name in self._listed if "embedding" not in name)

    def of(self, provider: str, model: str) -> Price | None:
        """Return the price of a model; None if the model has no price. `model` may contain a vendor's prefix, in the
        form that OpenRouter uses, and the date of its release, as vendors report it."""
        named = (provider, model)
        if named not in self._found:
            if len(self._found) >= _MOST_FOUND:
                self._found.clear()
            self._found[named] = self._look_up(provider, model)
        return self._found[named]

    def _look_up(self, provider: str, model: str) -> Price | None:
        plain = model.rpartition("/")[2]
        names = [f"{provider}/{model}", f"{provider}/{plain}", model, plain]
        for name in (*names, *(_DATE.sub("", each) for each in names)):
            if name in self._own:
                return self._own[name]
        if provider not in _BILLING:
            return None
        return self._listed.get(plain) or self._listed.get(_DATE.sub("", plain))

    def at_most(self, choices: Sequence[Choice], input_tokens: int, output_tokens: int) -> int:
        """Return the highest possible cost of one attempt, in micros: its cost at the most expensive candidate. Return
        0 if no candidate has a price."""
        found = [self.of(choice.account.provider, choice.model) for choice in choices]
        return max((price.at_most(input_tokens, output_tokens) for price in found if price is not None), default=0)


def _listed() -> dict[str, Price]:
    table = json.loads((files("arvis.llm") / "prices.json").read_text("utf-8"))
    return {model: Price(**price) for model, price in table.items()}


def prompt_tokens(request: RunRequest) -> int:
    """Return an upper bound of the prompt's tokens."""
    return most_tokens(measure_request(request))


def most_tokens(size: Measure) -> int:
    """Return an upper bound of the tokens of a request with this size."""
    plain, others = size.letters + size.marks, size.dense + size.others
    return _most_of(plain, others) + _PICTURE * size.pictures + _FRAME * size.messages


def text_tokens(text: str) -> int:
    """Return an upper bound of the tokens of a text."""
    ascii_only = len(text.encode("ascii", "ignore"))
    return _most_of(ascii_only, len(text) - ascii_only)


def _most_of(plain: int, others: int) -> int:
    return round(plain / _CHARACTERS + 0.5) + others
