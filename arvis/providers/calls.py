"""Collect the tool calls of a reply while they arrive, in one piece or many, within limits and with unique ids.

The arguments that the model wrote are parsed here and judged elsewhere: text that is not an object is kept unchanged,
so that the model gets an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arvis.domain.runs import Account
from arvis.domain.text import storable, storable_json, strict_json
from arvis.domain.tools import ToolCall
from arvis.providers import failures

_MOST_CALLS = 64
_LONGEST_NAME = 128
_LONGEST_ID = 256


@dataclass(slots=True)
class _Draft:
    id: str = ""
    name: str = ""
    arguments: str = ""
    signature: str = ""


class CallDrafts:
    """Collects up to 64 calls and `max_bytes` of arguments. Raises `ProviderError` for more, and for data that makes
    no call."""

    def __init__(self, *, account: Account, max_bytes: int) -> None:
        self._account = account
        self._left = max_bytes
        self._drafts: dict[object, _Draft] = {}

    def __len__(self) -> int:
        return len(self._drafts)

    def add(self, key: object, *, id: str = "", name: str = "", arguments: str = "", signature: str = "") -> None:  # noqa: A002 - its name
        """Add the next piece of the call that the vendor numbers `key`; all fields but the arguments come complete,
        once."""
        draft = self._drafts.get(key)
        if draft is None:
            if len(self._drafts) == _MOST_CALLS:
                raise failures.unreadable(self._account, f"it calls more than {_MOST_CALLS} tools at once")
            draft = self._drafts[key] = _Draft()
        self._left -= len(arguments.encode("utf-8", "replace")) + len(signature)
        if self._left < 0:
            raise failures.unreadable(self._account, "the arguments of its tool calls are too long")
        draft.id = draft.id or storable(id[:_LONGEST_ID])
        draft.name = draft.name or storable(name[:_LONGEST_NAME])
        draft.signature = draft.signature or storable(signature)
        draft.arguments += arguments

    def add_whole(self, name: str, arguments: object, *, id: str = "", signature: str = "") -> None:  # noqa: A002
        """Add a call that came in one piece, with its arguments as parsed JSON."""
        text = json.dumps(arguments, ensure_ascii=False)
        self.add(len(self), id=id, name=name, arguments=text, signature=signature)

    def result(self, *, cut: bool = False) -> tuple[ToolCall, ...]:
        """Return the calls in order. A missing or repeated id is replaced. In a reply that was `cut`, a call is
        complete only if its arguments are; an incomplete call carries no arguments, so that it cannot be executed."""
        calls: dict[str, ToolCall] = {}
        for number, draft in enumerate(self._drafts.values()):
            if cut and not draft.name:
                continue
            if not draft.name:
                raise failures.unreadable(self._account, "it calls a tool without a name")
            id_ = draft.id if draft.id and draft.id not in calls else f"call_{number}_{len(calls)}"
            arguments, written = _read(draft.arguments)
            partial = cut and (arguments is None or not draft.arguments.strip())
            arguments = None if partial else arguments
            calls[id_] = ToolCall(id_, draft.name, arguments, written, draft.signature, partial)
        return tuple(calls.values())


def _read(text: str) -> tuple[Mapping[str, Any] | None, str]:
    """Return the arguments and, if they are no object, the original text. An empty text means no arguments."""
    clean = storable(text)
    if not clean.strip():
        return {}, ""
    try:
        value = strict_json(clean)
        if "\\u" in clean:
            value = storable_json(value)
    except (ValueError, RecursionError):
        return None, clean
    return (value, "") if isinstance(value, dict) else (None, clean)
