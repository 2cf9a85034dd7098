"""Converts Markdown to the form that Telegram accepts: a text and entities, both counted in UTF-16 units.

Entities, unlike Telegram's Markdown dialects, need no escaping, so Telegram shows any text from a model. Mentions are
broken, so that they do not notify anyone.
"""

from __future__ import annotations

import html
import importlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Final

import telegram

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.regex import regex
from connectors.formatting.splitting import divide
from connectors.formatting.units import utf16_length

#: The maximum number of UTF-16 units of a message, and of the caption of a file. The marks of the formatting are not
#: counted.
TEXT_LIMIT: Final = 4096
CAPTION_LIMIT: Final = 1024

#: A `telegramify_markdown.entity.MessageEntity`.
Entity = Any

_KEPT: Final = frozenset(
    {"bold", "italic", "strikethrough", "spoiler", "code", "pre", "blockquote", "expandable_blockquote", "text_link"}
)
_LINK: Final = regex(r"(?:https?://|mailto:)", re.IGNORECASE)
#: An @ that Telegram would read as the beginning of a user name.
_MENTION: Final = regex(r"(?<![A-Za-z0-9_])@(?=[A-Za-z])")
#: An invisible character without width, which no name contains. After an @ it breaks the mention, so that Telegram does
#: not notify the person.
_JOINER: Final = "\u2060"
#: Replaces `<` while Markdown is parsed, because `<` would be read as HTML and dropped. No text contains this code
#: point: `sound` removes it.
_LESS: Final = "\ufdd0"
_IMAGE: Final = regex(r'<img src="([^"]*)"(?: alt="([^"]*)")?[^>]*>')
#: The beginning of a line with 20 levels of nested quotations and lists. A text with such a line is not parsed, because
#: parsing hundreds of levels takes seconds.
_DEEP: Final = regex(r"^(?:[ \t]*(?:>|[-*+](?=[ \t])|[0-9]{1,9}[.)](?=[ \t]))){20}", re.MULTILINE)
_ANCHOR: Final = regex(r'<a href="((?!https?:|mailto:)[^"]*)">(.*?)</a>', re.IGNORECASE | re.DOTALL)
#: Addresses of links that are not shown as text, because they are useless to a reader: links to people, and anchors
#: within a page.
_MUTE: Final = regex(r"tg:|#", re.IGNORECASE)
#: The maximum number of characters of an address that are shown.
_LONGEST_ADDRESS: Final = 300


@dataclass(frozen=True, slots=True)
class Formatted:
    text: str
    entities: tuple[telegram.MessageEntity, ...] = ()


def formatted(markdown: str) -> Formatted:
    """Convert Markdown to a text with entities. The text is blank only if the Markdown is blank."""
    clean = sound(markdown)
    if _DEEP.search(clean):
        return Formatted(_without_mentions(clean.strip(), ()).text)
    text, entities = _library().convert(clean.replace("<", _LESS), config=_symbols())
    text = text.replace(_LESS, "<").rstrip()
    if not text:
        return Formatted(_without_mentions(clean.strip(), ()).text)
    inside = [entity for entity in entities if entity.offset < utf16_length(text)]
    return _without_mentions(*_with_addresses(text, inside))


def measure(markdown: str) -> int:
    """Return the length of a text in UTF-16 units: before or after the conversion from Markdown, whichever is
    longer."""
    raw = utf16_length(markdown)
    return raw if raw > TEXT_LIMIT else max(raw, utf16_length(formatted(markdown).text))


def parts(markdown: str) -> Iterator[str]:
    """Yield parts of the Markdown that each fit into one message; each part is made when it is requested."""
    return divide(markdown, TEXT_LIMIT, measure)


def rich(markdown: str) -> dict[str, Any]:
    """Return an `InputRichMessage`, which can contain headings, lists and tables. External pictures become links, so
    that Telegram fetches nothing. Mentions do not notify."""
    message = _library().richify(sound(markdown).replace("<", _LESS), skip_entity_detection=True)
    text = (message.html or "").replace(_LESS, "&lt;")
    text = _IMAGE.sub(lambda found: f'<a href="{found[1]}">{found[2] or html.escape("[image]")}</a>', text)
    return {"html": _ANCHOR.sub(_address_shown, text), "skip_entity_detection": True}


