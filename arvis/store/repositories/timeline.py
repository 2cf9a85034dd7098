"""The timeline of a message, which is computed from the rows of its work and from stored notes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.ids import first_id_at
from arvis.domain.messages import Address, MessageStatus
from arvis.ports.insights import MessageTimeline, TimelineStep
from arvis.store.repositories.jobs import job_of
from arvis.store.repositories.messages import attachment_of, message_of, place
from arvis.store.repositories.reactions import feedback_of
from arvis.store.sql.session import Row, Session, dump


@dataclass(frozen=True, slots=True)
class MessageRows:
    """The rows about one message, each list sorted by time."""

    message: Row
    user_messages: Sequence[Row]
    attachments: Sequence[Row]
    reply: Sequence[Row]
    agent: Sequence[Row]
    jobs: Sequence[Row]
    steps: Sequence[Row]
    usage: Sequence[Row]
    sums: Sequence[Row]
    notes: Sequence[Row]
    deliveries: Sequence[Row]
    feedback: Sequence[Row]


def current_status(stored: MessageStatus, job_status: str | None) -> MessageStatus:
    """Return the status that people see. An accepted message whose job waits or runs is shown as `queued` or
    `running`."""
    if stored is not MessageStatus.ACCEPTED or job_status is None:
        return stored
    return MessageStatus.RUNNING if job_status == "running" else MessageStatus.QUEUED


def timeline_of(rows: MessageRows) -> MessageTimeline:
    files = [row for row in rows.attachments if row["message_id"] == rows.message["id"]]
    message = message_of(rows.message, [attachment_of(row) for row in files])
    job = job_of(rows.jobs[-1]) if rows.jobs else None
    reply = rows.reply[0] if rows.reply else None
    return MessageTimeline(
        message=message,
        status=current_status(message.status, job.status if job else None),
        reason=message.reason or message.route,
        reply=reply["content"] if reply else None,
        reply_id=reply["id"] if reply else None,
        answers=[row["id"] for row in rows.user_messages] if reply else [],
        steps=sorted(_steps(rows), key=lambda step: step.at),
        job=job,
        agent=rows.agent[0]["slug"] if rows.agent else None,
        cost_micros=rows.sums[0]["cost_micros"] if rows.sums else 0,
        input_tokens=rows.sums[0]["input_tokens"] if rows.sums else 0,
        output_tokens=rows.sums[0]["output_tokens"] if rows.sums else 0,
        feedback=[feedback_of(row) for row in rows.feedback],
        cached_tokens=rows.sums[0]["cached_tokens"] if rows.sums else 0,
    )


def _steps(rows: MessageRows) -> Iterator[TimelineStep]:
    message = rows.message
    yield from _coming(rows)
    if message["status"] == MessageStatus.DROPPED:
        yield _step(message["created_at"], "dropped", reason=message["reason"])
    for job in rows.jobs:
        yield _step(job["created_at"], "queued", job=job["id"], kind=job["kind"], priority=job["priority"])
        if job["started_at"] is not None:
            yield _step(job["started_at"], "started", job=job["id"], claim=job["claim"])
    for step in rows.steps:
        changes = json.loads(step["changes"])
        yield _step(step["at"], "node", node=step["node"], decision=step["decision"], **changes)
    for call in rows.usage:
        details = {name: call[name] for name in _CALL}
        priced = bool(call["priced"] or call["cost_micros"])  # earlier versions stored no `priced`
        by = {"agent": call["slug"]} if call["agent_id"] != message["agent_id"] and call["slug"] else {}
        yield _step(call["started_at"], "model_call", **{**details, "priced": priced}, **by)
    for note in rows.notes:
        yield _step(note["at"], note["step"], **json.loads(note["data"]))
    if rows.reply:
        yield _step(rows.reply[0]["created_at"], message["status"], reply=rows.reply[0]["id"])
    for delivery in rows.deliveries:
        at = delivery["settled_at"] or delivery["created_at"]
        details = {name: delivery[name] for name in ("part", "seq", "state", "platform_id", "error")}
        yield _step(at, "delivery", **details)


def _coming(rows: MessageRows) -> Iterator[TimelineStep]:
    """Yield the first entries of the timeline. A message that an agent or the daemon posted has the entry `posted`. A
    message of a person has `received`, and also `routed` if an agent was chosen."""
    message, agent = rows.message, rows.agent[0]["slug"] if rows.agent else None
    at, platform = message["created_at"], message["platform"]
    if message["source"]:
        yield _step(at, "posted", platform=platform, agent=agent, source=message["source"])
        return
    yield _step(at, "received", platform=platform, user=message["user_name"])
    if message["route"] is not None:
        yield _step(at, "routed", reason=message["route"], agent=agent)


_CALL = (
    "account",
    "provider",
    "model",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "cost_micros",
    "priced",
    "duration_ms",
    "error",
    "detail",
)


def _step(at: int, step: str, **data: Any) -> TimelineStep:
    return TimelineStep(at, step, data)


class SqlTimeline:
    """Implements the port `Timeline` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def note(self, message_ids: Sequence[str], step: str, data: Mapping[str, Any], now: int) -> None:
        for message_id in message_ids:
            self._session.execute(
                "add_note", id=self._session.new_id(), message_id=message_id, at=now, step=step, data=dump(dict(data))
            )

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_notes", oldest=first_id_at(before), limit=limit)

    def of_last(self, conversation_id: str, principal_id: str) -> MessageTimeline | None:
        message = self._session.one("last_asked", conversation_id=conversation_id, principal_id=principal_id)
        return timeline_of(self._rows_of(message)) if message else None

    def of_last_unasked(self, address: Address, principal_id: str | None) -> MessageTimeline | None:
        message = self._session.one("last_unasked", **place(address), principal_id=principal_id)
        return timeline_of(self._rows_of(message)) if message else None

    def _rows_of(self, message: Row) -> MessageRows:
        rows, execution_id, reply_id = self._session.rows, message["execution_id"], message["answered_by"]
        return MessageRows(
            message=message,
            user_messages=rows("messages_of_turn", execution_id=execution_id),
            attachments=rows("attachments_of_turn", execution_id=execution_id),
            reply=rows("get_message", id=reply_id) if reply_id else [],
            agent=rows("get_agent", id=message["agent_id"]) if message["agent_id"] else [],
            jobs=rows("jobs_of_execution", execution_id=execution_id),
            steps=rows("steps_of", execution_id=execution_id),
            usage=rows("usage_of_family", execution_id=execution_id),
            sums=rows("sums_of_family", execution_id=execution_id),
            notes=rows("notes_of_message", message_id=message["id"]),
            deliveries=rows("deliveries_of_message", message_id=reply_id) if reply_id else [],
            feedback=rows("feedback_on", message_id=reply_id) if reply_id else [],
        )
