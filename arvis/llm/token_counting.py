"""Keeps calls within their windows: the runner's knowledge about token counts and window sizes of models.

Kept here for all runs of this process; the caller stores the rows, as with cooldowns.
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

#: The least room for a reply, in tokens; a model with less is not called.
SMALLEST_REPLY = 256

#: The assumed window of an unknown model.
_UNKNOWN_WINDOW = 200_000

#: The plausible range of a vendor's limit, in tokens; other numbers are ignored.
_LIMITS = range(512, 1 << 25)

#: Error texts with the limit of a refused prompt: OpenAI and compatible servers, Anthropic, Google, llama.cpp, xAI,
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
    """Measures requests, counts measures, and knows windows."""

    def measure(self, request: RunRequest) -> Measure: ...

    def tokens(self, measure: Measure, calibration: Calibration | None) -> int:
        """Return the tokens, rather too many."""
        ...

    def window(self, provider: str, model: str, learnt: int | None) -> int:
        """Return the window in tokens; `learnt` is the vendor's value."""
        ...

    def reply(self, provider: str, model: str) -> tuple[int | None, bool]:
        """Return the longest reply in tokens (None: unknown), and whether the value is for this exact model."""
        ...


class Counts:
    """Knows counts and windows. Without `counting` it knows none, and no request is too long."""

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
        """Return the most tokens of a reply. Raise `ProviderError` of kind `too_long` if there is no room."""
        window, tokens = self.window(choice), 0
        if self._counting is not None:
            tokens = self._counting.tokens(measure, self._known.get(key_of(choice)))
        # The other half covers errors of the estimate: vendors count the requested reply into the window.
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
