"""The HTTP routes for summaries of long conversations: list them, and list or restore the messages that they replace."""

from __future__ import annotations

from typing import Self

from starlette.responses import Response

from arvis.domain.conversations import Compaction, CompactionStatus
from arvis.domain.errors import NotFound
from arvis.domain.messages import Role
from arvis.domain.taint import Label
from arvis.graphs.compaction.scripts import restore_messages
from arvis.ports.clock import Clock
from arvis.ports.conversations import CompactionInsights
from arvis.ports.store import Store
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, route
from arvis.web.http.identity import OPERATE, READ
from arvis.web.http.models import OkView, Page, Time, View


class SummaryView(View):
    id: str
    conversation_id: str
    execution_id: str
    first_turn: int
    last_turn: int
    summary: str
    tokens: int
    taint: list[Label]
    messages_before: int
    messages_after: int
    tokens_saved: int
    status: CompactionStatus
    created_at: Time

    @classmethod
    def of(cls, compaction: Compaction) -> Self:
        return cls.showing(compaction, taint=sorted(compaction.taint))


class PastMessageView(View):
    id: str
    role: Role
    content: str
    user_name: str
    turn: int
    tokens: int
    created_at: Time


class RestoredView(OkView):
    messages: int


_ONE = "/api/summaries/{summary}"


class SummaryRoutes(Routes):
    def __init__(self, *, insights: CompactionInsights, store: Store, clock: Clock) -> None:
        self._insights = insights
        self._store = store
        self._clock = clock

    @route(
        "GET",
        "/api/conversations/{conversation}/summaries",
        "List the summaries of a conversation, newest first",
        READ,
        {200: Page[SummaryView]},
        query=PAGING,
    )
    async def _list(self, call: Call) -> Response:
        page = await self._insights.compactions(call.id("conversation"), limit=call.limit, cursor=call.query("cursor"))
        return answer_page([SummaryView.of(each) for each in page.items], page.next_cursor)

    @route(
        "GET",
        f"{_ONE}/messages",
        "List the messages that a summary replaced, in order; texts are empty after `retention.compacted_days`",
        READ,
        {200: Page[PastMessageView]},
    )
    async def _messages(self, call: Call) -> Response:
        compaction_id = call.id("summary")
        if await self._insights.compaction(compaction_id) is None:
            raise NotFound(
                "There is no such summary.",
                fix="List the summaries of the conversation (GET /api/conversations/{conversation}/summaries).",
            )
        found = await self._insights.compacted_messages(compaction_id)
        return answer_page([PastMessageView.showing(each, content=each.text) for each in found], None)

    @route("POST", f"{_ONE}/restore", "Restore the messages of a summary to the prompts", OPERATE, {200: RestoredView})
    async def _restore(self, call: Call) -> Response:
        restored = await self._store.write(restore_messages, call.id("summary"), self._clock.now())
        return answer(RestoredView(ok=True, messages=restored))
