"""What a call cost, from a small table of list prices.

A model that is not in the table costs nothing here: budgets then count turns (interfaces.md §3), and nobody
is shown an invented sum. Prices as published by the vendors in autumn 2026.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

#: US dollars per million tokens, (input, output); that is also millionths of a dollar per token.
PRICES: Mapping[str, tuple[float, float]] = {
    "claude-haiku-4-5": (1.0, 5.0),
    "claude-sonnet-4-5": (3.0, 15.0),
    "claude-sonnet-4-6": (3.0, 15.0),
    "claude-opus-4-5": (5.0, 25.0),
    "gpt-4.1": (2.0, 8.0),
    "gpt-4.1-mini": (0.4, 1.6),
    "gpt-4o": (2.5, 10.0),
    "gpt-4o-mini": (0.15, 0.6),
    "gemini-2.0-flash": (0.1, 0.4),
}

#: Only these send invoices; the same names on a server of one's own are free.
_BILLING = frozenset({"anthropic", "google", "openai", "openrouter"})

_DATE = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")


def cost_micros(provider: str, model: str, input_tokens: int, output_tokens: int) -> int:
    """Millionths of a US dollar, 0 for an unknown model. `model` may carry a vendor prefix, as OpenRouter
    writes it, and a release date, as vendors report it."""
    if provider not in _BILLING:
        return 0
    name = _DATE.sub("", model.rpartition("/")[2])
    price_in, price_out = PRICES.get(name, (0.0, 0.0))
    return round(input_tokens * price_in + output_tokens * price_out)
