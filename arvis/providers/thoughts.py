"""A model's thoughts before its tool calls, kept because the vendor expects them back with the calls.

Anthropic and servers of its format sign their blocks and refuse changed ones; DeepSeek and Kimi refuse a tool call
without the preceding reasoning. Servers that accept no such field get none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.text import storable, storable_json

#: The text fields of a block, and the types of pieces in which they arrive.
_PIECES = {"thinking_delta": "thinking", "signature_delta": "signature"}
_KINDS = {"thinking": ("thinking", "signature"), "redacted_thinking": ("data",)}
#: More blocks than any answer has.
_MOST_BLOCKS = 64


class ThinkingBlocks:
    """The blocks of one answer of the messages format. Thoughts of more than `max_bytes` are dropped completely,
    because the vendor would refuse a part of them."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self._blocks: dict[int, dict[str, str]] = {}

    def begin(self, index: int, block: Mapping[str, object]) -> None:
        """Begin a block; other blocks than thoughts are ignored."""
        kind = block.get("type")
        if not isinstance(kind, str) or kind not in _KINDS or len(self._blocks) == _MOST_BLOCKS:
            return
        self._blocks[index] = {"type": kind}
        for name in _KINDS[kind]:
            self._append(index, name, block.get(name))

    def add(self, index: int, delta: Mapping[str, object]) -> None:
        """Add a piece of a block."""
        name = _PIECES.get(str(delta.get("type")))
        if name is not None and index in self._blocks:
            self._append(index, name, delta.get(name))

    def result(self, origin: str, *, signed: bool) -> Mapping[str, Any] | None:
        """Return the thoughts to send back, with their origin; None if there are none that can be sent. `signed`: the
        vendor refuses thoughts without its signature."""
        found = [block for _, block in sorted(self._blocks.items())]
        blocks = [storable_json(block) for block in found if not signed or block.get("signature") or block.get("data")]
        return {"origin": origin, "blocks": blocks} if blocks and self._left >= 0 else None

    def _append(self, index: int, name: str, piece: object) -> None:
        text = piece if isinstance(piece, str) else ""
        self._left -= len(text.encode("utf-8", "replace"))
        if self._left >= 0:
            self._blocks[index][name] = self._blocks[index].get(name, "") + text


class Reasoning:
    """The reasoning of one answer of the chat-completions format, under the name of its field."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self._field: str | None = None
        self._pieces: list[str] = []

    def add(self, part: Mapping[str, object]) -> None:
        """Add the reasoning of a message or of a piece."""
        for name in ("reasoning_content", "reasoning"):
            piece = part.get(name)
            if isinstance(piece, str) and self._field in (None, name):
                self._field = name
                self._left -= len(piece.encode("utf-8", "replace"))
                if self._left >= 0:
                    self._pieces.append(piece)

    def result(self, origin: str) -> Mapping[str, Any] | None:
        if self._field is None:
            return None
        text = "".join(self._pieces) if self._left >= 0 else ""
        return {"origin": origin, "field": self._field, "text": storable(text)}
