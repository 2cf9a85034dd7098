"""The words by which messages are found, and queries for them. The words are computed here, so that SQLite and PostgreSQL
find the same messages, in every script (docs/adr/0061).

Case, width, accents, vowel points and invisible characters are ignored. In scripts without spaces between words, each
pair of adjacent characters is a word, and so is the last character of such a text. So a query for one character finds
all words that begin with it, and a query for several characters is a phrase of their pairs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

from arvis.domain.dataclass import dataclass
from arvis.domain.memory import DENSE_SCRIPTS
from arvis.domain.regex import regex
from arvis.domain.stop_words import languages_of, without_stop_words
from arvis.domain.text import storable

#: The version of the rules in this module. If it differs from the version of the stored index, all messages are indexed
#: again.
RULES = 2
#: The maximum numbers of characters and words of a message that are indexed.
MOST_TEXT = 100_000
MOST_WORDS = 16_000
#: The maximum length of a word, and the maximum number of terms in a query.
_MOST_LETTERS = 64
_MOST_TERMS = 16
#: A word of a query with at least this many letters also finds longer words. A shorter word would find too many words.
SHORTEST_BEGINNING = 3
#: A text with at least this many words, or with more characters of a script without spaces, is a sentence.
_SENTENCE, _DENSE_SENTENCE = 3, 6
#: The first character of the words of names. No word of a text begins with it.
NAME = "@"

_DENSE = "".join(f"{chr(first)}-{chr(last)}" for first, last in DENSE_SCRIPTS)
_PICTURES = "\u2600-\u27bf\U0001f000-\U0001faff"
#: Combining characters that are part of words, in Hebrew, Arabic, Syriac, the scripts of India, and Tibetan.
_MARKS = (
    "\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0711-\u074a\u0900-\u0963\u0966-\u0dff\u0f18-\u0fbc"
)
_RUN = regex(
    rf"(?P<dense>[{_DENSE}]+)|(?P<picture>[{_PICTURES}])|(?P<word>(?:[^\W_{_DENSE}]|[{_MARKS}])+)(?P<tail>[+#]{{1,2}}(?!\w))?"
)
_ASCII = regex("[a-z0-9]+")
#: Characters that make no difference: accents, the vowel points of Hebrew and Arabic, and invisible characters.
_IGNORED = regex(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u064b-\u065f\u0670\u0640"
    "\u00ad\u200b-\u200f\u2060-\u2064\ufe0e\ufe0f\ufeff]"
)
_QUOTED_OR_PLAIN = regex(r'["“„”]([^"“„”]*)["“”]|([^\s"“„”]+)')


@dataclass(frozen=True, slots=True)
class Term:
    """Words that must follow one another in a message. With `begins`, the last word may be the beginning of a longer
    word."""

    words: tuple[str, ...]
    begins: bool

    def is_in(self, words: Sequence[str]) -> bool:
        if len(self.words) == 1 and not self.begins:
            return self.words[0] in words
        return any(self._is_at(words, place) for place in range(len(words) - len(self.words) + 1))

    def _is_at(self, words: Sequence[str], place: int) -> bool:
        *first, last = self.words
        found = words[place + len(first)]
        fits = found.startswith(last) if self.begins else found == last
        return fits and all(words[place + number] == word for number, word in enumerate(first))


@dataclass(frozen=True, slots=True)
class Search:
    """A query for messages. A message must contain all `terms` (or one of them if `any_term`) and all of `phrases`.
    With `names`, a term may also be in the names of the person and of the channel. `principal_id` limits the search to
    the messages of one person and the replies to them, and `conversation_id` to one conversation. A search for chunks
    of documents is limited only by `collections` (ids)."""

    terms: tuple[Term, ...]
    phrases: tuple[Term, ...] = ()
    any_term: bool = False
    names: bool = False
    principal_id: str | None = None
    conversation_id: str | None = None
    collections: tuple[str, ...] = ()

    def fits(self, content: str, names: Sequence[str]) -> bool:
        """Return whether a text with these names contains the terms and phrases. The caller checks the person and the
        conversation."""
        words = message_words(content)
        by_name = [word for name in names for word in message_words(name)] if self.names else []
        found = (term.is_in(words) or term.is_in(by_name) for term in self.terms)
        return (any(found) if self.any_term else all(found)) and all(phrase.is_in(words) for phrase in self.phrases)


@dataclass(frozen=True, slots=True)
class Question:
    """A question for which messages are ranked. A message may contain any of `words`, and must contain all `phrases`, the
    texts in quotes. A word of `beginnings` is a single character of a script without spaces; it finds all words that begin
    with it. `languages` are the codes of the languages in which the question may be. `is_sentence` is False for a few
    search words."""

    words: tuple[str, ...]
    beginnings: tuple[str, ...]
    phrases: tuple[Term, ...]
    languages: tuple[str, ...]
    is_sentence: bool


def message_words(text: str) -> list[str]:
    """Return the words of a text in order. Read only the first `MOST_TEXT` characters."""
    if text.isascii() and "+" not in text and "#" not in text:
        # Most messages contain only such ASCII characters. For these, this branch is five times as fast.
        return [word[:_MOST_LETTERS] for word in _ASCII.findall(text[:MOST_TEXT].lower())[:MOST_WORDS]]
    return list(islice((word for run in _RUN.finditer(_folded(text[:MOST_TEXT])) for word in _words(run)), MOST_WORDS))


def terms_of(query: str) -> tuple[Term, ...]:
    """Return the terms of a query. A text in quotes is one term that is found exactly. Each other word is a term that
    also finds longer words. A query without any letter or digit has no terms."""
    parts = [_term(quoted or plain, exact=bool(quoted)) for quoted, plain in _QUOTED_OR_PLAIN.findall(query)]
    return tuple(dict.fromkeys(term for term in parts if term is not None))[:_MOST_TERMS]


def question_of(text: str, most: int = _MOST_TERMS) -> Question:
    """Return the first `most` words of a question without its stop words, and the texts in quotes, which are found
    exactly."""
    runs = [*_RUN.finditer(_folded(text[:MOST_TEXT]))]
    # The index contains the last character of a run as a word. A question does not need it, because its last pair
    # contains it.
    dense = [run["dense"] for run in runs if run["dense"]]
    whole = [word for run in runs for word in _words(run) if not (run["dense"] and len(word) == 1)][:MOST_WORDS]
    languages = languages_of(whole)
    words = without_stop_words(whole, languages)
    quoted = (_term(quoted, exact=True) for quoted, _ in _QUOTED_OR_PLAIN.findall(text) if quoted)
    return Question(
        words=tuple(words[:most]),
        beginnings=tuple(dict.fromkeys(run for run in dense if len(run) == 1))[:_MOST_TERMS],
        phrases=tuple(dict.fromkeys(term for term in quoted if term is not None))[:_MOST_TERMS],
        languages=tuple(languages),
        is_sentence=len(text.split()) >= _SENTENCE or any(len(run) > _DENSE_SENTENCE for run in dense),
    )


def name_words(names: Iterable[str]) -> list[str]:
    """Return the words of names. Each word begins with `NAME`, so that it cannot be equal to a word of a text."""
    return [NAME + word for name in names for word in message_words(name)]


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", storable(text)).casefold()
    # NFKD has decomposed the syllables of Hangul and some letters of kana. NFC composes them again.
    return unicodedata.normalize("NFC", _IGNORED.sub("", plain))


def _words(run: re.Match[str]) -> Iterator[str]:
    if run["word"]:
        yield run["word"][:_MOST_LETTERS]
        if run["tail"]:
            yield run[0][:_MOST_LETTERS]
    elif run["picture"]:
        yield run["picture"]
    else:
        for one, following in pairwise(run["dense"]):
            yield one + following
        yield run["dense"][-1]


def _term(text: str, *, exact: bool) -> Term | None:
    runs = [*_RUN.finditer(_folded(text[:MOST_TEXT]))]
    if not runs:
        return None
    words = [word for run in runs for word in _words(run)][:MOST_WORDS]
    last = runs[-1]
    if last["dense"]:
        # Leave out the word for the last character, because in a message other characters may follow it. The last pair
        # already contains this character.
        single = len(last["dense"]) == 1
        return Term(tuple(words if single else words[:-1]), single)
    begins = not exact and last["tail"] is None and len(words[-1]) >= SHORTEST_BEGINNING
    return Term(tuple(words), begins)
