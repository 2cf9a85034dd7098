"""The files in the results of tools of other systems: pictures are shown to the model, documents become text, and all
files are stored. The type of a file is read from its content, not from the statement of the other system."""

from __future__ import annotations

import asyncio
import hashlib
import mimetypes
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from pathlib import PurePosixPath

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ToolError
from arvis.domain.messages import OutgoingFile
from arvis.domain.regex import regex
from arvis.domain.text import storable
from arvis.ports.http import Fetched
from arvis.ports.reading import WebText
from arvis.ports.tool import Caller, ToolServices
from arvis.tools.workspace import write_bytes

#: The maximum number of bytes of text in one result.
MAX_BYTES = 262_144
#: The maximum number of files of one result that are used; further files are only mentioned.
_MOST_FILES = 10
#: The maximum number of characters of a document in a result.
_MOST_TEXT = 20_000

#: The tools for which a file in the folder is useful, in the order in which a result mentions them. Agents with such a
#: tool answer only trusted people.
_FOLDER_TOOLS = {
    "send_file": "send_file sends it with your reply",
    "run_shell": "programs of run_shell find it",
    "code_execution": "scripts find it",
    "read_file": "read_file reads it",
}
_ODD = regex(r"[^\w.\- ]+")
_LONGEST_NAME = 60
#: File name extensions that may be missing in the table of media types of this machine.
_ENDINGS = {
    "image/webp": ".webp",
    "audio/ogg": ".ogg",
    "audio/webm": ".weba",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
}
_UNKNOWN = "application/octet-stream"

Services = Callable[[], Awaitable[ToolServices]]


@dataclass(frozen=True, slots=True)
class Media:
    """A file in a result."""

    data: bytes = field(repr=False)
    #: The name and the media type that the other system states. Both may be empty or wrong.
    name: str
    declared: str
    #: True if the other system marks the file as a file for the person.
    for_person: bool = False
    #: True if the result also contains the content as text.
    known: bool = False


async def text_with_files(
    parts: Sequence[str | Media], *, tool: str, services: Services | None, send: bool, caller: Caller
) -> str:
    """Return the text of a result for the model, after its files are stored and shown. A file without a name gets the
    name of the `tool`. If `send` is True, all files are sent with the reply, otherwise only the files that the server
    marks for the person. `services` is None in a process that stores no files."""
    texts, count = [], 0
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        count += 1
        if count > _MOST_FILES:
            texts.append(f"[A file ({_size(part)}) was left out: a result may have at most {_MOST_FILES} files.]")
        elif services is None:
            texts.append(f"[A file ({_size(part)}) was left out.]")
        else:
            texts.append(await _kept(part, tool, await services(), caller, send=send or part.for_person))
    return cut("\n".join(texts)) if texts else "The tool returned no content."


async def _kept(media: Media, tool: str, services: ToolServices, caller: Caller, *, send: bool) -> str:
    answer = Fetched(media.name, 200, media.declared.partition(";")[0].strip().lower(), None, media.data, False)
    if media.known:
        read = WebText(answer.content_type if answer.content_type.startswith("text/") else "text/plain")
    else:
        read = await services.reader.read(answer)
    name = _filename(media.name or tool, read.content_type)
    lines = []
    if read.image:
        if read.problem:
            lines.append(f"You cannot see it: {read.problem}.")
        else:
            sha256 = await services.store.put_blob(media.data)
            caller.show((name, read.content_type, sha256))
            lines.append("If you can see pictures, you see it with the newest message of the person.")
    elif read.problem:
        lines.append(f"Its content is not shown: {read.problem}.")
    if send:
        sha256 = await services.store.put_blob(media.data)
        caller.attach(OutgoingFile(name, read.content_type, len(media.data), sha256))
        lines.append("It will be sent with your reply.")
    lines += await _in_folder(media, name, caller, sent=send)
    about = f"[File {name} ({read.content_type}, {_size(media)}). {' '.join(lines)}]"
    return "\n".join([about, _within(read.text)] if read.text else [about])


async def _in_folder(media: Media, name: str, caller: Caller, *, sent: bool) -> list[str]:
    """Write the file to the folder of the conversation if the agent has a tool that uses it, and return a text about
    it."""
    uses = [text for tool, text in _FOLDER_TOOLS.items() if tool in caller.agent.tools]
    if not uses:
        return []
    path = f"tools/{hashlib.sha256(media.data).hexdigest()[:8]}-{name}"
    try:
        await asyncio.to_thread(write_bytes, caller.workspace, path, media.data)
    except ToolError as failed:
        return [f"It could not be stored in your folder: {failed.what}"]
    return [f"It is stored as {path} in your folder{'' if sent else f'; {uses[0]}'}."]


def _filename(name: str, content_type: str) -> str:
    """Return a safe file name, whose extension fits the content."""
    plain = _ODD.sub("_", storable(name).replace("\\", "/").rpartition("/")[2]).strip(" .") or "file"
    ending = _ENDINGS.get(content_type) or mimetypes.guess_extension(content_type) or ""
    suffix = PurePosixPath(plain).suffix
    if content_type == _UNKNOWN or mimetypes.guess_type(plain)[0] == content_type or suffix.lower() == ending:
        return plain if len(plain) <= _LONGEST_NAME else f"{plain[: _LONGEST_NAME - len(suffix[:12])]}{suffix[:12]}"
    return f"{plain[:_LONGEST_NAME]}{ending}"


def _within(text: str) -> str:
    missing = len(text) - _MOST_TEXT
    return text if missing <= 0 else f"{text[:_MOST_TEXT]}\n[… {missing:,} more characters of this file]"


def _size(media: Media) -> str:
    return f"{len(media.data):,} bytes"


def cut(text: str) -> str:
    """Return the text without characters that cannot be stored, cut to `MAX_BYTES`."""
    data = storable(text).encode()
    if len(data) <= MAX_BYTES:
        return data.decode()
    return f"{data[:MAX_BYTES].decode(errors='ignore')}\n[cut here: the result has {len(data)} bytes]"
