"""Converts one web page to Markdown: its main part, without menus, banners and hidden elements.

The child program (`arvis/media/child.py`) loads this file. It uses only `justhtml` and the standard library, and
imports no module of Arvis. Each step visits every element once and without recursion, because a hostile page may be
nested 100,000 levels deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urldefrag, urljoin

from justhtml import JustHTML
from justhtml.dom import Element, Text

#: Elements whose content is not shown, or is useless in a text.
_UNSEEN = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "svg",
        "math",
        "iframe",
        "object",
        "canvas",
        "datalist",
        "head",
        "input",
        "select",
        "textarea",
        "button",
        "dialog",
        "audio",
        "video",
        "map",
    ]
)
#: Elements and roles that surround the content of a page.
_AROUND = frozenset(["nav", "aside", "footer"])
_ROLES_AROUND = frozenset(["navigation", "search", "banner", "contentinfo", "complementary", "dialog", "alertdialog"])
#: Words in classes and ids of elements that surround the content. They are hints only, so an element with a large part of
#: the text stays.
_WORDS_AROUND = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|gdpr|sidebar|navbar|navigation|menu|breadcrumbs?|footer|share|social|newsletter|"
    r"related|advert|ads?|promo|skip|sr-only|visually-hidden|toc)(?:[\s_-]|$)",
    re.IGNORECASE,
)
_LARGE_PART = 0.3
#: The ids of the main part of pages without the element `main`.
_MAIN_IDS = frozenset(["content", "main", "main-content", "maincontent", "mw-content-text", "bodyContent", "article"])
#: A main part with fewer characters than this is used only if it has a quarter of the page's text.
_SHORT = 200
_QUARTER = 0.25

#: Elements that become separate blocks.
_BLOCKS = frozenset(
    ["dt", "dd", "caption", "figcaption", "summary", "legend", "table", "thead", "tbody", "tfoot", "tr"]
)
#: Elements that, in a cell of a table, show that the table is only used for the layout of the page.
_IN_LAYOUTS = frozenset(
    ["p", "div", "table", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "section", "article", "form", "center"]
)
_LONGEST_LINK, _LONGEST_ALT, _LONGEST_TITLE = 300, 200, 300
#: The text between two cells of a row.
_BAR = " | "
_BLANKS = re.compile(r"\s+")


def read_page(html: str, url: str) -> Iterator[str]:
    """Yield the title of a page with a line break, and then its text. Links are relative to `url`."""
    document = JustHTML(html, sanitize=False)
    title = document.query_one("title")
    yield f"{_BLANKS.sub(' ', title.to_text() if title is not None else '').strip()[:_LONGEST_TITLE]}\n"
    body = document.query_one("body") or document.root
    base = document.query_one("base[href]")
    if base is not None:
        url = _joined(url, _attributes(base).get("href")) or url
    _drop_unseen(body)
    lengths = _lengths(body)
    main = _main_of(body, lengths)
    if not _drop_around(main, lengths):
        # Removing the surrounding elements would leave no text, for example if a menu has no end tag.
        main = body
    _to_blocks(main, url)
    yield _with_close_rows(main.to_markdown())


def _with_close_rows(text: str) -> str:
    """Return the text without the empty lines between the rows of tables."""
    lines = text.split("\n")
    kept = [
        line
        for number, line in enumerate(lines)
        if line or not (0 < number < len(lines) - 1 and _BAR in lines[number - 1] and _BAR in lines[number + 1])
    ]
    return "\n".join(kept)


def _drop_unseen(root: Any) -> None:
    for node in _elements(root):
        for child in list(node.children):
            if child.name in _UNSEEN or child.name == "#comment" or _is_hidden(child):
                node.remove_child(child)


def _is_hidden(node: Any) -> bool:
    attributes = _attributes(node)
    if not attributes:
        return False
    style = _BLANKS.sub("", attributes.get("style") or "").lower()
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or "display:none" in style
        or "visibility:hidden" in style
    )


def _lengths(root: Any) -> dict[int, int]:
    """Return the number of characters of text in each element, by the identity of the element."""
    order = list(_elements(root))
    lengths: dict[int, int] = {}
    for node in reversed(order):
        texts = (len((each.data or "").strip()) for each in node.children if isinstance(each, Text))
        lengths[id(node)] = sum(texts) + sum(lengths.get(id(each), 0) for each in node.children)
    return lengths


def _main_of(body: Any, lengths: dict[int, int]) -> Any:
    """Return the element with the main part of the page; `body` if there is no such element."""
    mains, articles = [], []
    for node in _elements(body):
        attributes = _attributes(node)
        if node.name == "main" or attributes.get("role") == "main" or attributes.get("id") in _MAIN_IDS:
            mains.append(node)
        elif node.name == "article":
            articles.append(node)
    whole = lengths[id(body)]
    found = max(mains, key=lambda node: lengths[id(node)], default=body)
    largest = max(articles, key=lambda node: lengths[id(node)], default=None)
    if largest is not None and lengths[id(largest)] > lengths[id(found)] / 2:
        found = largest
    enough = lengths[id(found)] >= _SHORT or lengths[id(found)] >= whole * _QUARTER
    return found if enough else body


def _drop_around(main: Any, lengths: dict[int, int]) -> bool:
    """Remove the elements around the content. Return False, and remove nothing, if no text would be left."""
    dropped, gone = [], 0
    largest = lengths[id(main)] * _LARGE_PART
    stack = [main]
    while stack:
        node = stack.pop()
        for child in node.children:
            if isinstance(child, Element) and _is_around(child, is_small=lengths.get(id(child), 0) <= largest):
                dropped.append((node, child))
                gone += lengths.get(id(child), 0)
            elif isinstance(child, Element):
                stack.append(child)
    if gone >= lengths[id(main)] > 0:
        return False
    for node, child in dropped:
        node.remove_child(child)
    return True


def _is_around(node: Any, *, is_small: bool) -> bool:
    attributes = _attributes(node)
    if node.name in _AROUND or attributes.get("role") in _ROLES_AROUND:
        return True
    words = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    return is_small and len(words) > 1 and _WORDS_AROUND.search(words[:500]) is not None


def _to_blocks(main: Any, url: str) -> None:
    """Prepare the elements for Markdown: links with whole addresses, descriptions in place of images, and the rows of
    tables as lines."""
    page = urldefrag(url)[0]
    for node in list(_elements(main)):
        match node.name:
            case "a":
                address = _joined(url, _attributes(node).get("href"))
                if address and len(address) <= _LONGEST_LINK and urldefrag(address)[0] != page:
                    node.attrs = {"href": address}
                else:
                    node.name = "span"
            case "img":
                alt = _BLANKS.sub(" ", _attributes(node).get("alt") or "").strip()[:_LONGEST_ALT]
                node.parent.replace_child(Text(f"(image: {alt})" if alt else ""), node)
            case "tr":
                _to_line(node)
            case _:
                pass
        if node.name in _BLOCKS:
            node.name = "div"


def _to_line(row: Any) -> None:
    """Separate the cells of a row by bars, unless the row is a layout."""
    cells = [child for child in row.children if child.name in {"td", "th"}]
    layout = any(isinstance(child, Element) and child.name in _IN_LAYOUTS for cell in cells for child in cell.children)
    for number, cell in enumerate(cells):
        cell.name = "div" if layout else "span"
        if number and not layout:
            row.insert_before(Text(_BAR), cell)


def _elements(root: Any) -> Iterator[Any]:
    """Yield the element and all elements in it. The children of an element are read only after the element was yielded,
    so the caller may change them."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(child for child in reversed(node.children or ()) if isinstance(child, Element))


def _attributes(node: Any) -> dict[str, str | None]:
    return getattr(node, "attrs", None) or {}


def _joined(base: str, href: str | None) -> str:
    """Return the address of a link; "" if the link does not lead to a web page."""
    try:
        address = urljoin(base, (href or "").strip())
    except ValueError:
        return ""
    return address if href and address.startswith(("http://", "https://")) else ""
