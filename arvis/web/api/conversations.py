"""Conversations over HTTP: list, read, export, close. A credential with the role `chat` sees only its person's
conversations."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum

from starlette.responses import Response, StreamingResponse

from arvis.domain.conversations import Compaction, CompactionStatus
from arvis.domain.errors import NotFound
from arvis.domain.messages import (
    Attachment,
    ButtonStyle,
    DeliveryState,
    FileKind,
    FileState,
    MessageStatus,
    Role,
    StoredMessage,
)
from arvis.domain.taint import Label
from arvis.ports.browsing import (
    ConversationFilter,
    ConversationSummary,
    QuestionState,
    ShownMessage,
    ShownQuestion,
    TalkDetail,
)
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations
from arvis.web.auth.authorization import Authorizer, person_of, visible_talk
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.identity import ANYONE, OPERATE, READ
from arvis.web.http.schema import (
    BOOLEAN,
    FILE,
    INTEGER,
    LABEL,
    NUMBER,
    OK,
    STRING,
    TIME,
    Schema,
    array,
    object_schema,
    one_of,
    optional,
    page_schema,
)
from arvis.web.http.views import Json, file_view, page_view

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
        "delivery": deliveries[-1].state if deliveries else None,
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


# The export of a whole conversation as a file. It is sent in pages, so that only one page is in memory.

#: Rows per read.
_ROWS = 50
_MS = 1000


class Form(StrEnum):
    MARKDOWN = "markdown"
    JSON = "json"

    @property
    def media_type(self) -> str:
        """Return the content type of a download. Browsers save files of these types and do not display them."""
        return "application/octet-stream" if self is Form.JSON else "text/markdown"

    @property
    def ending(self) -> str:
        return "json" if self is Form.JSON else "md"


class ConversationExport:
    """The export of a conversation. Messages are in order, including those that summaries replaced. Summaries come
    first, because they are all that remains of messages whose texts were deleted after their retention time."""

    def __init__(self, *, insights: Insights, talk: ConversationSummary) -> None:
        self._insights = insights
        self._talk = talk

    def headers(self, form: Form) -> dict[str, str]:
        name = f"conversation-{self._talk.id}.{form.ending}"
        return {
            "Content-Disposition": f'attachment; filename="{name}"',
            "Content-Security-Policy": "default-src 'none'; sandbox",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, no-store",
        }

    def text(self, form: Form) -> AsyncIterator[str]:
        return self._json() if form is Form.JSON else self._markdown()

    async def _json(self) -> AsyncIterator[str]:
        yield f'{{"conversation": {_dump(talk_view(self._talk))},\n"summaries": ['
        first = True
        async for summaries in self._summaries():
            for each in summaries:
                yield ("" if first else ",") + "\n" + _dump(_summary_view(each))
                first = False
        yield '],\n"messages": ['
        first = True
        async for messages in self._messages():
            for message in messages:
                yield ("" if first else ",") + "\n" + _dump(stored_view(message))
                first = False
        yield "]}\n"

    async def _markdown(self) -> AsyncIterator[str]:
        talk = self._talk
        place = "/".join(filter(None, [talk.address.platform, talk.address.connector, talk.address.channel]))
        yield f"# Conversation with {talk.agent}\n\n{place}, since {_moment(talk.created_at)}\n"
        async for summaries in self._summaries():
            for each in summaries:
                turns = f"turns {each.first_turn} to {each.last_turn}"
                yield f"\n## Summary of {turns} ({each.status})\n\n{_quoted(each.summary)}\n"
        async for messages in self._messages():
            for message in messages:
                yield _as_markdown(message)

    async def _summaries(self) -> AsyncIterator[Sequence[Compaction]]:
        cursor = None
        while True:
            page = await self._insights.compactions(self._talk.id, limit=_ROWS, cursor=cursor)
            yield page.items
            if (cursor := page.next_cursor) is None:
                return

    async def _messages(self) -> AsyncIterator[Sequence[StoredMessage]]:
        after = ""
        while messages := await self._insights.whole_talk(self._talk.id, after=after, limit=_ROWS):
            yield messages
            after = messages[-1].id


def _as_markdown(message: StoredMessage) -> str:
    who = _in_one_line(message.user_name) or ("Arvis" if message.role is Role.NOTICE else "unknown sender")
    files = "".join(
        f"\n[file: {_in_one_line(each.filename)}, {each.content_type}, {each.size} bytes]\n"
        for each in message.attachments
    )
    content = _quoted(message.content) or ("" if files else "(this text was deleted after its retention time)")
    return f"\n### {who} ({message.role}), {_moment(message.created_at)}\n\n{content}\n{files}"


def _quoted(text: str) -> str:
    """Quote a text, so that none of its lines can look like a heading of the export and imitate another person's
    message."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _in_one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _summary_view(compaction: Compaction) -> dict[str, object]:
    return {
        "id": compaction.id,
        "firstTurn": compaction.first_turn,
        "lastTurn": compaction.last_turn,
        "summary": compaction.summary,
        "status": compaction.status,
        "createdAt": compaction.created_at,
    }


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _moment(at: int) -> str:
    return datetime.fromtimestamp(at / _MS, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


#: The maximum number of characters of text on a page of messages. It is limited because serialising a page blocks the
#: event loop.
_PAGE_CHARACTERS = 1_000_000
_FILTERS = {"agent": LABEL, "platform": LABEL, "channel": LABEL, "thread": LABEL}


class ConversationRoutes:
    def __init__(self, *, insights: Insights, operations: Operations, gate: Authorizer) -> None:
        self._insights = insights
        self._operations = operations
        self._gate = gate

    def endpoints(self) -> list[Endpoint]:
        one = "/api/conversations/{conversation}"
        text = {**STRING, "description": "Searches agents, channels, people and the newest messages.", "minLength": 1}
        return [
            Endpoint(
                "GET",
                "/api/conversations",
                "List conversations, last used first; with a chat key only the caller's own",
                ANYONE,
                self._conversations,
                {200: page_schema(CONVERSATION)},
                query={**PAGING, **_FILTERS, "q": text},
            ),
            Endpoint("GET", one, "Show a conversation", ANYONE, self._show, {200: CONVERSATION_DETAIL}),
            Endpoint(
                "GET",
                f"{one}/messages",
                "List the messages of a conversation, newest first; with a chat key only the caller's messages and the replies",
                ANYONE,
                self._messages,
                {200: page_schema(STORED_MESSAGE)},
                query=PAGING,
            ),
            Endpoint(
                "GET",
                f"{one}/export",
                "Export a conversation as a file, with the messages that summaries replaced",
                READ,
                self._export,
                {200: FILE},
                query={"format": {**one_of(Form), "default": Form.MARKDOWN}},
                media="*/*",
            ),
            Endpoint(
                "POST",
                f"{one}/close",
                "Close a conversation, so that the next message starts a new one",
                OPERATE,
                self._close,
                {200: OK},
            ),
        ]

    async def _conversations(self, call: Call) -> Response:
        which = ConversationFilter(
            agent=call.query("agent"),
            platform=call.query("platform"),
            channel=call.query("channel"),
            thread=call.query("thread"),
            text=call.query("q"),
            own=await person_of(self._gate, call.identity),
        )
        page = await self._insights.talks(which, limit=call.limit, cursor=call.query("cursor"))
        return answer(page_view([talk_view(talk) for talk in page.items], page.next_cursor))

    async def _show(self, call: Call) -> Response:
        found = await visible_talk(self._insights, self._gate, call.identity, call.id("conversation"))
        return answer(talk_detail(found))

    async def _messages(self, call: Call) -> Response:
        own = await person_of(self._gate, call.identity)
        conversation_id = call.id("conversation")
        if own is not None:
            await visible_talk(self._insights, self._gate, call.identity, conversation_id)
        page = await self._insights.talk_messages(
            conversation_id, own=own, limit=call.limit, cursor=call.query("cursor")
        )
        shown = _what_fits(page.items)
        next_cursor = page.next_cursor if len(shown) == len(page.items) else shown[-1].message.id
        return answer(page_view([shown_view(each) for each in shown], next_cursor))

    async def _export(self, call: Call) -> Response:
        form = Form(call.choice("format", Form) or Form.MARKDOWN)
        found = await self._insights.talk(call.id("conversation"))
        if found is None:
            raise NotFound("There is no such conversation.", fix="Look it up in the list (GET /api/conversations).")
        export = ConversationExport(insights=self._insights, talk=found.talk)
        return StreamingResponse(export.text(form), media_type=form.media_type, headers=export.headers(form))

    async def _close(self, call: Call) -> Response:
        by = await self._gate.principal(self._gate.sender(call.identity))
        await self._operations.close_conversation(call.id("conversation"), by)
        return answer({"ok": True})


def _what_fits(messages: Sequence[ShownMessage]) -> Sequence[ShownMessage]:
    """Return the first messages that have at most `_PAGE_CHARACTERS` characters together, but at least one message. The
    others follow on the next page."""
    left = _PAGE_CHARACTERS
    for count, shown in enumerate(messages):
        left -= len(shown.message.content)
        if left < 0:
            return messages[: max(count, 1)]
    return messages
