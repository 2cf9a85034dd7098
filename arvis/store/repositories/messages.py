"""Messages, their files and their deliveries, over SQL."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from arvis.domain.dataclass import replace
from arvis.domain.ids import first_id_at
from arvis.domain.messages import (
    Address,
    Attachment,
    Button,
    ButtonStyle,
    Delivery,
    DeliveryState,
    FileKind,
    FileState,
    MessageStatus,
    OutgoingFile,
    PastFile,
    PastMessage,
    Role,
    StoredMessage,
)
from arvis.domain.past_rounds import Excerpt, rounds_of, rounds_text
from arvis.domain.quotations import quotations_of, quotations_text
from arvis.domain.taint import CLEAN, Label, Taint, taint_of, taint_text
from arvis.store.sql.session import Row, Session, dump

#: Square brackets in file names are replaced by parentheses, because prompts put file names into square brackets.
_NO_BRACKETS = str.maketrans("[]", "()")


def attachment_of(row: Row) -> Attachment:
    return Attachment(
        filename=row["filename"],
        content_type=row["content_type"],
        size=row["size"],
        sha256=row["sha256"],
        state=FileState(row["state"]),
        kind=FileKind(row["kind"]) if row["kind"] else None,
        content=row["content"],
        problem=row["problem"],
        source=row["source"],
    )


def _columns(attachment: Attachment) -> dict[str, Any]:
    return {
        "filename": attachment.filename,
        "content_type": attachment.content_type,
        "size": attachment.size,
        "sha256": attachment.sha256,
        "state": attachment.state,
        "kind": attachment.kind or "",
        "content": attachment.content,
        "problem": attachment.problem,
        "source": attachment.source,
    }


class SqlFiles:
    """Implements the port `Files` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def of_message(self, message_id: str) -> list[Attachment]:
        return [attachment_of(row) for row in self._session.rows("attachments_of_message", message_id=message_id)]

    def add(self, message_id: str, attachments: Sequence[Attachment]) -> None:
        if not attachments:
            return
        row = self._session.one("next_ordinal", message_id=message_id)
        first = row["ordinal"] if row else 0
        for ordinal, attachment in enumerate(attachments, start=first):
            self._session.execute("add_attachment", message_id=message_id, ordinal=ordinal, **_columns(attachment))
        # A voice message is shown as its transcript, so it needs no file name.
        named = [each.filename.translate(_NO_BRACKETS) for each in attachments if each.kind is not FileKind.VOICE]
        if named:
            self._session.execute(
                "name_files", message_id=message_id, names=", ".join(" ".join(name.split()) for name in named)
            )

    def put(self, message_id: str, ordinal: int, attachment: Attachment) -> None:
        self._session.execute("put_attachment", message_id=message_id, ordinal=ordinal, **_columns(attachment))


#: The stored form of an empty list. Most rows contain it.
NOTHING = "[]"


def address_of(row: Row) -> Address:
    return Address(row["platform"], row["connector"], row["channel"], row["thread"])


def place(address: Address) -> dict[str, str]:
    return {
        "platform": address.platform,
        "connector": address.connector,
        "channel": address.channel,
        "thread": address.thread,
    }


def message_of(row: Row, attachments: Sequence[Attachment] = ()) -> StoredMessage:
    return StoredMessage(
        id=row["id"],
        conversation_id=row["conversation_id"],
        role=Role(row["role"]),
        content=row["content"],
        tokens=row["tokens"],
        status=MessageStatus(row["status"]),
        address=address_of(row),
        principal_id=row["principal_id"],
        user_name=row["user_name"],
        agent_id=row["agent_id"],
        execution_id=row["execution_id"],
        turn=row["turn"],
        created_at=row["created_at"],
        reason=row["reason"],
        route=row["route"],
        reply_to=row["reply_to"],
        position=row["position"],
        attachments=tuple(attachments),
        taint=_taint_of(row),
        platform_ref=row["platform_ref"],
        source=row["source"],
        album=row["album"],
        wait_id=row["wait_id"],
        quotations=quotations_of(row["quotations"]) if row["quotations"] else (),
        version_id=row["version_id"],
    )


def delivery_of(row: Row) -> Delivery:
    return Delivery(
        id=row["id"],
        message_id=row["message_id"],
        part=row["part"],
        address=address_of(row),
        seq=row["seq"],
        content=row["content"],
        reply_to=row["reply_to"],
        answers=tuple(json.loads(row["answers"])),
        agent=row["agent"],
        state=DeliveryState(row["state"]),
        created_at=row["created_at"],
        reply_ref=row["reply_ref"],
        execution_id=row["execution_id"],
        buttons=buttons_of(row["buttons"]),
        files=files_of(row["files"]),
    )


def buttons_of(text: str) -> tuple[Button, ...]:
    if text == NOTHING:
        return ()
    return tuple(Button(each["id"], each["label"], ButtonStyle(each["style"])) for each in json.loads(text))


