"""Conversations over HTTP: list, read, export, close. A credential with the role `chat` can read only conversations of
its person."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Self

from starlette.responses import Response, StreamingResponse

from arvis.domain.conversations import Compaction, CompactionStatus
from arvis.domain.errors import NotFound
from arvis.domain.messages import (
    Attachment,
    DeliveryState,
    FileKind,
    FileState,
    MessageStatus,
    Role,
    StoredMessage,
)
from arvis.domain.money import MICROS
from arvis.domain.quotations import with_quotations
from arvis.domain.taint import Label
from arvis.ports.browsing import (
    ConversationFilter,
    ConversationSummary,
    QuestionState,
    ShownMessage,
    TalkDetail,
)
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations
from arvis.web.auth.authorization import Authorizer, person_of, visible_talk
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import ANYONE, OPERATE, READ
from arvis.web.http.models import About, Body, OkView, Page, Time, View
from arvis.web.http.schema import FILE, LABEL, STRING, one_of
from arvis.web.http.views import ButtonView, FeedbackView, FileView, QuotationView

_PREVIEW = 200


class ConversationView(View):
    id: str
    agent: str
    platform: str
    connector: str
    channel_id: str
    thread: str
    turns: int
    created_at: Time
    last_message_at: Time
    open: Annotated[bool, About("True: the next message in its channel continues it.")]
    title: Annotated[str, About("The first words of its first message, or the name of the channel.")]
    preview: str
    participants: Annotated[int, About("The number of people who wrote its newest 100 messages.")]

    @classmethod
    def of(cls, talk: ConversationSummary, /, **others: Any) -> Self:
        address = talk.address
        return cls.showing(
            talk,
            platform=address.platform,
            connector=address.connector,
            channel_id=address.channel,
            thread=address.thread,
            participants=talk.people,
            **others,
        )


class NewestSummaryView(View):
    id: str
    summary: str
    tokens: int
    status: CompactionStatus


class ConversationDetailView(ConversationView):
    messages_in_context: Annotated[int, About("Messages that no summary replaces.")]
    tokens_in_context: Annotated[int, About("The estimated tokens of these messages, without summaries.")]
    summaries: int
    summary: NewestSummaryView | None
    remembers: Annotated[bool, About("False: memory is off in its channel, so no fact or value is stored or used.")]

    @classmethod
    def of_detail(cls, detail: TalkDetail) -> Self:
        return cls.of(
            detail.talk,
            messages_in_context=detail.messages,
            tokens_in_context=detail.tokens,
            summaries=detail.compactions,
            summary=None if detail.summary is None else NewestSummaryView.showing(detail.summary),
            remembers=detail.remembers,
        )


class ChangedConversation(Body):
    remembers: Annotated[bool, About("Turn memory on or off in the channel of the conversation.")]


class AttachmentView(View):
    filename: str
    content_type: str
    size: int
    state: FileState
    kind: FileKind | None
    problem: Annotated[str, About("Why it could not be read; empty if it could.")]
    url: Annotated[str | None, About("The address of its bytes, once they are stored.")]

    @classmethod
    def of(cls, message: StoredMessage, number: int, file: Attachment) -> Self:
        stored = file.state is FileState.STORED and bool(file.sha256)
        return cls.showing(file, url=f"/api/messages/{message.id}/files/{number}" if stored else None)


class MessageQuestionView(View):
    id: Annotated[str, About("The id of the question, for GET /api/questions/{question}.")]
    state: Annotated[
        QuestionState,
        About("`closed`: the execution that asked has ended, so an answer is no longer possible."),
    ]
    decision: Annotated[str | None, About("Such as `approve`, once a person has answered.")]
    answered_at: Time | None


class StoredMessageView(View):
    """The fields of a message that its own row contains."""

    id: str
    role: Role
    content: str
    quotations: list[QuotationView]
    status: MessageStatus
    reason: str | None
    user_name: str
    reply_to: str | None
    execution_id: str | None
    turn: int | None
    source: Annotated[str, About("The trigger of a run without a message: schedule:ID or webhook:ID.")]
    taint: list[Label]
    attachments: list[AttachmentView]
    created_at: Time

    @classmethod
    def of(cls, message: StoredMessage, /, **others: Any) -> Self:
        files = [AttachmentView.of(message, number, file) for number, file in enumerate(message.attachments)]
        quotations = [QuotationView.showing(each) for each in message.quotations]
        return cls.showing(message, taint=sorted(message.taint), attachments=files, quotations=quotations, **others)


class MessageVersionView(View):
    id: str
    active: bool


class MessageView(StoredMessageView):
    agent: Annotated[str | None, About("The agent that was asked or that wrote it.")]
    answered_by: str | None
    cost_usd: Annotated[float, About("The cost of the turn that this reply ends.")]
    files: list[FileView]
    buttons: list[ButtonView]
    delivery: Annotated[DeliveryState | None, About("Its delivery; null if it has none.")]
    question: Annotated[MessageQuestionView | None, About("The question that this message shows.")]
    feedback: list[FeedbackView]
    versions: Annotated[
        list[MessageVersionView],
        About("If the conversation was rewound to this message: all versions from here on, oldest first."),
    ]

    @classmethod
    def of_shown(cls, shown: ShownMessage) -> Self:
        deliveries, question = shown.deliveries, shown.question
        return cls.of(
            shown.message,
            status=shown.status,
            agent=shown.agent,
            answered_by=shown.answered_by,
            cost_usd=shown.cost_micros / MICROS,
            files=[view for each in deliveries for view in FileView.of_delivery(each)],
            buttons=[ButtonView.showing(button) for each in deliveries for button in each.buttons],
            delivery=deliveries[-1].state if deliveries else None,
            question=None if question is None else MessageQuestionView.showing(question),
            feedback=[FeedbackView.of(each) for each in shown.feedback],
            versions=[MessageVersionView.showing(each) for each in shown.versions],
        )


class AskedMessageView(View):
    id: str
    status: MessageStatus
    reason: str | None
    agent: str | None
    user_name: str
    platform: str
    connector: str
    channel_id: str
    conversation_id: str | None
    execution_id: str | None
    preview: str
    created_at: Time

    @classmethod
    def of(cls, shown: ShownMessage) -> Self:
        message = shown.message
        return cls.showing(
            message,
            status=shown.status,
            agent=shown.agent,
            platform=message.address.platform,
            connector=message.address.connector,
            channel_id=message.address.channel,
            preview=" ".join(message.content[: 2 * _PREVIEW].split())[:_PREVIEW],
        )


class ExportedSummaryView(View):
    id: str
    first_turn: int
    last_turn: int
    summary: str
    status: CompactionStatus
    created_at: Time


# The export of a whole conversation as a file. It is sent in pages, so that only one page is in memory.

#: The maximum number of rows of one database read.
_ROWS = 50
_MS = 1000


class Form(StrEnum):
    MARKDOWN = "markdown"
    JSON = "json"

    @property
    def media_type(self) -> str:
        """Return the content type of a download. The type for JSON makes browsers save the file instead of displaying
        it."""
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
        yield f'{{"conversation": {_dump(ConversationView.of(self._talk))},\n"summaries": ['
        first = True
        async for summaries in self._summaries():
            for each in summaries:
                yield ("" if first else ",") + "\n" + _dump(ExportedSummaryView.showing(each))
                first = False
        yield '],\n"messages": ['
        first = True
        async for messages in self._messages():
            for message in messages:
                yield ("" if first else ",") + "\n" + _dump(StoredMessageView.of(message))
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
    content = _quoted(with_quotations(message.content, message.quotations)) or (
        "" if files else "(this text was deleted after its retention time)"
    )
    return f"\n### {who} ({message.role}), {_moment(message.created_at)}\n\n{content}\n{files}"


def _quoted(text: str) -> str:
    """Quote a text, so that none of its lines can look like a heading of the export and imitate another person's
    message."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _in_one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _dump(view: View) -> str:
    return json.dumps(view, default=View.to_json, ensure_ascii=False)


