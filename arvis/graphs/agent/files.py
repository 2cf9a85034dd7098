"""The node `read_files`: it fetches and stores the files of a turn's messages, and extracts their text or speech.

A file is fetched only after its message was accepted, so only people who may use the agent can cause a fetch. The
result for each file is stored at once, so a retry of the turn reads only the remaining files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ToolError, Unavailable, sentences
from arvis.domain.messages import Address, Attachment, FileKind, FileState, StoredMessage
from arvis.domain.runs import RunResult
from arvis.engine.graph import Decision, End, Next, NodeContext
from arvis.engine.state import changes
from arvis.graphs.context import load_turn_messages
from arvis.llm.tokens import estimate_tokens
from arvis.media import MediaReader, Reading, lost, path_of
from arvis.messaging import notices
from arvis.ports.connector import FetchError
from arvis.ports.store import Store, Transaction
from arvis.services import allowances
from arvis.services.allowances import Allowed, UsedUp
from arvis.tasks.state import BY_DAEMON, WorkState
from arvis.tools.workspace import write_bytes

#: The maximum number of attempts to fetch or read a file, and the maximum number of seconds for one fetch.
TRIES = 3
_PATIENCE = 120.0


class FilesAwaited(Unavailable):
    """The signal for the queue to retry the turn: a file could not be fetched, or the speech engine did not answer."""

    code = "files"


@dataclass(frozen=True, slots=True)
class FileRules:
    """The limits and services for files."""

    #: A function that returns the bytes of a file. Its arguments are the address of the message, the file's `source`
    #: and the maximum number of bytes. It raises `FetchError`.
    fetch: Callable[[Address, str, int], Awaitable[bytes]]
    media: MediaReader
    #: The directory that contains the folders of the conversations.
    sessions: Path
    most_bytes: int = 20_971_520
    allowed: Allowed = field(default_factory=Allowed)


@dataclass(frozen=True, slots=True)
class _Place:
    """The position of one file in its message."""

    message: StoredMessage
    ordinal: int

    @property
    def name(self) -> str:
        return f"file {self.message.id} {self.ordinal + 1}"


class FileNode:
    def __init__(self, *, store: Store, rules: FileRules) -> None:
        self._store = store
        self._rules = rules

    async def read_files(self, context: NodeContext) -> Decision:
        """Read the files of the turn's messages. If the messages have no text and none of their files can be read, end
        the turn. The result names the reasons."""
        turn = await self._store.read(load_turn_messages, context.execution)
        messages = [await self._read_all(context, message) for message in turn.current]
        context.commit_first()
        if all(_is_lost(message) for message in messages):
            problems = [(file.filename, file.problem) for message in messages for file in message.attachments]
            return End(
                RunResult(notices.unreadable(problems), "", "", "").to_json(), **changes(WorkState, read=BY_DAEMON)
            )
        return Next(None)

    async def _read_all(self, context: NodeContext, message: StoredMessage) -> StoredMessage:
        files = []
        for ordinal, file in enumerate(message.attachments):
            place, known = _Place(message, ordinal), file
            if is_waiting(known):
                known = await self._fetched(context, place, known)
            if is_unread(known):
                known = await self._heard_or_read(context, place, known)
            files.append(known)
        return replace(message, attachments=tuple(files))

    async def _fetched(self, context: NodeContext, place: _Place, file: Attachment) -> Attachment:
        """Fetch and store the bytes of a file. Return the stored file, or the file with the reason why it could not be
        stored."""
        try:
            async with asyncio.timeout(_PATIENCE):
                data = await self._rules.fetch(place.message.address, file.source, self._rules.most_bytes)
        except TimeoutError:
            error = FetchError("it took too long")
        except FetchError as failed:
            error = failed
        else:
            used = await self._store.write(_use_bytes, place.message, self._rules.allowed, len(data), context.now())
            if used is not None:
                problem = allowances.too_many_bytes(used)
                return await self._settle(place, file, lost(sentences(problem.what, problem.fix)), context.now())
            sha256 = await self._store.put_blob(data)
            return await self._keep(place, replace(file, size=len(data), sha256=sha256, state=FileState.STORED))
        if not error.permanent:
            await _try_again(context, place, str(error))
        return await self._settle(place, file, lost(f"it could not be fetched ({error})"), context.now())

    async def _heard_or_read(self, context: NodeContext, place: _Place, file: Attachment) -> Attachment:
        data = await self._store.get_blob(file.sha256)
        if data is None:
            return await self._settle(place, file, lost("its content is no longer stored"), context.now())
        await self._lay_out(context, file, data)
        reading = await self._rules.media.read(data, file.filename, spoken=file.kind is FileKind.VOICE)
        if reading.again:
            await _try_again(context, place, reading.problem)
        return await self._settle(place, file, reading, context.now())

    async def _lay_out(self, context: NodeContext, file: Attachment, data: bytes) -> None:
        """Write the file into the workspace of the conversation. The prompt contains the file's text in any case. So
        ignore a failure, for example if a program of the agent has blocked the path."""
        workspace = self._rules.sessions / WorkState.from_json(context.state).conversation / "workspace"
        with suppress(ToolError):
            await asyncio.to_thread(write_bytes, workspace, path_of(file), data)

    async def _settle(self, place: _Place, file: Attachment, reading: Reading, now: int) -> Attachment:
        settled = replace(
            file,
            content_type=reading.content_type or file.content_type,
            state=FileState.FAILED if not file.sha256 else FileState.STORED,
            kind=reading.kind,
            content=reading.content,
            problem=reading.problem,
        )
        await self._store.write(_settle, place, settled, now)
        return settled

    async def _keep(self, place: _Place, file: Attachment) -> Attachment:
        await self._store.write(_put, place, file)
        return file


def is_waiting(file: Attachment) -> bool:
    return file.state is FileState.WAITING


def is_unread(file: Attachment) -> bool:
    """Return True if the file is stored but was not read yet. (An unread file has no `kind`, unless it is a voice
    message.)"""
    if file.state is not FileState.STORED or file.content or file.problem:
        return False
    return file.kind in {None, FileKind.VOICE}


def is_voice(message: StoredMessage) -> bool:
    """Return True if the message has a voice message with a transcript."""
    return any(file.kind is FileKind.VOICE and file.content for file in message.attachments)


def unsettled(messages: Sequence[StoredMessage]) -> bool:
    """Return True if a message has files to fetch or to read."""
    return any(is_waiting(file) or is_unread(file) for message in messages for file in message.attachments)


def _is_lost(message: StoredMessage) -> bool:
    files = message.attachments
    return bool(files) and not message.content.strip() and all(file.problem for file in files)


async def _try_again(context: NodeContext, place: _Place, why: str) -> None:
    """Raise `FilesAwaited`, so that the queue retries the turn. After `TRIES` attempts, return instead. Each attempt is
    stored as an effect of the visit, so a retry finds the earlier attempts."""
    for number in range(1, TRIES):
        name = f"{place.name}: try {number}"
        if context.known(name) is None:

            async def noted() -> Any:
                return why

            await context.once(name, noted)
            await context.flush()
            raise FilesAwaited(f"A file could not be read yet: {why}")


# -- transaction scripts -----------------------------------------------------------------------------------------------


def _use_bytes(tx: Transaction, message: StoredMessage, allowed: Allowed, size: int, now: int) -> UsedUp | None:
    person = tx.principals.get(message.principal_id or "")
    return None if person is None else allowances.use_bytes(tx, person, person.role, allowed, now, size=size)


def _put(tx: Transaction, place: _Place, file: Attachment) -> None:
    tx.files.put(place.message.id, place.ordinal, file)


def _settle(tx: Transaction, place: _Place, file: Attachment, now: int) -> None:
    """Store the result of reading a file. The transcript of a voice message becomes a part of the message's text."""
    message, known = tx.messages.get(place.message.id), tx.files.of_message(place.message.id)
    if message is None or known[place.ordinal].content:
        return  # another worker has stored the result
    _put(tx, place, file)
    data = {"name": file.filename, "type": file.content_type, "kind": file.kind, "problem": file.problem}
    tx.timeline.note([message.id], "file", data, now)
    if file.kind is FileKind.VOICE and file.content:
        heard = f"[Voice]: {file.content}"
        content = f"{message.content}\n{heard}" if message.content else heard
        tx.incoming.replace_text(message.id, content, estimate_tokens(content))
