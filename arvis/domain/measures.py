"""How large a text or a request is, in what tokens are made of: characters by script, words, messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """Of ASCII, `letters` are letters and blanks and `marks` all else, such as digits and brackets; `dense` are Chinese,
    Japanese, Korean and pictographs, `others` every other script. `words` are what blanks divide. `messages` counts those
    of a request with its system text, `requests` the request itself: both cost some tokens, whatever they hold."""

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