def files_of(text: str) -> tuple[OutgoingFile, ...]:
    return () if text == NOTHING else tuple(OutgoingFile(**each) for each in json.loads(text))


def list_of(parts: Sequence[Button | OutgoingFile]) -> str:
    """Return buttons or files as the JSON that `buttons_of` and `files_of` read."""
    return dump([asdict(part) for part in parts]) if parts else NOTHING


#: Roles by value. A look-up here is much cheaper than a call of the enum, and every turn reads about a hundred rows.
_ROLES = {role.value: role for role in Role}


#: The maximum number of characters of a file's text that a past message contains.
LONGEST_FILE = 60_000


def past_messages_of(session: Session, conversation_id: str, rows: Sequence[Row]) -> list[PastMessage]:
    """Return the messages of ended turns, with their files. `rows` are sorted by turn."""
    messages = [past_message_of(row) for row in rows]
    if not any(message.file_names for message in messages):
        return messages
    turns = {"first_turn": messages[0].turn, "last_turn": messages[-1].turn}
    half = LONGEST_FILE // 2
    found = session.rows("files_of_turns", conversation_id=conversation_id, **turns, most=LONGEST_FILE, half=half)
    files: dict[str, list[PastFile]] = defaultdict(list)
    numbers: dict[int, int] = defaultdict(int)
    for row in found:
        numbers[row["turn"]] += 1
        files[row["message_id"]].append(_past_file(row, numbers[row["turn"]]))
    return [_with_files(message, files[message.id]) if message.id in files else message for message in messages]


def _past_file(row: Row, number: int) -> PastFile:
    return PastFile(number, attachment_of(row), Excerpt(row["head"], row["characters"], row["tail"]))


def _with_files(message: PastMessage, files: Sequence[PastFile]) -> PastMessage:
    """Return a message with its files. Add the label `FILES`, as for a new message, if any file is not a voice
    message."""
    outside = message.role is Role.USER and any(each.file.kind is not FileKind.VOICE for each in files)
    taint = message.taint | {Label.FILES} if outside else message.taint
    return replace(message, files=tuple(files), taint=taint)


def past_message_of(row: Row) -> PastMessage:
    return PastMessage(
        role=_ROLES[row["role"]],
        content=row["content"],
        tokens=row["tokens"],
        id=row["id"],
        turn=row["turn"],
        position=row["position"],
        taint=_taint_of(row),
        principal_id=row["principal_id"],
        user_name=row["user_name"],
        created_at=row["created_at"],
        file_names=row["files"],
        rounds=rounds_of(row["rounds"]) if row["rounds"] else (),
        quotations=quotations_of(row["quotations"]) if row["quotations"] else (),
    )


def _taint_of(row: Row) -> Taint:
    return taint_of(row["taint"]) if row["taint"] else CLEAN


