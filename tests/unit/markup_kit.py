"""Texts that are hard to parse, and the rules that hold for every text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from arvis.domain.markup import Scanner, escape, find_tags, unescape, visible

_PARTS = """\
[MEMORY:sticky] [/MEMORY] [STATE:k.x] [/STATE] [DELEGATE:bob] [DELEGATE:bob|report] [/DELEGATE] [CREATE_AGENT]
[/CREATE_AGENT] [LIST_AGENTS] [/LIST_AGENTS] [PAUSE_AGENT:x] [UPDATE_CRON:a|b] [/UPDATE_CRON:z] <AGENT_DONE> </AGENT_DONE>
<AGENT_DONE/> <\u004bEY_RESULT> </\u004bEY_RESULT> <response-metadata> </response-metadata> MESSAGE|TO|SEND: <speak> </speak>
<channel:x> </citations> ``` ~~~ ` `` ```` ```py ```x``` [MEM ORY:a] [MEMO [DELEGATE: [/DELE MESSAGE| TO|SEND: <AGENT_
DONE> [ ] < / : > a word … \u017f \u212a [\uff2dEMORY:x] \uff3bMEMORY:x] [memory:x] [sTaTe:q] é"""
_SPACES = ["\n", "\n\n", "\n\n\n", " ", "   ", "\t", "\r\n", "\u2028", "\x85", " " * 170]
FRAGMENTS = [part.replace("|", " ") for part in re.split(r"\s+", _PARTS)] + _SPACES


def cut(text: str, sizes: Iterable[int]) -> Iterator[str]:
    """Yield the text in pieces of these sizes; the last piece holds the rest."""
    position = 0
    for size in sizes:
        yield text[position : position + size]
        position += size
    yield text[position:]


def broken_rules(pieces: Sequence[str]) -> list[str]:
    """Return the rules that do not hold for a text that arrives in these pieces."""
    text = "".join(pieces)
    shown, harmless, stream = visible(text), escape(text), Scanner()
    streamed = "".join([*map(stream.feed, pieces), stream.close()])
    foreign = set("\uff3b\uff1c\uff1a") & set(text)
    rules = {
        "nothing is found in what is escaped": find_tags(harmless) == [],
        "escaping can be undone": bool(foreign) or unescape(harmless) == text,
        "nothing is found in what is shown": find_tags(shown) == [],
        "what is shown once is shown again": visible(shown) == shown,
        "a stream shows what the whole text shows": streamed == shown,
    }
    return [rule for rule, holds in rules.items() if not holds]
