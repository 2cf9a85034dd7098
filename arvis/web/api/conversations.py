"""Conversations over HTTP: list, read, export, close. Credentials with the role `chat` see only their own."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.responses import Response, StreamingResponse

from arvis.domain.errors import NotFound
from arvis.ports.browsing import ConversationFilter, ShownMessage
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations
from arvis.web.api.conversation_exports import ConversationExport, Form
from arvis.web.api.conversation_models import (
    CONVERSATION,
    CONVERSATION_DETAIL,
    STORED_MESSAGE,
    shown_view,
    talk_detail,
    talk_view,
)
from arvis.web.auth.authorization import Authorizer, person_of, visible_talk
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.identity import ANYONE, OPERATE, READ
from arvis.web.http.schema import FILE, LABEL, OK, STRING, one_of, page_schema
from arvis.web.http.views import page_view

#: Characters of text per page of messages, because serialising one page blocks the event loop.
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
            Endpoint("GET", one, "One conversation", ANYONE, self._show, {200: CONVERSATION_DETAIL}),
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
        """List conversations. Callers who see only their own cannot search, because they have few."""
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
    """Return the first messages up to `_PAGE_CHARACTERS` characters, at least one. The next page has the others."""
    left = _PAGE_CHARACTERS
    for count, shown in enumerate(messages):
        left -= len(shown.message.content)
        if left < 0:
            return messages[: max(count, 1)]
    return messages
