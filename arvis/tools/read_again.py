"""Tool `read_again`: returns a stored result or file of an earlier turn of the same conversation.

The tool is not an entry point. Agents with tools or knowledge bases get it in turns of a conversation whose prompts
only name or shorten earlier results and files (`prompt/past.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ToolError
from arvis.domain.executions import EffectState
from arvis.domain.messages import Attachment, FileKind, StoredMessage
from arvis.domain.past_rounds import PastCall
from arvis.domain.regex import regex
from arvis.domain.runs import PictureRef
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.domain.tools import READ_AGAIN, Risk, ToolDeclaration, ToolOutput
from arvis.ports.store import Store, Transaction
from arvis.ports.tool import Caller, Tool
from arvis.tools.function import FunctionTool

#: The maximum number of characters that one call returns.
PART = 30_000
_REFERENCE = regex(r"([rf])(\d{1,12})\.(\d{1,6})")

#: The outputs have the taint of the turn from which they come, which the call reports itself.
DECLARATION = ToolDeclaration(risk=Risk.READ, harmless=True, own_output=True)


@dataclass(frozen=True, slots=True)
class _Found:
    text: str
    taint: Taint
    pictures: tuple[PictureRef, ...] = ()


class PastTurns:
    """The `ToolSource` of this tool."""

    def __init__(self, *, store: Store) -> None:
        self._store = store
        self._tool: Tool | None = None

    async def find(self, names: Sequence[str]) -> Sequence[Tool]:
        if READ_AGAIN not in names:
            return ()
        self._tool = self._tool or tool(self._store)
        return (self._tool,)

    async def all(self) -> Sequence[Tool]:
        """Return no tool, because settings of agents do not name this tool."""
        return ()


def tool(store: Store) -> Tool:
    async def read_again(
        reference: Annotated[str, Field(max_length=40, description="Such as r12.3 (a result) or f4.1 (a file)")],
        offset: Annotated[int, Field(ge=0, description="The first character")] = 0,
        *,
        caller: Caller,
    ) -> str:
        """Show a result or a file of an earlier turn of this conversation again, by the reference in its short form."""
        known = _REFERENCE.fullmatch(reference.strip().strip("[]").lower())
        if known is None:
            raise ToolError("A reference has the form r12.3 or f4.1. Use one that occurs in this conversation.")
        kind, turn, number = known[1], int(known[2]), int(known[3])
        found = await store.read(_result if kind == "r" else _file, caller.conversation_id, turn, number)
        if found is None:
            raise ToolError(f"There is no {reference} in this conversation. Use a reference that occurs in it.")
        caller.stain(found.taint)
        for picture in found.pictures:
            caller.show(picture)
        return _part(found.text, offset)

    return FunctionTool(read_again, DECLARATION)


def _part(text: str, offset: int) -> str:
    if offset and offset >= len(text):
        raise ToolError(f"The text has only {len(text):,} characters. Use a smaller offset.")
    part = text[offset : offset + PART]
    missing = len(text) - offset - len(part)
    return f"{part}\n[… {missing:,} more characters: continue with offset={offset + len(part)}]" if missing else part


def _result(tx: Transaction, conversation_id: str, turn: int, number: int) -> _Found | None:
    for message in tx.messages.of_past_turn(conversation_id, turn):
        calls = [call for each in message.rounds for call in each.calls]
        if 0 < number <= len(calls):
            call = calls[number - 1]
            return _Found(_output(tx, message, call), message.taint, call.pictures)
    return None


def _output(tx: Transaction, message: StoredMessage, call: PastCall) -> str:
    if call.secret:
        return "This output was secret, so it was not kept. Call the tool again if you need it."
    if call.place is not None:
        for effect in tx.executions.effects(message.execution_id or ""):
            same = (effect.cursor_id, effect.visit, effect.name) == call.place
            if same and effect.state is EffectState.FINISHED and effect.result is not None:
                return ToolOutput.from_json(effect.result).content
    kept = call.output.within(call.output.characters)
    return kept if call.output.whole else f"{kept}\n[The whole output is no longer stored.]"


def _file(tx: Transaction, conversation_id: str, turn: int, number: int) -> _Found | None:
    for message in tx.messages.of_past_turn(conversation_id, turn):
        if number <= len(message.attachments):
            file = message.attachments[number - 1]
            return _shown(file, message.taint | (CLEAN if file.kind is FileKind.VOICE else {Label.FILES}))
        number -= len(message.attachments)
    return None


def _shown(file: Attachment, taint: Taint) -> _Found:
    if file.problem:
        return _Found(f"The file could not be read: {file.problem}.", taint)
    if file.kind is FileKind.IMAGE and file.sha256:
        picture = (file.filename, file.content_type, file.sha256)
        return _Found("The picture is attached to the newest message of the person.", taint, (picture,))
    return _Found(file.content or "The file has no text.", taint)
