"""Decide by its beginning and its end if a partial transcript is a complete utterance. The words that show this are
data, by language (`utterances.json`)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from arvis.domain.errors import ConfigError

#: Characters that may follow the end of a sentence.
_QUOTES = "\"'”’»)]」』 "  # noqa: RUF001 - a quotation mark


@dataclass(frozen=True, slots=True)
class UtteranceDetector:
    """Detects complete utterances. `ends` are the ends of sentences, `starts` and `closings` match the beginning of
    an utterance and the closing of a conversation."""

    ends: tuple[str, ...]
    starts: re.Pattern[str]
    closings: re.Pattern[str]

    def ends_sentence(self, text: str) -> bool:
        return text.rstrip(_QUOTES).endswith(self.ends)

    def is_whole(self, text: str) -> bool:
        """Return whether the speaker may have finished."""
        plain = text.strip().casefold()
        return self.ends_sentence(text) or bool(self.starts.match(plain) or self.closings.search(plain))


def detector_of(languages: Mapping[str, Mapping[str, Any]]) -> UtteranceDetector:
    """Return the detector for all these languages together. In languages that write blanks, only whole words count."""
    ends = {end for language in languages.values() for end in language["ends"]}
    starts = [_phrase(each, language, before="", after=r"(?!\w)") for language, each in _each(languages, "starts")]
    closings = [
        _phrase(each, language, before=r"(?<!\w)", after=r"\W*$") for language, each in _each(languages, "closings")
    ]
    return UtteranceDetector(tuple(sorted(ends)), _any_of(starts), _any_of(closings))


def utterance_detector(languages: Collection[str] = ()) -> UtteranceDetector:
    """Return the detector for these languages of the file (none named: all). Raises `ConfigError` for an unknown one."""
    file = resources.files(__package__).joinpath("utterances.json")
    known: dict[str, Mapping[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    if unknown := sorted(set(languages) - known.keys()):
        raise ConfigError(
            f"`speech.buffer.languages` names {unknown[0]!r}, which is not available",
            fix=f"Known are {', '.join(sorted(known))}; leave it empty for all of them.",
        )
    return detector_of({name: known[name] for name in languages or known})


def _each(languages: Mapping[str, Mapping[str, Any]], kind: str) -> list[tuple[Mapping[str, Any], str]]:
    return [(language, phrase) for language in languages.values() for phrase in language[kind]]


def _phrase(phrase: str, language: Mapping[str, Any], *, before: str, after: str) -> str:
    words = re.escape(phrase.casefold())
    if language.get("spaced", True):
        return f"{before}{words}{after}"
    return words if not before else f"{words}{after}"


def _any_of(phrases: list[str]) -> re.Pattern[str]:
    """Return a pattern for any of these phrases; without phrases it matches nothing."""
    return re.compile("|".join(phrases) if phrases else r"(?!)")
