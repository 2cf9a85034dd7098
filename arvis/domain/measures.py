"""Sizes of texts and requests, for the estimate of tokens: characters by script, words, messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """Counts of a text or a request. In ASCII, `letters` counts letters and blanks, `marks` everything else, such as
    digits and brackets. `dense` counts Chinese, Japanese, Korean and pictographs; `others` counts all other scripts.
    `words` counts the parts between blanks. `messages` counts the messages of a request including its system text,
    `requests` the request itself: both cost some tokens regardless of their content."""

    letters: int = 0
    marks: int = 0
    words: int = 0
    dense: int = 0
    others: int = 0
    messages: int = 0
    requests: int = 0
    pictures: int = 0

    def __add__(self, other: Measure) -> Measure:
        return Measure(
            self.letters + other.letters,
            self.marks + other.marks,
            self.words + other.words,
            self.dense + other.dense,
            self.others + other.others,
            self.messages + other.messages,
            self.requests + other.requests,
            self.pictures + other.pictures,
        )
