"""Links and images in the replies of tainted turns (ADR 0071).

Chat programs load images without a click, and a click sends the address of a link. So an image whose address is not
known becomes a link, and the address of a link that may carry data becomes plain text: `https[:]//host/…`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from arvis.domain.outgoing import address_key
from arvis.domain.regex import regex

#: The line that follows a reply with a changed address.
NOTE = "(An address above is not a link, because it may carry data to an unknown host.)"

#: The beginning of an image in Markdown, with its address if it is written inline; elements of HTML that load something;
#: addresses, also without a scheme or with odd slashes.
_PARTS = regex(
    r"(?P<image>!\[(?P<alt>[^\]\n]{0,500})\](?:\(\s*<?(?P<target>[^\s)>]{0,2000})[^)\n]{0,500}\))?)"
    r"|(?P<element><(?=/?\s*(?:img|iframe|video|audio|object|embed|link|source|picture|svg|base|meta|style|script|form)\b))"
    r"|(?P<address>(?:\bhttps?:[/\\]{0,9}|(?:\b[a-z][a-z0-9+.-]{1,30}:)?[/\\]{2,9})[^\s<>\"'`)\]]{1,8000}"
    r"|(?<![\w@./:-])(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}[/?#][^\s<>\"'`)\]]{1,2000})",
    re.IGNORECASE,
)
_COLON = regex(r"://|:(?=[/\\])|:(?=\w)|//")
#: A short address that names a public page and has no room for data.
_SHORT = regex(r"https?://[a-z][a-z.-]{3,30}(?:/(?:[a-z.-]{0,16}|v\d)){0,2}")
_LONGEST_SHORT = 48
#: The maximum number of characters that a stream holds back until an address is complete.
_MOST_HELD = 4_000
_END_OF_WORD = frozenset(" \n\t")


class SafeLinks:
    """The links and images of one reply. `is_written` returns True for an address that a text of the turn contains, and
    `is_known` for one that the judge of outgoing data allows."""

    def __init__(self, *, is_written: Callable[[str], bool], is_known: Callable[[str], bool]) -> None:
        self._is_written = is_written
        self._is_known = is_known

    def safe(self, text: str) -> str:
        """Return the text with harmless links and images only."""
        made = self.replaced(text)
        return made if made.count("[:]") == text.count("[:]") else f"{made}\n\n{NOTE}"

    def replaced(self, text: str) -> str:
        """Return the text with harmless links and images only, without the note."""
        made, place = [], 0
        for found in _PARTS.finditer(text):
            made.append(text[place : found.start()])
            place = found.end()
            if found["image"]:
                target = found["target"] or ""
                whole = found["image"] if target and self._is_known(target) else self._as_link(found["image"])
                made.append(whole)
            elif found["element"]:
                made.append("< ")
            else:
                made.append(self._address(found["address"]))
        return "".join([*made, text[place:]])

    def _as_link(self, image: str) -> str:
        return self.replaced(image[1:])

    def _address(self, written: str) -> str:
        address = written.rstrip(".,;:!?*_")
        whole = address if "://" in address[:32] else f"https://{address.lstrip('/')}"
        short = len(address) <= _LONGEST_SHORT and _SHORT.fullmatch(address)
        if short or (address_key(whole) is not None and self._is_harmless(address, whole)):
            return written
        return _COLON.sub("[:]//", written, count=1) if _COLON.search(written) else written.replace(".", "[.]")

    def _is_harmless(self, address: str, whole: str) -> bool:
        return "\\" not in address and (self._is_written(whole) or self._is_known(whole))


class LinkStream:
    """A filter for the pieces of a streamed reply. It holds a piece back until the words in it are complete."""

    def __init__(self, *, links: SafeLinks, send: Callable[[int, str], None]) -> None:
        self._links = links
        self._send = send
        self._held = ""
        self._sent = 0

    def add(self, offset: int, text: str) -> None:
        """Take a piece at this offset. A piece at offset 0 begins a new text."""
        if offset == 0:
            self._held, self._sent = "", 0
        self._held += text
        end = max((self._held.rfind(each) for each in _END_OF_WORD), default=-1) + 1
        opened = self._held.rfind("![", 0, end)
        if opened >= 0 and "\n" not in self._held[opened:end] and end - opened < _MOST_HELD:
            end = opened
        self._show(end)

    def close(self) -> None:
        """Send the held text."""
        self._show(len(self._held))

    def _show(self, end: int) -> None:
        shown, self._held = self._links.replaced(self._held[:end]), self._held[end:]
        if shown:
            self._send(self._sent, shown)
            self._sent += len(shown)
