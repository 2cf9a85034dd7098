"""Convert a web page to text for a model: title, headings, paragraphs, lists, tables, links as `text (address)`.

It uses the standard library's parser, which builds no tree: deep nesting costs nothing, and reading stops when there is
enough text. Invisible parts (scripts, styles, hidden elements) and navigation are left out.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin

_BLANKS = re.compile(r"\s+")
#: Elements that are left out with their content.
_UNSEEN = frozenset(
    {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "datalist"}
)
_MENUS = frozenset({"nav"})
#: Elements that authors always close. If such an element is hidden, its content ends at its closing tag.
_CLOSED = frozenset(
    {"div", "span", "section", "article", "aside", "header", "footer", "main", "ul", "ol", "table", "form"}
)
_LINES = frozenset(
    {"address", "article", "aside", "caption", "dd", "div", "dt", "fieldset", "figcaption", "figure", "footer", "form"}
    | {"header", "hr", "legend", "main", "section", "summary", "tr", "option", "details", "dialog", "center"}
)
_PARAGRAPHS = frozenset({"p", "blockquote", "table", "pre", "dl"})
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu"})
_LONGEST_LINK = 300


def page_text(html: str, *, base: str, limit: int) -> tuple[str, str, bool]:
    """Return the title and the text of a page, and True if the text was cut after about `limit` characters. Links are
    relative to the address `base`."""
    reader = _read(html, base, limit, _UNSEEN | _MENUS)
    if not reader.text and not reader.enough:
        # A menu without a closing tag hides the whole page. In this case, read the page again with its menus.
        reader = _read(html, base, limit, _UNSEEN)
    return reader.title, reader.text, reader.enough


def _read(html: str, base: str, limit: int, unseen: frozenset[str]) -> _Reader:
    reader = _Reader(base=base, limit=limit, unseen=unseen)
    try:
        # `close` is never called, because its time grows with the square of the length of an unfinished tag at the end.
        reader.feed(html)
    except _Enough:
        reader.enough = True
    return reader


class _Enough(Exception):
    """The signal that enough text was collected."""


class _Paper:
    """The collected text. Blanks and line breaks are added only before further text."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._parts: list[str] = []
        self._breaks = 0
        self._space = False
        self._before = ""
        self.length = 0

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def words(self, text: str) -> None:
        squeezed = _BLANKS.sub(" ", text)
        self._space = self._space or squeezed.startswith(" ")
        if inner := squeezed.strip(" "):
            self.exactly(inner)
            self._space = squeezed.endswith(" ")

    def exactly(self, text: str) -> None:
        if self._parts:
            self._put("\n" * self._breaks or " " * self._space)
        self._put(self._before + text)
        self._breaks, self._space, self._before = 0, False, ""

    def line(self, breaks: int = 1, *, before: str = "") -> None:
        """Begin the following text on its own line. If any text follows, write `before` in front of it."""
        self._breaks = max(self._breaks, breaks)
        self._before = before

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self.length += len(text)
        if self.length > self._limit:
            raise _Enough


class _Reader(HTMLParser):
    def __init__(self, *, base: str, limit: int, unseen: frozenset[str]) -> None:
        super().__init__(convert_charrefs=True)
        self._base = self._given = base
        self._page = urldefrag(base)[0]
        self._unseen = unseen
        self._paper = _Paper(limit=limit)
        self._title: list[str] = []
        self._in_title = False
        self._skipped = ""
        self._skipped_depth = 0
        self._lists: list[int | None] = []
        self._cells = 0
        self._verbatim = 0
        self._link: tuple[str, int] | None = None
        self.enough = False

    @property
    def title(self) -> str:
        return _BLANKS.sub(" ", "".join(self._title)).strip()

    @property
    def text(self) -> str:
        return self._paper.text

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skipped:
            self._skipped_depth += tag == self._skipped
        elif tag in self._unseen or (tag in _CLOSED and _is_hidden(dict(attrs))):
            self._skipped, self._skipped_depth = tag, 1
        else:
            self._begin(tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # `<div/>` is not HTML, but SVG and XHTML contain such elements; they have no content.
        if not self._skipped and tag not in self._unseen:
            self._begin(tag, dict(attrs))
            self._end(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._skipped:
            self._end(tag)
        elif tag == self._skipped:
            self._skipped_depth -= 1
            if self._skipped_depth == 0:
                self._skipped = ""

    def handle_data(self, data: str) -> None:
        if self._skipped:
            return
        if self._in_title:
            self._title.append(data[:500])
        elif self._verbatim and data.strip():
            self._paper.exactly(data.strip("\n"))
        else:
            self._paper.words(data)

    def _begin(self, tag: str, attributes: dict[str, str | None]) -> None:
        match tag:
            case "title":
                self._in_title = not self._title
            case "base":
                self._set_base(attributes.get("href"))
            case "a":
                self._end_link()
                self._link = (_joined(self._base, attributes.get("href")), self._paper.length)
            case "br":
                self._paper.line()
            case "img":
                if alt := (attributes.get("alt") or "").strip():
                    self._paper.words(f"[{alt[:200]}]")
            case "li":
                self._paper.line(before=self._bullet())
            case "td" | "th":
                if self._cells:
                    self._paper.words(" | ")
                self._cells += 1
            case _:
                self._begin_block(tag)

    def _begin_block(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._paper.line(2, before=_HEADINGS[tag])
        elif tag in _LISTS:
            self._paper.line(1 if self._lists else 2)
            self._lists.append(0 if tag == "ol" else None)
        elif tag in _PARAGRAPHS:
            self._paper.line(2)
            self._verbatim += tag == "pre"
        elif tag in _LINES:
            self._paper.line()
            self._cells = 0

    def _end(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag == "a":
            self._end_link()
        elif tag in _LISTS:
            self._lists[-1:] = []
            self._paper.line(1 if self._lists else 2)
        elif tag in _PARAGRAPHS or tag in _HEADINGS:
            self._paper.line(2)
            self._verbatim = max(0, self._verbatim - (tag == "pre"))
        elif tag in _LINES:
            self._paper.line()

    def _set_base(self, href: str | None) -> None:
        """Set the address that links are relative to. Ignore every address after the first one of the page, and any
        address with more than `_LONGEST_LINK` characters."""
        if self._base == self._given and href and len(href) <= _LONGEST_LINK:
            self._base = _joined(self._given, href) or self._given

    def _bullet(self) -> str:
        indent = "  " * min(len(self._lists) - 1, 8)
        number = self._lists[-1] if self._lists else None
        if number is None:
            return f"{indent}- "
        self._lists[-1] = number + 1
        return f"{indent}{number + 1}. "

    def _end_link(self) -> None:
        if self._link is None:
            return
        (address, start), self._link = self._link, None
        shown = address and len(address) <= _LONGEST_LINK and urldefrag(address)[0] != self._page
        if shown and self._paper.length > start:
            self._paper.words(f" ({address}) ")


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    style = _BLANKS.sub("", attributes.get("style") or "").lower()
    return "hidden" in attributes or "display:none" in style or "visibility:hidden" in style


def _joined(base: str, href: str | None) -> str:
    """Return the address of a link; "" if it does not lead to a web page."""
    try:
        address = urljoin(base, (href or "").strip())
    except ValueError:
        return ""
    return address if href and address.startswith(("http://", "https://")) else ""