def sound(text: str) -> str:
    """Return the text without characters that no message may contain: NUL and `_LESS` are removed, single surrogates
    are replaced."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "").replace(_LESS, "")


def plain(shown: Formatted) -> str:
    """Return the text for a message without entities. Code is then normal text, so mentions in it are broken too."""
    return _without_mentions(shown.text, ()).text


def _with_addresses(text: str, entities: Sequence[Entity]) -> tuple[str, list[Entity]]:
    """Insert the address after the text of each link that Telegram does not accept, and move the entities
    accordingly."""
    units = text.encode("utf-16-le")
    kept = list(entities)
    for link in sorted((one for one in entities if one.type == "text_link"), key=lambda one: -one.offset):
        end = link.offset + link.length
        address = (link.url or "").replace(_LESS, "<")[:_LONGEST_ADDRESS]
        shown = units[2 * link.offset : 2 * end].decode("utf-16-le", "replace")
        if _is_kept(link) or not address or _MUTE.match(address) or shown.strip() == address:
            continue
        added = f" ({address})".encode("utf-16-le")
        units = units[: 2 * end] + added + units[2 * end :]
        kept = [_behind(one, end, len(added) // 2) for one in kept]
    return units.decode("utf-16-le", "replace"), kept


def _behind(entity: Entity, at: int, units: int) -> Entity:
    """Return the entity after `units` were inserted at the offset `at`: it is moved, made longer, or unchanged."""
    if entity.offset >= at:
        return replace(entity, offset=entity.offset + units)
    longer = entity.offset + entity.length > at
    return replace(entity, length=entity.length + units) if longer else entity


def _address_shown(found: re.Match[str]) -> str:
    address, shown = found[1][:_LONGEST_ADDRESS], found[2]
    return shown if not address or _MUTE.match(address) or shown == address else f"{shown} ({address})"


def _without_mentions(text: str, entities: Sequence[Entity]) -> Formatted:
    """Insert a joiner after the @ of every name, except in code, because Telegram searches for no names in code. Move
    the entities accordingly, and leave out entities that are not sent (`_is_kept`)."""
    code = sorted(
        (entity.offset, entity.offset + entity.length) for entity in entities if entity.type in {"code", "pre"}
    )
    pieces: list[str] = []
    marks: list[int] = []
    done = units = 0
    for found in _MENTION.finditer(text):
        units += utf16_length(text[done : found.end()])
        pieces.append(text[done : found.end()])
        done = found.end()
        if not _inside(code, units):
            marks.append(units)
            pieces.append(_JOINER)
    joined = "".join((*pieces, text[done:]))
    length = utf16_length(joined)
    moved = (_moved(entity, marks, length) for entity in entities if _is_kept(entity))
    return Formatted(joined, tuple(entity for entity in moved if entity.length > 0))


def _inside(spans: Sequence[tuple[int, int]], at: int) -> bool:
    before = bisect_right(spans, (at, 0)) - 1
    return before >= 0 and at < spans[before][1]


def _moved(entity: Entity, marks: Sequence[int], length: int) -> telegram.MessageEntity:
    end = entity.offset + entity.length
    start = entity.offset + bisect_right(marks, entity.offset)
    end = min(end + bisect_left(marks, end), length)
    url = entity.url.replace(_LESS, "<") if entity.url else None
    return telegram.MessageEntity(entity.type, start, end - start, url=url, language=entity.language)


def _is_kept(entity: Entity) -> bool:
    """Return whether the entity is sent. A link to a person (`tg://user`) is not sent, because it would be a
    mention."""
    return entity.type in _KEPT and (entity.type != "text_link" or bool(_LINK.match(entity.url or "")))


def _library() -> Any:
    """Return the package that parses Markdown. The package needs 1.5 MB of memory, so it is imported only when the
    first message is formatted."""
    return importlib.import_module("telegramify_markdown")


def _symbols() -> Any:
    """Return options without the emoji with which the library decorates headings, images and links by default."""
    config = _library().RenderConfig.isolated()
    symbol = config.markdown_symbol
    symbol.heading_level_1 = symbol.heading_level_2 = symbol.heading_level_3 = symbol.heading_level_4 = ""
    symbol.image = symbol.link = ""
    symbol.unordered_list_item = "•"
    return config
