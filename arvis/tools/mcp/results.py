"""The results of a server's tools as text for a model: text is joined, everything else is named and not dumped."""

from __future__ import annotations

import json
from collections.abc import Iterator

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from arvis.domain.text import storable
from arvis.tools.mcp.offers import Reply

#: The most bytes of text in one result.
MAX_BYTES = 262_144
#: Characters of a name, an address or a media type.
_MAX_NAME = 300


def reply_of(result: CallToolResult) -> Reply:
    parts = list(_parts(result.content))
    has_text = any(isinstance(block, TextContent) and block.text for block in result.content)
    if result.structured_content is not None and not has_text:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    text = "\n".join(parts) or "The tool returned no content."
    return Reply(_cut(text), failed=bool(result.is_error))


def _parts(content: list[ContentBlock]) -> Iterator[str]:
    for block in content:
        match block:
            case TextContent():
                yield block.text
            case ImageContent():
                yield f"[image, {_name(block.mime_type)}, {_size(block.data)} bytes: not shown]"
            case AudioContent():
                yield f"[sound, {_name(block.mime_type)}, {_size(block.data)} bytes: not played]"
            case ResourceLink():
                yield f"[resource {_name(block.name)} at {_name(str(block.uri))}]"
            case EmbeddedResource(resource=TextResourceContents() as text):
                yield f"[resource at {_name(str(text.uri))}, {len(text.text)} characters: not shown]"
            case EmbeddedResource(resource=BlobResourceContents() as blob):
                yield f"[resource at {_name(str(blob.uri))}, {_size(blob.blob)} bytes: not shown]"


def _name(text: str) -> str:
    return text if len(text) <= _MAX_NAME else f"{text[:_MAX_NAME]}…"


def _size(base64: str) -> int:
    return len(base64.rstrip("=")) * 3 // 4


def _cut(text: str) -> str:
    data = storable(text).encode()
    if len(data) <= MAX_BYTES:
        return data.decode()
    return f"{data[:MAX_BYTES].decode(errors='ignore')}\n[cut here: the result has {len(data)} bytes]"