def _moment(at: int) -> str:
    return datetime.fromtimestamp(at / _MS, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


#: The maximum number of characters of text on a page of messages. It is limited because serialising a page blocks the
#: event loop.
_PAGE_CHARACTERS = 1_000_000
_FILTERS = {"agent": LABEL, "platform": LABEL, "channel": LABEL, "thread": LABEL}


_ALL, _ONE = "/api/conversations", "/api/conversations/{conversation}"
_TEXT = {**STRING, "description": "Searches agents, channels, people and messages, by words.", "minLength": 1}


class ConversationRoutes(Routes):
    def __init__(self, *, insights: Insights, operations: Operations, gate: Authorizer) -> None:
        self._insights = insights
        self._operations = operations
        self._gate = gate

    @route(
        "GET",
        _ALL,
        "List conversations, last used first; with a chat key only the caller's own",
        ANYONE,
        {200: Page[ConversationView]},
        query={**PAGING, **_FILTERS, "q": _TEXT},
    )
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
        return answer_page([ConversationView.of(talk) for talk in page.items], page.next_cursor)

    @route("GET", _ONE, "Show a conversation", ANYONE, {200: ConversationDetailView})
    async def _show(self, call: Call) -> Response:
        found = await visible_talk(self._insights, self._gate, call.identity, call.id("conversation"))
        return answer(ConversationDetailView.of_detail(found))

    @route(
        "PATCH",
        _ONE,
        "Turn memory on or off in the channel of a conversation",
        OPERATE,
        {200: ConversationDetailView},
        body=ChangedConversation,
    )
    async def _change(self, call: Call) -> Response:
        body, conversation_id = await call.read(ChangedConversation), call.id("conversation")
        await self._operations.switch_memory(conversation_id, on=body.remembers)
        found = await visible_talk(self._insights, self._gate, call.identity, conversation_id)
        return answer(ConversationDetailView.of_detail(found))

    @route(
        "GET",
        f"{_ONE}/messages",
        "List the messages of a conversation, newest first; with a chat key only the caller's messages and the replies",
        ANYONE,
        {200: Page[MessageView]},
        query=PAGING,
    )
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
        return answer_page([MessageView.of_shown(each) for each in shown], next_cursor)

    @route(
        "GET",
        f"{_ONE}/export",
        "Export a conversation as a file, with the messages that summaries replaced",
        READ,
        {200: FILE},
        query={"format": {**one_of(Form), "default": Form.MARKDOWN}},
        media="*/*",
    )
    async def _export(self, call: Call) -> Response:
        form = Form(call.choice("format", Form) or Form.MARKDOWN)
        found = await self._insights.talk(call.id("conversation"))
        if found is None:
            raise NotFound("There is no such conversation.", fix="GET /api/conversations lists the conversations.")
        export = ConversationExport(insights=self._insights, talk=found.talk)
        return StreamingResponse(export.text(form), media_type=form.media_type, headers=export.headers(form))

    @route(
        "POST",
        f"{_ONE}/close",
        "Close a conversation, so that the next message starts a new one",
        OPERATE,
        {200: OkView},
    )
    async def _close(self, call: Call) -> Response:
        by = await self._gate.principal(self._gate.sender(call.identity))
        await self._operations.close_conversation(call.id("conversation"), by)
        return done()


def _what_fits(messages: Sequence[ShownMessage]) -> Sequence[ShownMessage]:
    """Return the first messages that have at most `_PAGE_CHARACTERS` characters together, but at least one message. The
    remaining messages follow on the next page."""
    left = _PAGE_CHARACTERS
    for count, shown in enumerate(messages):
        left -= len(shown.message.content)
        if left < 0:
            return messages[: max(count, 1)]
    return messages
