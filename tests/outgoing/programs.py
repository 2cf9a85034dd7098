"""The addresses that chat programs load or open for a text: in Markdown with HTML, and in plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from markdown_it.token import Token

#: Attributes of HTML whose addresses are loaded without a click.
_LOADING = frozenset({"src", "srcset", "poster", "background", "data"})
#: An address that names a host or a program. Others lead to the site that shows the text.
_COMPLETE = re.compile(r"[a-z][a-z0-9+.-]*:|//|(?:[\w-]+\.)+\w", re.IGNORECASE)
_STYLE = re.compile(r"url\(\s*['\"]?([^'\")]+)", re.IGNORECASE)
#: Addresses that programs make to links: with a scheme, with `www.`, as a host with a path, and as a host of a domain.
#: Some programs end an address at a quotation mark, others at a space.
_LINKED = re.compile(
    r"(?:https?://|\bwww\.)[^\s<]+|(?<![\w@/.-])(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?/[^\s<]+"
    r"|(?<![\w@/.-])(?:[\w-]+\.){2,}[a-z]{2,}|(?<=[\"'|])https?://[^\s<]+",
    re.IGNORECASE,
)
_CODE = re.compile(r"```.*?```", re.DOTALL)
_MARKDOWN = MarkdownIt("commonmark", {"html": True})


@dataclass
class Reached:
    """The addresses of a text."""

    #: Loaded when the text is shown.
    loaded: set[str] = field(default_factory=set)
    #: Opened by a click.
    linked: set[str] = field(default_factory=set)


def reached_by(text: str) -> Reached:
    found = Reached()
    found.linked |= set(_LINKED.findall(_CODE.sub("", text)))  # programs with less of Markdown
    for token in _tokens(_MARKDOWN.parse(text)):
        match token.type:
            case "image":
                found.loaded.add(str(token.attrGet("src")))
            case "link_open" if _COMPLETE.match(target := str(token.attrGet("href"))):
                found.linked.add(target)
            case "html_inline" | "html_block":
                _Elements(found).feed(token.content)
            case "text":
                found.linked |= set(_LINKED.findall(token.content))
    return found


def _tokens(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield all tokens. Neighbouring texts are joined, as programs search the joined text for addresses."""
    joined = ""
    for token in tokens:
        if token.type in {"text", "text_special"}:
            joined += token.content
            continue
        if joined:
            yield Token("text", "", 0, content=joined)
            joined = ""
        yield token
        yield from _tokens(token.children or ())
    if joined:
        yield Token("text", "", 0, content=joined)


class _Elements(HTMLParser):
    def __init__(self, found: Reached) -> None:
        super().__init__()
        self._found = found

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in _LOADING:
                self._found.loaded.add(value or "")
            if name == "href":
                (self._found.loaded if tag == "link" else self._found.linked).add(value or "")
            self._found.loaded |= set(_STYLE.findall(value or "")) if name == "style" else set()
