"""The reasoning effort of a model call: how much a model may think before it answers. Every vendor has its own form;
`arvis.providers` converts these words to it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from arvis.domain.regex import regex

#: The efforts in ascending order. `none` disables thinking.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
NONE = EFFORTS[0]

#: The tokens that a call may use for thinking, in addition to those of the reply, because vendors count both together.
THINKING_TOKENS: Mapping[str, int] = {
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 32_768,
}

#: All words that vendors use, in ascending order.
_WORDS = (*EFFORTS, "max")
_LISTED = regex(r"(?:supported|valid|allowed|accepted|expected|one of|choose)\b[^.]*", re.IGNORECASE)
_WORD = regex(rf"\b({'|'.join(_WORDS)})\b")


def thinking_tokens(effort: str | None) -> int:
    """Return the tokens for thinking that this effort adds to a call."""
    return THINKING_TOKENS.get(effort or "", 0)


def nearest(effort: str, accepted: Collection[str]) -> str | None:
    """Return the accepted word that is nearest to the effort, the lower one if two are equally near. Return None if
    none of them lets the model think although the effort does."""
    wanted = _WORDS.index(effort)
    words = [word for word in _WORDS if word in accepted and (effort == NONE or word != NONE)]
    return min(words, key=lambda word: abs(_WORDS.index(word) - wanted), default=None)


def named_efforts(refusal: str, sent: str) -> tuple[str, ...]:
    """Return the efforts that a vendor's refusal of `sent` names as accepted, in ascending order."""
    words = {word for listed in _LISTED.findall(refusal) for word in _WORD.findall(listed)} - {sent}
    return tuple(word for word in _WORDS if word in words)
