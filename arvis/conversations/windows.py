"""Context windows of models in tokens: the configured value, else the vendor's report, else by the name.

A window holds the prompt and the reply together. Too small a number costs a little context, too large a one a refused
call, after which the vendor's own number is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

#: The window of models without a rule. Ollama chooses the window by the memory of its machine, whatever the model's
#: name, and reports it with the first reply (behaviour 1.5).
DEFAULT_WINDOW = 200_000
_OLLAMA = 8_192

#: By the beginning of a name in small letters; the first that fits counts.
_RULES: Sequence[tuple[re.Pattern[str], int]] = tuple(
    (re.compile(beginning), window)
    for beginning, window in (
        (r"claude-[a-z]+-[5-9]", 1_000_000),
        (r"claude", 200_000),
        (r"gpt-4\.1", 1_000_000),
        (r"gpt-4o|chatgpt-4o|gpt-4-turbo|gpt-5[^/]*-chat|gpt-oss", 128_000),
        (r"gpt-5", 272_000),  # of its 400,000 the rest is for replies only
        (r"gpt-4-32k", 32_768),
        (r"gpt-4", 8_192),
        (r"gpt-3\.5", 16_385),
        (r"o1-mini|o1-preview", 128_000),
        (r"o[134]\b", 200_000),
        (r"gemini-1\.0|gemini-pro", 32_768),
        (r"gemini", 1_000_000),
        (r"deepseek|llama-3\.[1-3]|mistral-(large|medium|small)|command-r", 128_000),
    )
)


def window_of(provider: str, model: str, own: Mapping[str, int], learnt: int | None) -> int:
    """Return the window in tokens. `model` may have prefixes, as OpenRouter writes them (`openai/gpt-4.1`). `own` are
    the configured ones, by `model` or `provider/model`; `learnt` is the vendor's report."""
    if (said := own_of(provider, model, own)) is not None:
        return said
    if learnt is not None:
        return learnt
    if provider == "ollama":
        return _OLLAMA
    return _by_rule(model.rpartition("/")[2].lower())


def own_of(provider: str, model: str, own: Mapping[str, int]) -> int | None:
    """Return the configured value of a model, by `model` or `provider/model`; prefixes do not matter."""
    plain = model.rpartition("/")[2]
    names = (f"{provider}/{model}", model, f"{provider}/{plain}", plain)
    return next((own[name] for name in names if name in own), None)


@lru_cache(maxsize=256)
def _by_rule(plain: str) -> int:
    return next((window for rule, window in _RULES if rule.match(plain)), DEFAULT_WINDOW)
