"""The result of a call in the form of the protocol, converted to texts and files. Only `link` imports this module."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from mcp_types import (
    Annotations,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    ListPromptsResult,
    ListResourcesResult,
    ReadResourceResult,
    ResourceLink,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from arvis.tools.mcp.remote import Reply
from arvis.tools.result_files import Media

#: The maximum number of characters of a name, an address or a media type.
_MAX_NAME = 300
#: The linked resources are read only if a result has at most this number of links; otherwise the text only names them.
_MAX_READ = 4
#: A linked resource is read only if its link states at most this size in bytes, or no size.
_MAX_LINKED = 5_000_000
#: The text of a resource with more than this many characters is also a file, because prompts shorten long texts.
_LONG_TEXT = 10_000

#: The maximum number of contents of a resource, and of entries of a list.
_MOST_CONTENTS = 10
_MOST_LISTED = 200
#: The mark that names the next part of a list is not shown if it is longer than this.
_LONGEST_CURSOR = 2_000

_Contents = TextResourceContents | BlobResourceContents


def links_in(result: CallToolResult) -> list[str]:
    """Return the addresses of the linked resources that are read together with the result."""
    links = [block for block in result.content if isinstance(block, ResourceLink)]
    if len(links) > _MAX_READ:
        return []
    return [link.uri for link in links if (link.size or 0) <= _MAX_LINKED]


def reply_of(result: CallToolResult, linked: Mapping[str, ReadResourceResult]) -> Reply:
    """Return the reply. `linked` are the resources that were read, by the addresses of the links."""
    parts = [part for block in result.content for part in _parts(block, linked)]
    has_text = any(isinstance(block, TextContent) and block.text for block in result.content)
    # Servers repeat their files in the structured content, as base64. So the structured content is left out if there
    # are files.
    has_files = any(isinstance(part, Media) for part in parts)
    if result.structured_content is not None and not has_text and not has_files:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    return Reply(tuple(parts), failed=bool(result.is_error))


# -- resources and prompts ---------------------------------------------------------------------------------------------


def reply_of_resource(result: ReadResourceResult) -> Reply:
    """Return the contents of a resource: texts, and other contents as files."""
    parts = [part for contents in result.contents[:_MOST_CONTENTS] for part in _resource(contents, "", None)]
    left = len(result.contents) - _MOST_CONTENTS
    return Reply(tuple([*parts, f"[{left} more contents]"] if left > 0 else parts), failed=False)


def reply_of_resources(result: ListResourcesResult, templates: Sequence[ResourceTemplate]) -> Reply:
    """Return a list of resources and templates, one on each line."""
    lines = [
        _line(each.uri, each.title or each.name, each.description, each.mime_type)
        for each in result.resources[:_MOST_LISTED]
    ]
    lines += [
        f"template {_line(each.uri_template, each.title or each.name, each.description, each.mime_type)}"
        for each in templates[:_MOST_LISTED]
    ]
    return _listed(lines, len(result.resources), result.next_cursor)


def reply_of_prompts(result: ListPromptsResult) -> Reply:
    """Return a list of prompts with their arguments."""
    lines: list[str] = []
    for each in result.prompts[:_MOST_LISTED]:
        lines.append(_line(each.name, each.title or "", each.description, None))
        lines += [
            f"  {_line(argument.name, 'required' if argument.required else 'optional', argument.description, None)}"
            for argument in (each.arguments or [])[:_MOST_LISTED]
        ]
    return _listed(lines, len(result.prompts), result.next_cursor)


def reply_of_prompt(result: GetPromptResult) -> Reply:
    """Return the messages of a prompt, each after its role."""
    parts: list[str | Media] = []
    for message in result.messages[:_MOST_LISTED]:
        parts += [f"[{message.role}]", *_parts(message.content, {})]
    return Reply(tuple(parts), failed=False)


def _line(name: str, title: str, description: str | None, media_type: str | None) -> str:
    """Return an entry of a list in one line."""
    more = [title if title != name else "", media_type or "", description or ""]
    return " · ".join(" ".join(_short(text).split()) for text in (name, *more) if text)


def _listed(lines: Sequence[str], count: int, cursor: str | None) -> Reply:
    shown = list(lines) or ["The list is empty."]
    if count > _MOST_LISTED:
        shown.append(f"[{count - _MOST_LISTED} more entries of this part are not shown]")
    if cursor and len(cursor) <= _LONGEST_CURSOR:
        shown.append(f"[There are more entries. The next part: cursor {cursor}]")
    return Reply(("\n".join(shown),), failed=False)


def _parts(block: ContentBlock, linked: Mapping[str, ReadResourceResult]) -> Iterator[str | Media]:
    match block:
        case TextContent():
            yield block.text
        case ImageContent() | AudioContent():
            yield _decoded(block.data, "", block.mime_type, block.annotations)
        case EmbeddedResource():
            yield from _resource(block.resource, "", block.annotations)
        case ResourceLink():
            yield f"[resource {_short(block.name)} at {_short(block.uri)}]"
            if (found := linked.get(block.uri)) is not None:
                for contents in found.contents:
                    yield from _resource(contents, block.name, block.annotations)


def _resource(contents: _Contents, name: str, marks: Annotations | None) -> Iterator[str | Media]:
    name = name or _name_in(contents.uri)
    match contents:
        case BlobResourceContents():
            yield _decoded(contents.blob, name, contents.mime_type or "", marks)
        case TextResourceContents():
            yield f"[text of {_short(contents.uri)}, {len(contents.text):,} characters]\n{contents.text}"
            if len(contents.text) > _LONG_TEXT or _for_person(marks):
                data = contents.text.encode("utf-8", "replace")
                yield Media(data, name, contents.mime_type or "text/plain", for_person=_for_person(marks), known=True)


def _decoded(text: str, name: str, media_type: str, marks: Annotations | None) -> str | Media:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return f"[a file ({_short(media_type)}) that is damaged: it is not base64]"
    if not data:
        return f"[a file ({_short(media_type)}) without content]"
    return Media(data, _short(name), _short(media_type), for_person=_for_person(marks))


def _for_person(marks: Annotations | None) -> bool:
    return marks is not None and marks.audience is not None and "user" in marks.audience


def _name_in(uri: str) -> str:
    """Return the last name in the path of an address."""
    try:
        return unquote(PurePosixPath(urlsplit(uri).path).name)
    except ValueError:
        return ""


def _short(text: str) -> str:
    return text if len(text) <= _MAX_NAME else f"{text[:_MAX_NAME]}…"