class SqlMessages:
    """Implements the port `Messages` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def by_event(self, address: Address, event_id: str) -> StoredMessage | None:
        row = self._session.one(
            "message_by_event",
            platform=address.platform,
            connector=address.connector,
            channel=address.channel,
            event_id=event_id,
        )
        return message_of(row) if row else None

    def get(self, message_id: str) -> StoredMessage | None:
        row = self._session.one("get_message", id=message_id)
        return message_of(row) if row else None

    def add(self, message: StoredMessage, *, event_id: str | None = None) -> None:
        self._session.execute(
            "add_message",
            id=message.id,
            conversation_id=message.conversation_id,
            role=message.role,
            content=message.content,
            tokens=message.tokens,
            status=message.status,
            reason=message.reason,
            route=message.route,
            **place(message.address),
            event_id=event_id,
            principal_id=message.principal_id,
            user_name=message.user_name,
            agent_id=message.agent_id,
            execution_id=message.execution_id,
            position=message.position,
            turn=message.turn,
            reply_to=message.reply_to,
            created_at=message.created_at,
            taint=taint_text(message.taint),
            platform_ref=message.platform_ref,
            source=message.source,
            album=message.album,
            wait_id=message.wait_id,
            rounds=rounds_text(message.rounds),
            quotations=quotations_text(message.quotations),
        )
        begun = self._session.notices.begun.get(message.execution_id or "")
        if begun is not None and message.role is Role.USER:
            begun.messages.append(message)

    def of_turn(self, execution_id: str) -> list[StoredMessage]:
        rows = self._session.rows("messages_of_turn", execution_id=execution_id)
        files: dict[str, list[Attachment]] = defaultdict(list)
        if any(row["with_files"] for row in rows):
            for row in self._session.rows("attachments_of_turn", execution_id=execution_id):
                files[row["message_id"]].append(attachment_of(row))
        return [message_of(row, files.get(row["id"], ())) for row in rows]

    def join_turn(self, joining: str, execution_id: str, *, behind: int = 0) -> None:
        self._session.execute("join_turn", joining=joining, execution_id=execution_id, behind=behind)

    def move(self, message_id: str, execution_id: str, position: int) -> None:
        self._session.execute("move_message", id=message_id, execution_id=execution_id, position=position)

    def settle_turn(
        self,
        execution_id: str,
        status: MessageStatus,
        *,
        reason: str | None,
        turn: int | None,
        reply_id: str | None,
        straight: bool = False,
    ) -> None:
        self._session.execute(
            "settle_turn", execution_id=execution_id, status=status, reason=reason, turn=turn, reply_id=reply_id
        )
        if not straight:
            self._session.execute("settle_progress", execution_id=execution_id, turn=turn)

    def progress(self, execution_id: str) -> list[StoredMessage]:
        return [message_of(row) for row in self._session.rows("progress_of_turn", execution_id=execution_id)]

    def answered_by(self, message_id: str, reply_id: str) -> None:
        self._session.execute("answered_by", id=message_id, reply_id=reply_id)

    def mark_turn(self, execution_id: str, status: MessageStatus, reason: str | None = None) -> None:
        self._session.execute("mark_turn", execution_id=execution_id, status=status, reason=reason)

    def reopen_turn(self, execution_id: str) -> None:
        self._session.execute("supersede_notice", execution_id=execution_id)
        self._session.execute("reopen_turn", execution_id=execution_id)
        self._session.execute("reopen_progress", execution_id=execution_id)

    def history(self, conversation_id: str, limit: int) -> Sequence[PastMessage]:
        key = (conversation_id, limit)
        held = self._session.held_history(key)
        after = held[-1].turn if held else 0
        rows = self._session.rows("history", conversation_id=conversation_id, after=after, limit=limit)
        if held and not rows:
            return held
        newer = past_messages_of(self._session, conversation_id, rows[::-1])
        found = (*held, *newer)[-limit:] if held else tuple(newer)
        self._session.hold_history(key, found)
        return found

    def of_past_turn(self, conversation_id: str, turn: int) -> list[StoredMessage]:
        rows = self._session.rows("past_turn", conversation_id=conversation_id, turn=turn)
        return [
            replace(message_of(row, self._files(row)), rounds=rounds_of(row["rounds"]))
            for row in sorted(rows, key=lambda row: row["position"])
        ]

    def _files(self, row: Row) -> list[Attachment]:
        return SqlFiles(self._session).of_message(row["id"]) if row["files"] else []

    def recent(self, conversation_id: str, principal_id: str, limit: int, *, since: int = 0) -> list[int]:
        rows = self._session.rows(
            "recent_messages",
            conversation_id=conversation_id,
            principal_id=principal_id,
            limit=limit,
            after=first_id_at(since),
        )
        return [row["created_at"] for row in rows]

    def label(self, message_id: str, taint: Taint) -> None:
        self._session.execute("label_message", id=message_id, taint=taint_text(taint))


class SqlDeliveries:
    """Implements the port `Deliveries` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def prune(self, before: int, limit: int) -> int:
        old = {"oldest": first_id_at(before), "limit": limit}
        self._session.execute("prune_delivery_parts", **old)
        return self._session.execute("prune_deliveries", **old)

    def next_seq(self, address: Address) -> int:
        row = self._session.one(
            "next_seq", platform=address.platform, connector=address.connector, channel=address.channel
        )
        assert row is not None  # noqa: S101 an upsert returns its row
        seq: int = row["seq"]
        return seq

    def add(self, delivery: Delivery) -> None:
        sent = delivery.state is DeliveryState.SENT
        self._session.execute(
            "add_delivery",
            id=delivery.id,
            message_id=delivery.message_id,
            part=delivery.part,
            **place(delivery.address),
            seq=delivery.seq,
            content=delivery.content,
            reply_to=delivery.reply_to,
            answers=dump(list(delivery.answers)),
            agent=delivery.agent,
            state=delivery.state,
            created_at=delivery.created_at,
            reply_ref=delivery.reply_ref,
            execution_id=delivery.execution_id,
            buttons=list_of(delivery.buttons),
            files=list_of(delivery.files),
            settled_at=delivery.created_at if sent else None,
            platform_id=delivery.id if sent else None,
        )
        if sent:
            self._session.notices.sent.append(delivery)

    def get(self, delivery_id: str) -> Delivery | None:
        row = self._session.one("get_delivery", id=delivery_id)
        return delivery_of(row) if row else None

    def set_state(
        self,
        delivery_id: str,
        state: DeliveryState,
        now: int,
        *,
        platform_id: str | None = None,
        error: str | None = None,
    ) -> None:
        self._session.execute(
            "set_delivery_state", id=delivery_id, state=state, now=now, platform_id=platform_id, error=error
        )
