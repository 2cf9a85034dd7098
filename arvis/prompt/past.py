"""The files and rounds of past messages in a prompt: first in full, then shortened, then only named.

`prompt/talk.py` chooses the detail of each message."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.markup import escape
from arvis.domain.messages import FileKind, PastFile, PastMessage
from arvis.domain.past_rounds import Excerpt, PastCall, PastRound
from arvis.domain.runs import PictureRef, Turn
from arvis.domain.tools import READ_AGAIN, ToolCall, ToolOutput
from arvis.prompt.files import about_file, file_text, on_one_line, place_of
from arvis.prompt.tool_rounds import fair_share


class Detail(IntEnum):
    """The detail in which a prompt contains the files and rounds of a past message."""

    #: Each file and each output is only named, unless it is shorter than its name.
    NAMED = 0
    #: The beginning and the end of each text. Pictures are named.
    SHORT = 1
    #: The complete stored text of each file and output.
    FULL = 2


@dataclass(frozen=True, slots=True)
class Look:
    """The properties of a prompt that determine the form of its past messages."""

    #: True if several people write in the conversation.
    group: bool = False
    #: True if the request may contain tool calls. If False, calls and outputs are written as text.
    calls: bool = False
    #: True if the agent can read files and outputs again.
    reads: bool = False


#: For each detail: the maximum number of characters of a file, of all outputs of a turn together, of a text in the
#: arguments of a call, and of the text beside the calls of a round.
_ALL = 1_000_000
_FILE = {Detail.FULL: _ALL, Detail.SHORT: 1_500, Detail.NAMED: 200}
_OUTPUTS = {Detail.FULL: _ALL, Detail.SHORT: 3_000}
_ARGUMENT = {Detail.FULL: _ALL, Detail.SHORT: 200, Detail.NAMED: 80}
_TEXT = {Detail.FULL: _ALL, Detail.SHORT: 400, Detail.NAMED: 160}
#: The maximum number of characters of the arguments in a list of sources.
_LONGEST_SOURCE = 100
#: An output with at most this many characters is never replaced by its name.
_AS_SHORT_AS_A_NAME = 160

_SECRET = "[A secret output, which is not kept. Call the tool again if you need it.]"  # noqa: S105 - a text for models
#: The beginning of a message with calls and outputs as text.
CALLS_AS_TEXT = "[Your tool calls before your next reply, with their outputs. The calls are finished.]"


def is_rich(message: PastMessage) -> bool:
    """Return True if the detail changes the form of this message in a prompt."""
    return bool(message.files or message.rounds)


def reference(kind: str, turn: int, number: int) -> str:
    """Return the reference to a result (`kind` is `r`) or a file (`f`), as in `r12.3`."""
    return f"{kind}{turn}.{number}"


# -- files -------------------------------------------------------------------------------------------------------------


def file_texts(message: PastMessage, detail: Detail, *, reads: bool) -> list[str]:
    """Return the texts of the message's files. Transcribed voice messages are left out, because the text of the message
    contains them."""
    texts = (_file(each, reference("f", message.turn, each.number), detail, reads=reads) for each in message.files)
    return [text for text in texts if text]


def pictures_of(message: PastMessage, detail: Detail) -> tuple[PictureRef, ...]:
    """Return the pictures that are sent again with this message."""
    if detail < Detail.FULL or not message.files:
        return ()
    files = [each.file for each in message.files]
    return tuple(
        (file.filename, file.content_type, file.sha256)
        for file in files
        if file.kind is FileKind.IMAGE and file.sha256 and not file.problem
    )


def picture_bytes(message: PastMessage) -> int:
    """Return the size of the pictures of a message."""
    return sum(each.file.size for each in message.files if each.file.kind is FileKind.IMAGE)


def _file(past: PastFile, ref: str, detail: Detail, *, reads: bool) -> str:
    file, text = past.file, past.text
    again = f" {READ_AGAIN} shows it." if reads else ""
    match file.kind:
        case FileKind.VOICE if text.characters:
            return ""
        case _ if file.problem:
            return f"[File {about_file(file)} could not be read: {on_one_line(file.problem)}.{place_of(file)}]"
        case FileKind.IMAGE if detail < Detail.FULL:
            return f"[Picture {ref}: {about_file(file)}. It is not shown here.{again}{place_of(file)}]"
        case FileKind.DOCUMENT if detail is Detail.NAMED and text.characters > _FILE[detail]:
            return f"[File {ref}: {about_file(file)}, {text.characters:,} characters of text.{again}{place_of(file)}]"
    shown = text.within(_FILE[detail], _hint(ref, reads=reads))
    return file_text(replace(file, content=shown))


def _hint(ref: str, *, reads: bool) -> str:
    return f"; {READ_AGAIN} {ref} shows them" if reads else ""


# -- rounds ------------------------------------------------------------------------------------------------------------


def turns_before(message: PastMessage, look: Look, detail: Detail) -> tuple[Turn, ...]:
    """Return the rounds before a reply as messages of a prompt. If the request may contain calls, they are calls and
    outputs; otherwise they are one message of the user. (Models would imitate calls in a text of the assistant.)"""
    if not look.calls:
        return (Turn("user", escape(f"{CALLS_AS_TEXT}\n{rounds_words(message, detail, reads=look.reads)}")),)
    return tuple(turn for text, calls in _numbered(message, detail, reads=look.reads) for turn in _turns(text, calls))


def rounds_words(message: PastMessage, detail: Detail, *, reads: bool = False) -> str:
    """Return the rounds before a reply as text. The caller must escape it for a prompt."""
    parts = []
    for text, calls in _numbered(message, detail, reads=reads):
        parts += [f"You wrote: {text}"] if text else []
        parts += [_as_text(call, output) for call, output in calls]
    return "\n".join(parts)


def sources_of(message: PastMessage) -> list[str]:
    """Return the references to the message's results and files, with their names, each on one line."""
    found = [
        f"{reference('f', message.turn, each.number)} {about_file(each.file)}"
        for each in message.files
        if each.file.kind is not FileKind.VOICE and not each.file.problem
    ]
    calls = [call for each in message.rounds for call in each.calls]
    for number, call in enumerate(calls, start=1):
        if call.output.characters > _AS_SHORT_AS_A_NAME:
            asked = on_one_line(json.dumps(shortened(call.arguments, _ARGUMENT[Detail.NAMED]), ensure_ascii=False))
            ref = reference("r", message.turn, number)
            found.append(f"{ref} {call.name} {asked[:_LONGEST_SOURCE]}: {call.output.characters:,} characters")
    return found


