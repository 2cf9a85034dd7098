"""No call exceeds a window: what the runner knows of how models count and how much they hold.

Held here for all runs of this process; the caller keeps the rows, as with rests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.measures import Measure
from arvis.domain.runs import RunRequest
from arvis.llm.candidates import Choice
from arvis.ports.compactions import Calibration

#: A model that has no room for so many tokens of reply is not asked.
SMALLEST_REPLY = 256

#: What a model is said to hold where nothing is known of any.
_UNKNOWN_WINDOW = 200_000

#: What a vendor may name as its limit, in tokens; anything else is not one.
_LIMITS = range(512, 1 << 25)

#: How vendors name it when they refuse a prompt: OpenAI and whoever speaks like it, Anthropic, Google, llama.cpp, xAI,
#: Mistral, LM Studio and our own Ollama.
_NUMBER = r"\(?(\d[\d,]{2,})"
_NAMED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"maximum (?:allowed )?(?:context|prompt|input|model) (?:length|window|size)(?: is| of|:)? ?{_NUMBER}",
        rf"> ?{_NUMBER}(?: maximum)?",
        rf"maximum number of (?:input )?tokens allowed(?: is| of|:)? ?{_NUMBER}",
        rf"context (?:length|window|size|limit)(?: is| of|:)?(?: only)? ?{_NUMBER}",
        rf"{_NUMBER} maximum context length",
        rf"max_(?:seq|model)_len(?:gth)? ?{_NUMBER}",
        rf"\bholds {_NUMBER}",
    )
)


class Counting(Protocol):
    """How requests are measured, measures counted, and windows known."""

    def measure(self, request: RunRequest) -> Measure: ...

    def tokens(self, measure: Measure, calibration: Calibration | None) -> int:
        """Rather too many."""
        ...

    def window(self, provider: str, model: str, learnt: int | None) -> int:
        """In tokens; `learnt` is what the vendor told."""
        ...

    def reply(self, provider: str, model: str) -> tuple[int | None, bool]:
        """Return the longest reply in tokens (None: not known), and whether it is said of this very model."""
        ...


class Counts:
    """Without `counting` nothing is known, and no request is too long."""

    def __init__(self, counting: Counting | None = None) -> None:
        self._counting = counting
        self._known: dict[str, Calibration] = {}

    def learn(self, calibrations: Iterable[Calibration]) -> None:
        """Take over what is stored."""
        self._known.update((calibration.model, calibration) for calibration in calibrations)

    def reply(self, choice: Choice) -> int | None:
        """Return the longest reply of this model in tokens; None where nothing is configured."""
        return self._counting.reply(choice.account.provider, choice.model)[0] if self._counting is not None else None

    def reply_cap(self, choice: Choice) -> int | None:
        """Return the same where the configuration names this very model: no call of it may ask for more."""
        if self._counting is None:
            return None
        tokens, named = self._counting.reply(choice.account.provider, choice.model)
        return tokens if named else None

    def window(self, choice: Choice) -> int:
        if self._counting is None:
            return _UNKNOWN_WINDOW
        known = self._known.get(key_of(choice))
        return self._counting.window(choice.account.provider, choice.model, known.most if known else None)

    def measure(self, request: RunRequest) -> Measure:
        return Measure() if self._counting is None else self._counting.measure(request)

    def room(self, choice: Choice, measure: Measure) -> int:
        """How many tokens a reply may have at most. Raises `ProviderError` of kind `too_long` when there is no room."""
        window, tokens = self.window(choice), 0
        if self._counting is not None:
            tokens = self._counting.tokens(measure, self._known.get(key_of(choice)))
        # The other half is for what the estimate may miss: vendors count the reply that is asked for into the window.
        room = (window - tokens) // 2
        if room < SMALLEST_REPLY:
            text = f"the prompt needs some {tokens} tokens, and {choice.model} holds {window}, the reply included"
            raise ProviderError(ProviderErrorKind.TOO_LONG, text)
        return room


def key_of(choice: Choice) -> str:
    """The name under which is kept how a model counts: `provider/model`."""
    return f"{choice.account.provider}/{choice.model}"


def limit_in(error: ProviderError) -> int | None:
    """The window that a vendor names in refusing a prompt."""
    if error.kind is not ProviderErrorKind.TOO_LONG:
        return None
    found = (match for pattern in _NAMED if (match := pattern.search(error.what)))
    limits = (int(match[1].replace(",", "")) for match in found)
    return next((limit for limit in limits if limit in _LIMITS), None)
