"""Cleans the texts of people for prompts: invisible characters and needless empty lines are removed, and a text that is
too long is cut."""

from __future__ import annotations

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex

#: The maximum number of characters of a message in a prompt.
LONGEST = 100_000

#: Letters of scripts in which the zero-width joiner and non-joiner change the shape of a word: Arabic and related
#: scripts, the scripts of India, and neighbouring scripts.
_JOINED = "\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc"
#: Symbols that a zero-width joiner combines into one picture, and the signs that change the style of a symbol.
_PICTURES = "\u2190-\u2bff\u3030\u303d\ufe0f\U0001f000-\U0001faff"
#: The flag emoji of a region. Invisible characters in it name the region. Elsewhere such characters only hide text from
#: people.
_REGION_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f"
#: Control characters, characters without width, and characters that change the direction of writing.
_UNSEEN = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
    f"|(?<![{_JOINED}])\u200c"
    f"|(?<![{_JOINED}])\u200d(?!(?<=[{_PICTURES}]\u200d)[{_PICTURES}])"
)
_REMOVED = regex(f"({_REGION_FLAG})|{_UNSEEN}")
#: Characters that become a space: line and paragraph separators, the narrow space, and the carriage return. Tabs stay,
#: because they may be indentation.
_GAPS = regex("[\u2028\u2029\u202f\r]")
#: The empty lines at the beginning of a text, without the blanks at the beginning of the first line with text.
_EMPTY_LINES = regex(r"\A(?:[ \t]*\n)+")
#: A text without these characters and without several empty lines in a row needs no cleaning. This test saves time,
#: because a prompt may contain a hundred messages.
_DOUBTFUL = regex(
    "[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u2028-\u202f\u2066-\u2069\ufeff\U000e0000-\U000e007f]|\n[ \t]*\n[ \t]*\n"
)
_FENCE = regex(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Sanitised:
    """The cleaned text of a message. `truncated`: the text was cut to `LONGEST` characters."""

    text: str
    truncated: bool


def sanitise(text: str) -> Sanitised:
    """Return the text without invisible characters. Several empty lines in a row become one. Spaces, code between
    fences, and zero-width joiners that a writing system or an emoji needs stay unchanged."""
    if len(text) <= LONGEST and not _DOUBTFUL.search(text):
        return Sanitised(_trimmed(text), truncated=False)
    lines: list[str] = []
    fence = ""
    for raw in text.split("\n"):
        line = raw if fence else _clean(raw)
        if not fence and not line.strip() and lines and not lines[-1].strip():
            continue
        lines.append(line)
        fence = _fence_after(line, fence)
    cleaned = _trimmed("\n".join(lines))
    return Sanitised(cleaned[:LONGEST].rstrip(), truncated=len(cleaned) > LONGEST)


def _trimmed(text: str) -> str:
    """Return the text without empty lines and blanks around it. If it has several lines, the blanks of its first line
    stay, because they may be indentation."""
    trimmed = _EMPTY_LINES.sub("", text).rstrip()
    return trimmed if "\n" in trimmed else trimmed.strip()


def _clean(line: str) -> str:
    return _GAPS.sub(" ", _REMOVED.sub(r"\1", line.removesuffix("\r")))


def _fence_after(line: str, fence: str) -> str:
    """Return the code fence that is open after this line, or "". A closing fence is at least as long as the opening one
    and alone in its line."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return found[1]
    closes = found[1].startswith(fence) and not line[found.end() :].strip()
    return "" if closes else fence
