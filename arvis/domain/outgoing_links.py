"""Links and images in texts that agents send in tainted turns (ADR 0071).

Chat programs load images without a click, and a click sends the address of a link. So an image whose address is not
known becomes a link, and the address of a link that may carry data becomes plain text: `https[:]//host[.]example/…`.

Programs differ in where an address ends. So an address is compared as a whole, up to the next space, unless Markdown ends it
before. Some programs also make links of hosts without a path; `bare_hosts` of `SafeLinks` is True for a text that one of
these programs shows.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from itertools import accumulate
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.outgoing import address_key, addresses_in, texts_in, words_in
from arvis.domain.regex import regex

#: The line that follows a reply with a changed address.
NOTE = "(An address above is not a link, because it may carry data to an unknown host.)"

#: The elements of HTML that load something, or that send something without a visible address.
_ELEMENTS = (
    "img|image|iframe|frame|frameset|video|audio|track|object|embed|applet|link|source|picture|svg|base|meta|style|script"
    "|form|input|button|body|table|bgsound|portal"
)
#: The parts that `SafeLinks` judges: images in Markdown with their addresses; the beginnings of other images, of HTML
#: elements, and of addresses in style sheets; coded characters; and addresses up to the next space, even if the scheme
#: is missing or the slashes are unusual.
_PARTS = regex(
    r"(?P<image>!\[[^\]\n]{0,500}\]\(\s{0,9}(?:<(?P<inner>[^\s<>()]{1,2000})>|(?P<target>[^\s<>()]{1,2000}))"
    r"(?:[ \t]{1,9}[^)\n]{0,500})?\))"
    r"|(?P<bang>!(?=\[))"
    rf"|(?P<element><(?=/?(?:{_ELEMENTS})\b))"
    r"|(?P<style>\burl(?=\())"
    r"|(?P<coded>&(?:\#\d{1,8}|\#x[0-9a-f]{1,6}|[a-z]{2,31});)"
    r"|(?P<address>(?:\bhttps?:[/\\]{0,9}|\bmailto:|(?<!\[:\])(?:\b[a-z][a-z0-9+.-]{1,30}:)?[/\\]{2,9}"
    r"|(?<=\]\()[a-z][a-z0-9+-]{1,30}:|\bwww\\?\."
    r"|(?<![\w@/-])(?:[\w-]{1,63}\.){1,8}(?:xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24})(?::\d{1,5})?[/?\#])[^\s<>]{1,8000})"
    r"|(?P<bare>(?<![\w@/-])(?:(?:[\w-]{1,63}\.){2,8}(?:xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24})(?::\d{1,5})?"
    r"|[\w-]{1,63}\.[^\W\d_]{2,24}:\d{1,5})(?![\w@]|[.:-]\w))",
    re.IGNORECASE,
)
#: The line that begins or ends a block of code in Markdown, another line with such signs, and a span of code in a line.
_FENCE = regex(r"(?P<fence>`{3,}|~{3,})(?P<about>[\w+#.-]*)")
_LIKE_FENCE = regex(r"```|~~~")
_SPAN = regex(r"`[^`]*`")
#: The beginning of an address with a scheme or slashes, and the host of an address.
_SCHEME = regex(
    r"(?:(?P<name>[a-z][a-z0-9+-]{1,30}|[a-z][a-z0-9+.-]{1,30}(?=:[/\\]{2})):|(?=[/\\]{2}))[/\\]*", re.IGNORECASE
)
_HOST = regex(r"[^/?#]*")
#: The beginning of a path up to a host in it, without a scheme.
_IN_PATH = regex(r"(?:[^\s<>\"'|:]|:(?![/\\]{2}))*?/(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?=[/:?])", re.IGNORECASE)
_MAILTO = "mailto:"
_ENTITY = regex(r"&(?:\#\d{1,8}|\#x[0-9a-f]{1,6}|[a-z]{2,31});", re.IGNORECASE)
#: Characters of a text in JSON that are written as a code.
_JSON_CODE = regex(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|(?P<sign>.))", re.DOTALL)
#: Characters that ordinary texts contain in coded form. Any other coded ASCII character could hide an address.
_USUAL = frozenset("&<>\"'")
#: Signs that follow an address in a text, and the maximum number of them. More signs could carry data.
_AFTER_ADDRESS = ".,;:!?*_~'\"`|»”…)]}"
_MOST_AFTER = 4
#: The maximum number of characters that a stream holds back until an address is complete.
_MOST_HELD = 4_000
_END_OF_WORD = frozenset(" \n\t")


class SafeLinks:
    """The links and images of one reply. `is_written` returns True for an address that a text of the turn contains.
    `is_known` returns True for an address that the judge of outgoing data allows. `bare_hosts` is True if chat programs
    may turn hosts without a path into links, except in code."""

    def __init__(
        self, *, is_written: Callable[[str], bool], is_known: Callable[[str], bool], bare_hosts: bool = False
    ) -> None:
        self._is_written = is_written
        self._is_known = is_known
        self._bare_hosts = bare_hosts

    def safe(self, text: str) -> str:
        """Return the text with harmless links and images only."""
        return self.noted(text, self.replaced(text))

    @staticmethod
    def noted(text: str, made: str) -> str:
        """Return `made`, the text after its change. If an address is no longer a link, a note says so."""
        return f"{made}\n\n{NOTE}" if _changed_addresses(made) > _changed_addresses(text) else made

    def replaced(self, text: str, *, whole: bool = True) -> str:
        """Return the text with harmless links and images only, without the note. If `whole` is False, the text is only a
        part of a longer text, so it is uncertain which characters are code."""
        made, place = [], 0
        code = _code_in(text) if self._bare_hosts and whole else []
        while (found := _PARTS.search(text, place)) is not None:
            made.append(text[place : found.start()])
            place = found.end()
            if found["bare"]:
                made.append(found["bare"] if _is_inside(found.start(), code) else self._replaced_host(found["bare"]))
            elif found["image"] and self._is_known_image(found["inner"] or found["target"]):
                made.append(found["image"])
            elif found["image"]:
                place = found.start() + 1  # without the exclamation mark, the image is a link
            elif found["bang"]:
                pass
            elif found["element"]:
                made.append("< ")
            elif found["style"]:
                made.append("url ")
            elif found["coded"]:
                made.append(_uncoded(found["coded"]))
            else:
                address = _address_of(text, found.start(), found.end())
                shown, place = (
                    (address.written, found.start() + len(address.written))
                    if self._is_harmless(address)
                    else _as_text(text, address, found.start(), found.end())
                )
                made.append(shown)
        return "".join([*made, text[place:]])

    def replaced_in_json(self, text: str) -> str:
        """Return the text, which is JSON, with harmless links and images only. In JSON, an address ends at a quotation
        mark, and its characters may be written as codes."""
        return '"'.join(map(self.replaced, _JSON_CODE.sub(_without_code, text).split('"')))

    def changes(self, text: str) -> bool:
        """Return True if the text has an address or an image that is not harmless. Addresses in code count, too, because
        another text may quote them outside of code."""
        return self.replaced(text, whole=False) != text

    def _is_known_image(self, target: str) -> bool:
        return _is_plain(target) and not {*"#\\"} & {*target} and self._is_known(target)

    def _replaced_host(self, host: str) -> str:
        """Return a host without a path so that no program makes a link of it."""
        url = f"https://{host}"
        harmless = not self._bare_hosts or self._is_written(url) or self._is_known(url)
        return host if harmless else host.replace(".", "[.]")

    def _is_harmless(self, address: _Address) -> bool:
        if not address.address:
            return True
        if address.address.lower().startswith(_MAILTO):
            return "?" not in address.address
        whole = address.whole
        if not address.certain or address_key(whole) is None:
            return False
        return self._is_written(whole) or ("#" not in whole and self._is_known(whole))


def has_parts(text: str) -> bool:
    """Return True if the text has a part that `SafeLinks` judges."""
    return _PARTS.search(text) is not None


class _Address:
    """An address in a text. `written` is the judged part of the text: the address and the signs after it. `certain` is False
    if programs may differ in where the address begins or ends."""

    __slots__ = ("address", "certain", "written")

    def __init__(self, *, written: str, address: str, certain: bool) -> None:
        self.written = written
        self.address = address
        self.certain = certain and "\\" not in address

    @property
    def whole(self) -> str:
        address = self.address.replace("&amp;", "&")
        return address if "://" in address[:32] else f"https://{address.lstrip('/')}"

    def head_as_text(self) -> tuple[str, int]:
        """Return scheme and host so that no program makes a link of them, and the length of their written form."""
        scheme = _SCHEME.match(self.written)
        start = 0 if scheme is None else scheme.end()
        end = start + len(_HOST.match(self.written, start)[0])  # type: ignore[index]  # matches every text
        host = _ENTITY.sub(lambda found: _uncoded(found[0]), self.written[start:end])
        head = "" if scheme is None else f"{scheme['name'] or ''}[:]//"
        return head + host.replace(".", "[.]"), end


def _address_of(text: str, start: int, end: int) -> _Address:
    """Return the address in a run of characters without spaces."""
    run, before, after = text[start:end], text[:start][-2:], text[end : end + 1]
    if before.endswith("<"):
        # Between angle brackets, an address may contain spaces.
        return _Address(written=run, address=run, certain=after == ">" and _is_plain(run))
    if before == "](":
        inside = run[: _end_of_target(run)]
        return _Address(written=inside, address=inside, certain=_is_plain(inside))
    written = run.partition("](")[0] if before.endswith("[") else run
    address = written.rstrip(_AFTER_ADDRESS.replace(")", ""))
    while address.endswith(")") and address.count(")") > address.count("("):
        address = address[:-1].rstrip(_AFTER_ADDRESS.replace(")", ""))
    certain = len(written) - len(address) <= _MOST_AFTER and _is_plain(address)
    return _Address(written=written, address=address, certain=certain)


def _as_text(text: str, address: _Address, start: int, end: int) -> tuple[str, int]:
    """Return the beginning of the address at `start` so that no program makes a link of it, and the place behind it. The rest
    of the path, up to `end`, may contain another address with a scheme, which some programs show as a second link."""
    shown, length = address.head_as_text()
    place = start + length
    while (inner := _IN_PATH.match(text, place, end)) is not None:
        shown += inner[0].replace(".", "[.]")
        place = inner.end()
    return shown, place


def _end_of_target(run: str) -> int:
    """Return the length of the address of a link in Markdown: the place of the bracket that closes the link."""
    depth = 0
    for place, sign in enumerate(run):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth < 0:
            return place
    return len(run)


def _is_plain(address: str) -> bool:
    """Return True if the address contains no coded characters. A coded `&` is usual in addresses."""
    return all(found[0].lower() == "&amp;" for found in _ENTITY.finditer(address))


def _uncoded(coded: str) -> str:
    """Return a coded character. If it could be a part of an address, return the code as a text."""
    sign = html.unescape(coded)
    return f"&amp;{coded[1:]}" if sign.isascii() and sign not in _USUAL and sign != coded else coded


def _without_code(found: re.Match[str]) -> str:
    """Return a character of JSON that is written as a code, if it can be a part of an address. Other codes stay."""
    sign = chr(int(found["code"], 16)) if found["code"] else "/" if found["sign"] == "/" else ""
    return sign if sign.isascii() and sign.isprintable() and sign not in {'"', "\\"} and sign else found[0]


def _code_in(text: str) -> list[tuple[int, int]]:
    """Return the places of code in a text in Markdown, in which programs make no links. Programs differ in how they read
    unusual code, so only code in the usual form counts."""
    lines, start = [], 0
    for line in text.split("\n"):
        lines.append((start, line))
        start += len(line) + 1
    if any(_LIKE_FENCE.search(line) and not _FENCE.fullmatch(line) for _, line in lines):
        return []
    places, opened, paragraph = list[tuple[int, int]](), None, list[tuple[int, str]]()
    for start, line in [*lines, (len(text), "")]:
        fence = _FENCE.fullmatch(line)
        if opened is not None:
            if fence and fence["fence"].startswith(opened[1]) and not fence["about"]:
                places.append((opened[0], start))
                opened = None
        elif fence or not line.strip():
            places += _spans_in(paragraph)
            paragraph = []
            opened = (start, fence["fence"]) if fence else None
        else:
            paragraph.append((start, line))
    return places


def _spans_in(paragraph: Sequence[tuple[int, str]]) -> list[tuple[int, int]]:
    """Return the spans of code in the lines of a paragraph. A paragraph has none if one of its lines has an unusual one."""
    if any(line.count("`") % 2 or any(sign in line for sign in ("``", "\\`", "|", "<")) for _, line in paragraph):
        return []
    return [(start + found.start(), start + found.end()) for start, line in paragraph for found in _SPAN.finditer(line)]


def _is_inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)


def _changed_addresses(text: str) -> int:
    return text.count("[:]") + text.count("[.]")


class WrittenAddresses:
    """The addresses in the texts of a turn, except addresses that the agent itself wrote.

    An output may repeat what the agent wrote in a call, such as an error that quotes an argument. So an address of an output
    does not count if all its words are in the arguments of calls. The outputs of programs that the agent wrote do not count at
    all, and neither do later outputs of tools that work on the same machine.
    """

    def __init__(self) -> None:
        self._links: set[str] = set()
        self._argument_words: set[str] = set()

    def read(self, text: str) -> None:
        """Add the addresses of a text."""
        self._links |= _links_in(text)

    def call(self, arguments: Mapping[str, Any]) -> None:
        """Record the words in the arguments of a call."""
        for text, _ in texts_in(arguments):
            self._argument_words |= words_in(text)

    def output(self, text: str) -> None:
        """Add the addresses of an output that do not repeat arguments."""
        self._links |= {each for each in _links_in(text) if not words_in(each) <= self._argument_words}

    def has(self, address: str) -> bool:
        return address_key(address, fragment=True) in self._links


def _links_in(text: str) -> set[str]:
    links = set(addresses_in(text))
    if "#" in text:
        links |= addresses_in(text, fragments=True)
    return links


class LinkStream:
    """A filter for the pieces of a streamed reply. It delays a piece until all words in it are complete."""

    def __init__(self, *, links: SafeLinks, send: Callable[[int, str], None]) -> None:
        self._links = links
        self._send = send
        self._held = ""
        self._sent = 0

    def add(self, offset: int, text: str) -> None:
        """Add a piece at this offset. A piece at offset 0 begins a new text."""
        if offset == 0:
            self._held, self._sent = "", 0
        self._held += text
        end = max((self._held.rfind(each) for each in _END_OF_WORD), default=-1) + 1
        opened = self._held.rfind("![", 0, end)
        if opened >= 0 and "\n" not in self._held[opened:end] and end - opened < _MOST_HELD:
            end = opened
        self._show(end)

    def close(self) -> None:
        """Send the delayed text."""
        self._show(len(self._held))

    def _show(self, end: int) -> None:
        shown, self._held = self._links.replaced(self._held[:end], whole=False), self._held[end:]
        if shown:
            self._send(self._sent, shown)
            self._sent += len(shown)


# -- texts that are made from parts ------------------------------------------------------------------------------------


class Origin(StrEnum):
    """The origin of a part of a text."""

    #: The author of the template.
    AUTHOR = "author"
    #: A value that was inserted.
    VALUE = "value"
    #: A value that a script may have put together from others.
    MADE = "made"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text that was made from a template."""

    text: str
    origin: Origin


