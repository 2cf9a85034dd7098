"""Texts that are hard to split, and the rules that hold for the parts of every text."""

from __future__ import annotations

import html
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from wcwidth import iter_graphemes

from connectors.formatting.splitting import split
from connectors.formatting.units import ends_grapheme, utf16_length

LINKS = ("[the docs](https://x.example/a_b?c=d#e)", "https://y.example/~f/g.h", "`code with words`", "[![i](a/b)](c)")
CHARACTERS = (
    *("👩‍👩‍👧‍👦", "🇩🇪", "🇫🇷🇮🇹", "👍🏽", "e\u0301", "한국어", "\u1112\u1161\u11ab", "क्षि", "நி", "1\ufe0f\u20e3"),
    *(
        "z\u0335\u0321\u0334",
        "🏴\U000e0067\U000e0062\U000e007f",
        "กำ",
        "東京",
        "\u0600\u0661",
        "\u200d",
        "\u200b",
        "\u00ad",
    ),
)
FENCES = (
    *(
        "\n```\n",
        "\n```py\n",
        "\n~~~\n",
        "\n````\n",
        "\n  ```js\n",
        "\n- ```sh\n",
        "\n> ```\n> x\n> ```\n",
        "```x",
        "\n``` a",
    ),
    *("\n```\n```\n", "\n```" + "i" * 60 + "\n", "\n    ```\n", "``` ", "\n1. ~~~~ q\n"),
)
WORDS = (
    "a",
    "words",
    "sentence. ",
    "line\n",
    "paragraph\n\n",
    " ",
    "  ",
    "\t",
    "\r\n",
    "。",
    "x" * 37,
    "- item\n",
    "# head\n",
)
MARKS = ("`", "``", "[", "](", ")", "**", "\\", "<", ">", "~", "|", "&", "\n> quote\n", "\n| a | b |\n", "# ", "1. ")

MEASURES: Mapping[str, Callable[[str], int]] = {
    "characters": len,
    "utf16": utf16_length,
    "escaped": lambda text: len(html.escape(text, quote=False)),
}

_OPENING = re.compile(r"[ \t>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?(`{3,}|~{3,})(.*)", re.DOTALL)
_CLOSING = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t\r]*")
_MARKS = re.compile(r"[ \t>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?(?:`+|~+)")
_SPACE = re.compile(r"\s+")


def graphemes(text: str) -> Iterator[str]:
    """Yield the clusters of a text in order, by the splitter's rule."""
    start = 0
    for at in range(1, len(text)):
        if ends_grapheme(text, at, start):
            yield text[start:at]
            start = at
    if text:
        yield text[start:]


def example(chance: random.Random) -> tuple[str, int, str]:
    """Return a text, a limit and the name of a measure.

    A text holds code or links, not both, because a link in code is not a link.
    """
    kinds = [WORDS, CHARACTERS, MARKS, FENCES] if chance.random() < 0.6 else [WORDS, CHARACTERS, LINKS]
    few = [chance.choice(chance.choice(kinds)) for _ in range(chance.randint(2, 10))]
    pieces = chance.choices(few, k=chance.randint(1, 120))
    spaced = [f" {piece} " if piece in LINKS else piece for piece in pieces]
    return "".join(spaced), chance.choice([60, 61, 80, 120, 300]), chance.choice(sorted(MEASURES))


def broken_rules(text: str, limit: int, measure_name: str) -> list[str]:
    """Return the rules that do not hold for the parts of a text."""
    measure = MEASURES[measure_name]
    parts = split(text, limit, measure)
    rules = {
        "there is a part": bool(parts),
        "no part is too long": all(measure(part) <= limit for part in parts),
        "no part is blank": parts == [""] or all(part.strip() for part in parts) or len(parts) == 1,
        "a short text stays as it is": measure(text) > limit or parts == [text],
        "together they are the text": _make_up(parts, text),
        "every fence is closed": all(map(_is_balanced, parts[:-1])) or _has_endless_line(text, limit, measure),
        "no character is cut": not _lost_clusters(parts, text, limit),
        "no link is cut": _has_code(text) or all(_count(parts, link) == text.count(link) for link in LINKS),
    }
    return [rule for rule, holds in rules.items() if not holds]


def _make_up(parts: Sequence[str], text: str) -> bool:
    """Return whether the parts make up the text, apart from white space and the fences that the splitter may have
    added at the cuts."""
    wanted, ends = _squeezed(text), {0}
    for part in parts:
        lines = part.split("\n")
        firsts = (0, 1) if len(lines) > 1 and _OPENING.fullmatch(lines[0]) else (0,)
        lasts = (0, 1) if len(lines) > 1 and _CLOSING.fullmatch(lines[-1]) else (0,)
        shapes = {_squeezed("\n".join(lines[first : len(lines) - last])) for first in firsts for last in lasts}
        ends = {end + len(shape) for end in ends for shape in shapes if wanted.startswith(shape, end)}
    return len(wanted) in ends


def _squeezed(text: str) -> str:
    return _SPACE.sub("", text)


def _is_balanced(part: str) -> bool:
    opened = ""
    for line in part.split("\n"):
        if opened:
            closed = _CLOSING.fullmatch(line)
            opened = "" if closed and closed[1].startswith(opened) else opened
        elif (found := _OPENING.fullmatch(line)) and "```" not in found[2]:
            opened = found[1]
    return not opened


def _has_endless_line(text: str, limit: int, measure: Callable[[str], int]) -> bool:
    """Return whether a line has marks that take much of the limit, or a fence that occurs again in the same line."""
    long = any(measure(marks[0]) > limit // 6 for marks in _MARKS.finditer(text))
    return long or re.search(r"(?m)^.*(```|~~~).*```", text) is not None


def _lost_clusters(parts: Sequence[str], text: str, limit: int) -> Counter[str]:
    def clusters(of: str) -> Counter[str]:
        found = (cluster for cluster in iter_graphemes(of) if 1 < len(cluster) < limit // 8)
        return Counter(cluster for cluster in found if not re.search(r"[\s\x00-\x1f]", cluster))

    if any(len(cluster) > limit // 4 for cluster in graphemes(text)):
        return Counter()
    return clusters(text) - sum(map(clusters, parts), Counter[str]())


def _has_code(text: str) -> bool:
    return "```" in text or "~~~" in text


def _count(parts: Sequence[str], link: str) -> int:
    return sum(part.count(link) for part in parts)
