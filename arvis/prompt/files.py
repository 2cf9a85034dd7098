"""The files of messages in a prompt: texts are quoted, images named, failures reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arvis.domain.dataclass import replace
from arvis.domain.messages import Attachment, FileKind, StoredMessage
from arvis.media import path_of
from arvis.prompt.tool_rounds import cut_to_fit, fair_share

#: The problem that is reported for a file if not even a part of its text fits.
_NO_ROOM = "its text does not fit into the prompt"


def file_text(file: Attachment) -> str:
    """Return the text of a file for the prompt, or "" for a transcribed voice message, whose text is in the message.
    Every line of a document begins with `> `, so that it cannot look like a person's words."""
    about = about_file(file)
    if file.problem:
        return f"[File {about} could not be read: {on_one_line(file.problem)}. Tell the person.{place_of(file)}]"
    match file.kind:
        case FileKind.VOICE if file.content:
            return ""
        case FileKind.IMAGE:
            return f"[Picture {about}.{place_of(file)}]"
        case FileKind.DOCUMENT:
            quoted = "\n".join(f"> {line}" for line in file.content.splitlines())
            return f"[File {about}.{place_of(file)} Content:]\n{quoted}" if quoted else f"[File {about} is empty.]"
        case _:
            return f"[Attached: {about}]"


def files_that_fit(messages: Sequence[StoredMessage], room: int, count: Callable[[str], int]) -> list[StoredMessage]:
    """Return the messages, with the texts of their files cut to at most `room` tokens together."""
    texts = [file.content for message in messages for file in message.attachments if _is_quoted(file)]
    sizes = [count(text) for text in texts]
    if sum(sizes) <= room:
        return list(messages)
    share = fair_share(sizes, room)
    return [
        replace(each, attachments=tuple(_cut(file, share, count) for file in each.attachments)) for each in messages
    ]


def _cut(file: Attachment, share: int, count: Callable[[str], int]) -> Attachment:
    if not _is_quoted(file):
        return file
    shortened = cut_to_fit(file.content, share, count)
    return replace(file, content=shortened, problem="" if shortened else _NO_ROOM)


def _is_quoted(file: Attachment) -> bool:
    return file.kind is FileKind.DOCUMENT and bool(file.content)


def place_of(file: Attachment) -> str:
    return f" In your folder: {path_of(file)}." if file.sha256 else ""


def about_file(file: Attachment) -> str:
    """Return the name, type and size of a file."""
    return f"{on_one_line(file.filename)} ({on_one_line(file.content_type)}, {file.size} bytes)"


def on_one_line(text: str) -> str:
    return " ".join(text.split())