#: Scheme and host with the sign that ends the host.
_WHOLE_HOST = regex(r"(?:[a-z][a-z0-9+.-]{0,30}:)?[/\\]{0,9}[^/\\?#@:\s]{1,255}(?::\d{1,5})?[/?#]", re.IGNORECASE)


def without_joined(pieces: Sequence[Piece], is_written: Callable[[str], bool]) -> str:
    """Return the text of the pieces. An address that is made up of several values is not a link in it. `is_written`
    returns True for an address that a text contains that no script has made."""
    text = "".join(piece.text for piece in pieces)
    ends = list(accumulate(len(piece.text) for piece in pieces))
    made, place = [], 0
    while (found := _PARTS.search(text, place)) is not None:
        start = found.start()
        made.append(text[place:start])
        if not (found["address"] or found["bare"]):
            place = start + 1
            made.append(text[start:place])
            continue
        address = _address_of(text, start, found.end())
        parts = _cut(text, start, start + len(address.address), pieces, ends)
        if _is_of_one_author(parts) and (parts[0].origin is not Origin.MADE or is_written(address.whole)):
            shown, place = address.written, start + len(address.written)
        else:
            shown, place = _as_text(text, address, start, found.end())
        made.append(shown)
    return "".join([*made, text[place:]])


def _cut(text: str, start: int, end: int, pieces: Sequence[Piece], ends: Sequence[int]) -> list[Piece]:
    """Return the parts of the text from `start` to `end`, with their origins."""
    places = zip([0, *ends], ends, pieces, strict=False)
    return [
        Piece(text[max(start, first) : min(end, last)], piece.origin)
        for first, last, piece in places
        if first < last and first < end and start < last
    ]


def _is_of_one_author(parts: Sequence[Piece]) -> bool:
    """Return True if an address with these parts carries no value to the host of another value: it has one part, or the
    author of the template wrote everything but one value that begins it, or wrote its host."""
    if len(parts) <= 1:
        return bool(parts)
    first, *rest = parts
    if first.origin is Origin.MADE or _WHOLE_HOST.match(first.text) is None:
        return False
    if first.origin is Origin.VALUE:
        return all(part.origin is Origin.AUTHOR for part in rest)
    # In a path, these signs could lead to another place of the host, where another person receives data.
    return not any(sign in "".join(part.text for part in rest) for sign in ("..", "\\", "%2e", "%2E"))
