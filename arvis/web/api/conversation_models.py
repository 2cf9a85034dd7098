"""Schemas of conversations and their messages."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.conversations import CompactionStatus
from arvis.domain.messages import (
    Attachment,
    ButtonStyle,
    Delivery,
    DeliveryState,
    FileKind,
    FileState,
    MessageStatus,
    Role,
    StoredMessage,
)
from arvis.domain.taint import Label
from arvis.ports.browsing import ConversationSummary, QuestionState, ShownMessage, ShownQuestion, TalkDetail
from arvis.web.http.schema import BOOLEAN, INTEGER, NUMBER, STRING, TIME, Schema, array, object_schema, one_of, optional
from arvis.web.http.views import Json, file_view

_MICROS = 1_000_000
_PREVIEW = 200

CONVERSATION: Schema = object_schema(
    {
        "id": STRING,
        "agent": STRING,
        "platform": STRING,
        "connector": STRING,
        "channelId": STRING,
        "thread": STRING,
        "turns": INTEGER,
        "createdAt": TIME,
        "lastMessageAt": TIME,
        "open": {**BOOLEAN, "description": "True: the next message in its channel continues it."},
        "title": {**STRING, "description": "The first words of its first message, or the name of the channel."},
        "preview": STRING,
        "participants": {**INTEGER, "description": "The number of people who wrote its newest 100 messages."},
    }
)
CONVERSATION_DETAIL: Schema = object_schema(
    {
        **CONVERSATION["properties"],
        "messagesInContext": {**INTEGER, "description": "Messages that no summary replaces."},
        "tokensInContext": {**INTEGER, "description": "The estimated tokens of these messages, without summaries."},
        "summaries": INTEGER,
        "summary": optional(
            object_schema({"id": STRING, "summary": STRING, "tokens": INTEGER, "status": one_of(CompactionStatus)})
        ),
    }
)
STORED_ATTACHMENT: Schema = object_schema(
    {
        "filename": STRING,
        "contentType": STRING,
        "size": INTEGER,
        "state": one_of(FileState),
        "kind": optional(one_of(FileKind)),
        "problem": {**STRING, "description": "Why it could not be read; empty if it could."},
        "url": {**optional(STRING), "description": "The address of its bytes, once they are stored."},
    }
)
STORED_FILE: Schema = object_schema({"name": STRING, "contentType": STRING, "size": INTEGER, "url": STRING})
STORED_BUTTON: Schema = object_schema({"id": STRING, "label": STRING, "style": one_of(ButtonStyle)})
QUESTION: Schema = object_schema(
    {
        "id": {**STRING, "description": "The id of the question, for GET /api/questions/{question}."},
        "state": {
            **one_of(QuestionState),
            "description": "`closed`: the execution that asked has ended, so an answer is no longer possible.",
        },
        "decision": {**optional(STRING), "description": "Such as `approve`, once a person has answered."},
        "answeredAt": optional(TIME),
    }
)
STORED_MESSAGE: Schema = object_schema(
    {
        "id": STRING,
        "role": one_of(Role),
        "content": STRING,
        "status": one_of(MessageStatus),
        "reason": optional(STRING),
        "userName": STRING,
        "agent": {**optional(STRING), "description": "The agent that was asked or that wrote it."},
        "replyTo": optional(STRING),
        "answeredBy": optional(STRING),
        "executionId": optional(STRING),
        "turn": optional(INTEGER),
        "source": {**STRING, "description": "The trigger of a run without a message: schedule:ID or webhook:ID."},
        "taint": array(one_of(Label)),
        "costUsd": {**NUMBER, "description": "The cost of the turn that this reply ends."},
        "attachments": array(STORED_ATTACHMENT),
        "files": array(STORED_FILE),
        "buttons": array(STORED_BUTTON),
        "delivery": {**optional(one_of(DeliveryState)), "description": "Its delivery; null if it has none."},
        "question": {**optional(QUESTION), "description": "The question that this message shows."},
        "createdAt": TIME,
    }
)
ASKED_MESSAGE: Schema = object_schema(
    {
        "id": STRING,
        "status": one_of(MessageStatus),
        "reason": optional(STRING),
        "agent": optional(STRING),
        "userName": STRING,
        "platform": STRING,
        "connector": STRING,
        "channelId": STRING,
        "conversationId": optional(STRING),
        "executionId": optional(STRING),
        "preview": STRING,
        "createdAt": TIME,
    }
)


def talk_view(talk: ConversationSummary) -> Json:
    return {
        "id": talk.id,
        "agent": talk.agent,
        "platform": talk.address.platform,
        "connector": talk.address.connector,
        "channelId": talk.address.channel,
        "thread": talk.address.thread,
        "turns": talk.turns,
        "createdAt": talk.created_at,
        "lastMessageAt": talk.last_message_at,
        "open": talk.open,
        "title": talk.title,
        "preview": talk.preview,
        "participants": talk.people,
    }


def talk_detail(detail: TalkDetail) -> Json:
    summary = detail.summary
    return {
        **talk_view(detail.talk),
        "messagesInContext": detail.messages,
        "tokensInContext": detail.tokens,
        "summaries": detail.compactions,
        "summary": None
        if summary is None
        else {"id": summary.id, "summary": summary.summary, "tokens": summary.tokens, "status": summary.status},
    }


def shown_view(shown: ShownMessage) -> Json:
    message, deliveries = shown.message, shown.deliveries
    return {
        **stored_view(message),
        "status": shown.status,
        "agent": shown.agent,
        "answeredBy": shown.answered_by,
        "costUsd": shown.cost_micros / _MICROS,
        "files": [file_view(each, number, file) for each in deliveries for number, file in enumerate(each.files)],
        "buttons": [
            {"id": button.id, "label": button.label, "style": button.style}
            for each in deliveries
            for button in each.buttons
        ],
        "delivery": _state_of(deliveries),
        "question": _question(shown.question),
    }


def _question(shown: ShownQuestion | None) -> Json | None:
    if shown is None:
        return None
    return {"id": shown.id, "state": shown.state, "decision": shown.decision, "answeredAt": shown.answered_at}


def stored_view(message: StoredMessage) -> Json:
    """Return the fields that the message row itself has."""
    return {
        "id": message.id,
        "role": message.role,
        "content": message.content,
        "status": message.status,
        "reason": message.reason,
        "userName": message.user_name,
        "replyTo": message.reply_to,
        "executionId": message.execution_id,
        "turn": message.turn,
        "source": message.source,
        "taint": sorted(message.taint),
        "attachments": [_attachment(message, number, each) for number, each in enumerate(message.attachments)],
        "createdAt": message.created_at,
    }


def asked_view(shown: ShownMessage) -> Json:
    message = shown.message
    return {
        "id": message.id,
        "status": shown.status,
        "reason": message.reason,
        "agent": shown.agent,
        "userName": message.user_name,
        "platform": message.address.platform,
        "connector": message.address.connector,
        "channelId": message.address.channel,
        "conversationId": message.conversation_id,
        "executionId": message.execution_id,
        "preview": " ".join(message.content[: 2 * _PREVIEW].split())[:_PREVIEW],
        "createdAt": message.created_at,
    }


def _attachment(message: StoredMessage, number: int, file: Attachment) -> Json:
    stored = file.state is FileState.STORED and bool(file.sha256)
    return {
        "filename": file.filename,
        "contentType": file.content_type,
        "size": file.size,
        "state": file.state,
        "kind": file.kind,
        "problem": file.problem,
        "url": f"/api/messages/{message.id}/files/{number}" if stored else None,
    }


def _state_of(deliveries: Sequence[Delivery]) -> str | None:
    return deliveries[-1].state if deliveries else None
