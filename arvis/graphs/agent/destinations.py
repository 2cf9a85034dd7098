"""The destination of a tool call, and whether the asker or the configuration named it.

In a tainted turn, a page can instruct the model to put information into an address. So a call needs an approval when
it names a host that is neither in the asker's own text nor in the configuration.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from arvis.domain.client_history import BEFORE, own_words
from arvis.domain.messages import StoredMessage
from arvis.domain.taint import Label

#: Labels of a message whose text is not its sender's.
_FOREIGN = frozenset({Label.PEOPLE, Label.TOOLS, Label.AGENTS, Label.FLAGGED})
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{0,30}:[/\\]{1,9}[^\s\"'<>]{1,8000}", re.IGNORECASE)
#: Parsers of addresses disagree about these characters; an address with one of them has no trusted host.
_DOUBTFUL = re.compile(r"[\\@\x00-\x20\x7f]")


def words_of(messages: Sequence[StoredMessage]) -> str:
    """Return the asker's own text in these messages."""
    return "\n".join(_said(message) for message in messages)


def unnamed(arguments: Mapping[str, Any], words: str, known: Collection[str]) -> bool:
    """Return whether the arguments hold an address whose host neither the asker nor the configuration named."""
    return any(host is None or not (host in known or _stands_in(host, words)) for host in _hosts(arguments))


def _said(message: StoredMessage) -> str:
    if message.content.startswith(BEFORE):
        return own_words(message.content)
    return "" if message.taint & _FOREIGN else message.content


def _hosts(value: Any) -> Iterator[str | None]:
    """Yield the host of each address; None for one that cannot be read for certain."""
    if isinstance(value, str):
        for found in _ADDRESS.findall(value):
            yield _host(found)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _hosts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _hosts(each)


def _host(address: str) -> str | None:
    if _DOUBTFUL.search(address.partition("?")[0]):
        return None
    try:
        host = urlsplit(address).hostname
    except ValueError:
        return None
    return host.rstrip(".").lower() if host else None


def _stands_in(host: str, words: str) -> bool:
    """Return whether the host is named there by itself, not as a part of a longer name."""
    return re.search(rf"(?<![\w.-]){re.escape(host)}(?![\w-]|\.\w)", words, re.IGNORECASE) is not None
