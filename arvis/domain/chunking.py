"""Division of a document's text into chunks, along its structure: headings, paragraphs, lists, tables, code and pages.

A chunk has about `SIZE` characters. A heading or a new page begins a new chunk if enough text precedes it. Each chunk
contains the path of the headings above it, so that it can be understood and cited alone. If a table is too long for one
chunk, each of its chunks repeats the first row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import Enum, auto

from arvis.domain.dataclass import dataclass
from arvis.domain.knowledge import PATH, NewChunk
from arvis.domain.regex import regex

#: The usual maximum number of characters of a chunk. A chunk at the end of a section may be shorter.
SIZE = 1_200
#: A heading or a page begins a new chunk only if the present chunk has at least this many characters.
LEAST = 300
#: The separator of pages in the text of a document.
PAGE_BREAK = "\f"
#: The maximum length of a heading in a path, the number of innermost headings in a path, and the maximum length of a
#: repeated table row.
_LONGEST_HEADING, _DEEPEST, _LONGEST_ROW = 120, 4, 300
#: A long text is cut at a space only if the piece before it has at least this many characters.
_LEAST_PIECE = 200

_HEADING = regex(r"(#{1,6})\s+(\S.*?)(?:\s+#+)?")
_UNDERLINE = regex(r"(=|-){3,}")
_FENCE = regex(r"(`{3,}|~{3,})[^`]*")
_RULE = regex(r"[\s|:+-]+")
_LINK = regex(r"!?\[([^\]]*)\]\([^)]*\)")
_SENTENCE = regex(r"(?<=[.!?…])(?=\s)|(?<=[。！？])|(?<=\n)")  # noqa: RUF001 the marks of Chinese and Japanese sentences
_MARKUP = str.maketrans("", "", "*`")


class _Kind(Enum):
    HEADING = auto()
    TEXT = auto()
    TABLE = auto()
    CODE = auto()


@dataclass(frozen=True, slots=True)
class _Block:
    kind: _Kind
    text: str
    page: int | None
    #: The level of a heading, from 1.
    level: int = 0


def chunks_of(text: str, title: str, *, markdown: bool) -> Iterator[NewChunk]:
    """Yield the chunks of a text. `PAGE_BREAK` separates the pages of the text. With `markdown`, lines with `#` are
    headings, and fences contain code."""
    pages = text.split(PAGE_BREAK)
    packer = _Packer(title)
    for number, page in enumerate(pages, start=1):
        for block in _Page(number if len(pages) > 1 else None, markdown).blocks(page):
            yield from packer.add(block)
    yield from packer.flush()


def title_in(text: str) -> str:
    """Return the first heading of a Markdown text if nothing precedes it, or ""."""
    first = text.lstrip()[: 4 * _LONGEST_HEADING].partition("\n")[0].rstrip()
    found = _HEADING.fullmatch(first)
    return _words_of(found[2]) if found else ""


@dataclass(slots=True)
class _Packer:
    """Collects blocks until they fill a chunk."""

    title: str
    #: The headings above the next block, with their levels.
    headings: list[tuple[int, str]] = field(default_factory=list)
    #: The present chunk: its blocks, their total length, the page and the headings at its start, and its number.
    parts: list[str] = field(default_factory=list)
    length: int = 0
    page: int | None = None
    path: str = ""
    position: int = 0

    def add(self, block: _Block) -> Iterator[NewChunk]:
        """Add a block, and yield the chunks that are complete."""
        if block.kind is _Kind.HEADING:
            yield from self._head(block)
            return
        if block.page != self.page and self.length >= LEAST:
            yield from self.flush()
        for piece in _pieces(block):
            if self.parts and self.length + len(piece) > SIZE:
                yield from self.flush()
            self._append(piece, block.page)

    def _head(self, block: _Block) -> Iterator[NewChunk]:
        if self.length >= LEAST:
            yield from self.flush()
        heading = _words_of(block.text)
        self.headings = [pair for pair in self.headings if pair[0] < block.level]
        self.headings.append((block.level, heading))
        if self.parts:
            # The previous section is too short for a separate chunk, so this section is added to the same chunk.
            self._append(f"## {heading}", block.page)

    def flush(self) -> Iterator[NewChunk]:
        """Yield the present chunk, if it contains text."""
        if self.parts:
            yield NewChunk(self.position, self.path, "\n\n".join(self.parts), self.page)
            self.position += 1
        self.parts, self.length = [], 0

    def _append(self, piece: str, page: int | None) -> None:
        if not self.parts:
            inner = [heading for _, heading in self.headings if heading != self.title]
            self.path, self.page = PATH.join([self.title, *inner[-_DEEPEST:]]), page
        self.parts.append(piece)
        self.length += len(piece) + 2


@dataclass(slots=True)
class _Page:
    """Divides the lines of a page into blocks."""

    number: int | None
    markdown: bool
    lines: list[str] = field(default_factory=list)
    #: The fence that will end the open code block; "" outside of code.
    fence: str = ""

    def blocks(self, text: str) -> Iterator[_Block]:
        for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
            stripped = line.strip()
            if self.fence:
                yield from self._code(line, stripped)
            elif not self.markdown:
                yield from self._plain(line, stripped)
            else:
                yield from self._marked(line, stripped)
        yield from self._end()

    def _code(self, line: str, stripped: str) -> Iterator[_Block]:
        self.lines.append(line.rstrip())
        if stripped.startswith(self.fence) and not stripped.strip(self.fence[0]):
            yield from self._end()

    def _plain(self, line: str, stripped: str) -> Iterator[_Block]:
        if not stripped or (self.lines and _is_row(self.lines[-1]) != _is_row(line)):
            yield from self._end()
        if stripped:
            self.lines.append(line.rstrip())

    def _marked(self, line: str, stripped: str) -> Iterator[_Block]:
        if (opened := _FENCE.fullmatch(stripped)) is not None:
            yield from self._end()
            self.lines, self.fence = [stripped], opened[1]
        elif (heading := _HEADING.fullmatch(stripped)) is not None:
            yield from self._end()
            yield _Block(_Kind.HEADING, heading[2], self.number, len(heading[1]))
        elif len(self.lines) == 1 and not _is_row(self.lines[0]) and _UNDERLINE.fullmatch(stripped):
            yield _Block(_Kind.HEADING, self.lines[0].strip(), self.number, 1 if stripped[0] == "=" else 2)
            self.lines = []
        else:
            yield from self._plain(line, stripped)

    def _end(self) -> Iterator[_Block]:
        """Yield the present block, if there is one."""
        if self.lines:
            kind = _Kind.CODE if self.fence else _Kind.TABLE if _is_row(self.lines[0]) else _Kind.TEXT
            yield _Block(kind, "\n".join(self.lines), self.number)
        self.lines, self.fence = [], ""


def _is_row(line: str) -> bool:
    return " | " in line or line.lstrip().startswith("|")


def _pieces(block: _Block) -> Iterator[str]:
    """Yield a block in pieces of at most `SIZE` characters, or a little more for repeated rows of a table."""
    if len(block.text) <= SIZE:
        if block.text.strip():
            yield block.text.strip("\n")
        return
    if block.kind is _Kind.TEXT:
        yield from _packed(_SENTENCE.split(block.text), "", "")
        return
    lines = block.text.split("\n")
    head = ""
    if block.kind is _Kind.TABLE and len(lines[0]) <= _LONGEST_ROW:
        head = lines[0]
        if len(lines) > 1 and len(lines[1]) <= _LONGEST_ROW and _RULE.fullmatch(lines[1]):
            head = f"{head}\n{lines[1]}"
    yield from _packed(lines, "\n", head)


def _packed(units: Sequence[str], between: str, head: str) -> Iterator[str]:
    """Join units to pieces of at most `SIZE` characters. Each piece after the first one begins with `head`."""
    parts: list[str] = []
    length = 0
    for unit in (each for whole in units for each in _cut(whole)):
        if parts and length + len(unit) > SIZE:
            yield between.join(parts).strip()
            parts, length = ([head], len(head)) if head else ([], 0)
        if unit.strip():
            parts.append(unit)
            length += len(unit) + len(between)
    if parts:
        yield between.join(parts).strip()


def _cut(unit: str) -> Iterator[str]:
    """Yield a unit in pieces of at most `SIZE` characters, which end between words if possible."""
    start = 0
    while len(unit) - start > SIZE:
        end = unit.rfind(" ", start + _LEAST_PIECE, start + SIZE)
        end = start + SIZE if end < 0 else end
        yield unit[start:end]
        start = end
    yield unit[start:] if start else unit


def _words_of(heading: str) -> str:
    return " ".join(_LINK.sub(r"\1", heading).translate(_MARKUP).split())[:_LONGEST_HEADING]
