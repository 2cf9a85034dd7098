"""Token estimates before a provider has told the true count: on the safe side, by script, without a table."""

from __future__ import annotations

import re

ASCII_PER_TOKEN = 3.5
#: Chinese, Japanese, Korean and pictographs: more than a token each (behaviour 1.5, by script).
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U0001f000-\U0001faff\U00020000-\U0003ffff]")
DENSE_TOKENS = 1.2
OTHER_TOKENS = 0.6


def estimate_tokens(text: str) -> int:
    """At least as many tokens as a text is likely to be; 0 only for an empty text."""
    if text.isascii():
        return _up(len(text) / ASCII_PER_TOKEN)
    dense = len(_DENSE.findall(text))
    plain = len(text.encode("ascii", "ignore"))
    others = len(text) - dense - plain
    return _up(plain / ASCII_PER_TOKEN + dense * DENSE_TOKENS + others * OTHER_TOKENS)


def _up(tokens: float) -> int:
    return int(-(-tokens // 1))
