"""Summaries of long conversations over HTTP: list them, and list or restore the messages that they replace."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from arvis.domain.conversations import Compaction, CompactionStatus
from arvis.domain.errors import NotFound
from arvis.domain.messages import PastMessage, Role
from arvis.domain.taint import Label
from arvis.graphs.compaction.scripts import restore_messages
from arvis.ports.clock import Clock
from arvis.ports.conversations import CompactionInsights
from arvis.ports.store import Store
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.identity import OPERATE, READ
from arvis.web.http.schema import INTEGER, STRING, TIME, Schema, array, object_schema, one_of, page_schema
from arvis.web.http.views import page_view

COMPACTION: Schema = object_schema(
    {
        "id": STRING,
        "conversationId": STRING,
        "executionId": STRING,
        "firstTurn": INTEGER,
        "lastTurn": INTEGER,
        "summary": STRING,
        "tokens": INTEGER,
        "taint": array(one_of(Label)),
        "messagesBefore": INTEGER,
        "messagesAfter": INTEGER,
        "tokensSaved": INTEGER,
        "status": one_of(CompactionStatus),
        "createdAt": TIME,
    }
)
PAST_MESSAGE: Schema = object_schema(
    {
        "id": STRING,
        "role": one_of(Role),
        "content": STRING,
        "userName": STRING,
        "turn": INTEGER,
        "tokens": INTEGER,
        "createdAt": TIME,
    }
)
RESTORED: Schema = object_schema({"ok": {"type": "boolean"}, "messages": INTEGER})


class SummaryRoutes:
    def __init__(self, *, insights: CompactionInsights, store: Store, clock: Clock) -> None:
        self._insights = insights
        self._store = store
        self._clock = clock

    def endpoints(self) -> list[Endpoint]:
        one = "/api/summaries/{summary}"
        return [
            Endpoint(
                "GET",
                "/api/conversations/{conversation}/summaries",
                "List the summaries of a conversation, newest first",
                READ,
                self._list,
                {200: page_schema(COMPACTION)},
                query=PAGING,
            ),
            Endpoint(
                "GET",
                f"{one}/messages",
                "List the messages that a summary replaced, in order; texts are empty after `retention.compacted_days`",
                READ,
                self._messages,
                {200: page_schema(PAST_MESSAGE)},
            ),
            Endpoint(
                "POST",
                f"{one}/restore",
                "Restore the messages of a summary to the prompts",
                OPERATE,
                self._restore,
                {200: RESTORED},
            ),
        ]

    async def _list(self, call: Call) -> Response:
        page = await self._insights.compactions(call.id("conversation"), limit=call.limit, cursor=call.query("cursor"))
        return answer(page_view([_compaction_view(each) for each in page.items], page.next_cursor))

    async def _messages(self, call: Call) -> Response:
        compaction_id = call.id("summary")
        if await self._insights.compaction(compaction_id) is None:
            raise NotFound(
                "There is no such summary.",
                fix="List the summaries of the conversation (GET /api/conversations/{conversation}/summaries).",
            )
        found = await self._insights.compacted_messages(compaction_id)
        return answer(page_view([_message_view(each) for each in found], None))

    async def _restore(self, call: Call) -> Response:
        restored = await self._store.write(restore_messages, call.id("summary"), self._clock.now())
        return answer({"ok": True, "messages": restored})


def _compaction_view(compaction: Compaction) -> dict[str, Any]:
    return {
        "id": compaction.id,
        "conversationId": compaction.conversation_id,
        "executionId": compaction.execution_id,
        "firstTurn": compaction.first_turn,
        "lastTurn": compaction.last_turn,
        "summary": compaction.summary,
        "tokens": compaction.tokens,
        "taint": sorted(compaction.taint),
        "messagesBefore": compaction.messages_before,
        "messagesAfter": compaction.messages_after,
        "tokensSaved": compaction.tokens_saved,
        "status": compaction.status,
        "createdAt": compaction.created_at,
    }


def _message_view(message: PastMessage) -> dict[str, Any]:
    return {
        "id": message.id,
        "role": message.role,
        "content": message.content,
        "userName": message.user_name,
        "turn": message.turn,
        "tokens": message.tokens,
        "createdAt": message.created_at,
    }
