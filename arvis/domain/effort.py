"""The reasoning effort of a model call: how much a model may think before it answers. Each vendor has its own parameter
for the effort; `arvis.providers` converts the values of this module."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from arvis.domain.regex import regex

#: The efforts in ascending order. `none` disables thinking.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
NONE = EFFORTS[0]

#: The number of tokens that a call may use for thinking, in addition to the tokens of the reply, because vendors count
#: both together.
THINKING_TOKENS: Mapping[str, int] = {
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 32_768,
}

#: All values that vendors use, in ascending order.
_WORDS = (*EFFORTS, "max")
_LISTED = regex(r"(?:supported|valid|allowed|accepted|expected|one of|choose)\b[^.]*", re.IGNORECASE)
_WORD = regex(rf"\b({'|'.join(_WORDS)})\b")


def thinking_tokens(effort: str | None) -> int:
    """Return the number of tokens for thinking that this effort adds to a call."""
    return THINKING_TOKENS.get(effort or "", 0)


def nearest(effort: str, accepted: Collection[str]) -> str | None:
    """Return the accepted value that is closest to the effort, or the lower one of two equally close values. If the
    effort allows thinking, never return `none`. Return None if no accepted value remains."""
    wanted = _WORDS.index(effort)
    words = [word for word in _WORDS if word in accepted and (effort == NONE or word != NONE)]
    return min(words, key=lambda word: abs(_WORDS.index(word) - wanted), default=None)


def named_efforts(refusal: str, sent: str) -> tuple[str, ...]:
    """Return the efforts that a vendor lists as accepted in its refusal of `sent`, in ascending order."""
    words = {word for listed in _LISTED.findall(refusal) for word in _WORD.findall(listed)} - {sent}
    return tuple(word for word in _WORDS if word in words)