_Calls = Sequence[tuple[ToolCall, ToolOutput]]


def _numbered(message: PastMessage, detail: Detail, *, reads: bool) -> Iterator[tuple[str, _Calls]]:
    share = _share(message.rounds, detail)
    number = 0
    for each in message.rounds:
        calls = []
        for past in each.calls:
            number += 1
            ref = reference("r", message.turn, number)
            mark = hashlib.sha256(f"{message.id} {ref}".encode()).hexdigest()[:9]
            call = ToolCall(mark, past.name, shortened(past.arguments, _ARGUMENT[detail]))
            content = _output(past, ref, detail, share, reads=reads)
            calls.append((call, ToolOutput(mark, content, failed=past.failed)))
        yield Excerpt.of(each.text, _TEXT[detail]).within(_TEXT[detail]), calls


def _turns(text: str, calls: _Calls) -> tuple[Turn, Turn]:
    outputs = tuple(replace(output, content=escape(output.content)) for _, output in calls)
    return Turn("assistant", escape(text), calls=tuple(call for call, _ in calls)), Turn("user", "", outputs=outputs)


def _as_text(call: ToolCall, output: ToolOutput) -> str:
    quoted = "\n".join(f"> {line}" for line in output.content.splitlines())
    end = "failed" if output.failed else "output"
    return f"- {call.name} {json.dumps(call.arguments, ensure_ascii=False)} → {end}:\n{quoted}"


def _share(rounds: Sequence[PastRound], detail: Detail) -> int:
    """Return the maximum number of characters of each output."""
    if detail is Detail.NAMED:
        return _AS_SHORT_AS_A_NAME
    return fair_share([call.output.size for each in rounds for call in each.calls], _OUTPUTS[detail])


def _output(past: PastCall, ref: str, detail: Detail, share: int, *, reads: bool) -> str:
    if past.secret:
        return _SECRET
    if detail is Detail.NAMED and past.output.characters > _AS_SHORT_AS_A_NAME:
        again = f" {READ_AGAIN} shows it." if reads else ""
        return f"[Result {ref}: {past.output.characters:,} characters, not shown here.{again}]"
    shown = past.output.within(share, _hint(ref, reads=reads))
    if not past.pictures:
        return shown
    return f"{shown}\n[Its pictures are not shown here{f'; {READ_AGAIN} {ref} shows them' if reads else ''}.]"


def shortened(arguments: Mapping[str, Any], longest: int, items: int = 50) -> dict[str, Any]:
    """Return the arguments with shortened values: texts have at most `longest` characters, and lists have at most
    `items` items."""
    return {name: _short(value, longest, items) for name, value in arguments.items()}


def _short(value: Any, longest: int, items: int) -> Any:
    match value:
        case str() if len(value) > longest:
            return f"{value[:longest]}… ({len(value):,} characters)"
        case dict():
            return shortened(value, longest, items)
        case list() | tuple():
            return [_short(member, longest, items) for member in value[:items]]
    return value
