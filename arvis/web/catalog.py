"""What can be looked at over HTTP beside jobs and waits: agents and conversations."""

from __future__ import annotations

from starlette.responses import Response

from arvis.ports.insights import Insights
from arvis.web.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.identity import READ
from arvis.web.schemas import AGENT, CONVERSATION, LABEL, STORED_MESSAGE, listing
from arvis.web.views import agent_view, conversation_view, message_view, page_view


class CatalogRoutes:
    def __init__(self, *, insights: Insights) -> None:
        self._insights = insights

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint("GET", "/api/agents", "Agents in order of creation", READ, self._agents, {200: listing(AGENT)}),
            Endpoint(
                "GET",
                "/api/conversations",
                "Conversations, the last used first",
                READ,
                self._conversations,
                {200: listing(CONVERSATION)},
                query={**PAGING, "agent": LABEL},
            ),
            Endpoint(
                "GET",
                "/api/conversations/{conversation}/messages",
                "Messages of a conversation, newest first",
                READ,
                self._messages,
                {200: listing(STORED_MESSAGE)},
                query=PAGING,
            ),
        ]

    async def _agents(self, _: Call) -> Response:
        return answer(page_view([agent_view(agent) for agent in await self._insights.agents()], None))

    async def _conversations(self, call: Call) -> Response:
        page = await self._insights.conversations(
            agent=call.query("agent"), limit=call.limit, cursor=call.query("cursor")
        )
        return answer(page_view([conversation_view(item) for item in page.items], page.next_cursor))

    async def _messages(self, call: Call) -> Response:
        page = await self._insights.conversation_messages(
            call.id("conversation"), limit=call.limit, cursor=call.query("cursor")
        )
        return answer(page_view([message_view(message) for message in page.items], page.next_cursor))
