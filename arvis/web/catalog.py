"""What can be looked at over HTTP beside jobs and waits: conversations."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.responses import Response

from arvis.domain.messages import StoredMessage
from arvis.ports.insights import Insights
from arvis.web.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.identity import READ
from arvis.web.schemas import CONVERSATION, LABEL, STORED_MESSAGE, listing
from arvis.web.views import conversation_view, message_view, page_view

#: Characters of text that one page of messages shows: what is written in one go holds up the event loop.
_PAGE_CHARACTERS = 1_000_000


class CatalogRoutes:
    def __init__(self, *, insights: Insights) -> None:
        self._insights = insights

    def endpoints(self) -> list[Endpoint]:
        return [
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

    async def _conversations(self, call: Call) -> Response:
        page = await self._insights.conversations(
            agent=call.query("agent"), limit=call.limit, cursor=call.query("cursor")
        )
        return answer(page_view([conversation_view(item) for item in page.items], page.next_cursor))

    async def _messages(self, call: Call) -> Response:
        page = await self._insights.conversation_messages(
            call.id("conversation"), limit=call.limit, cursor=call.query("cursor")
        )
        shown = _what_fits(page.items)
        next_cursor = page.next_cursor if len(shown) == len(page.items) else shown[-1].id
        return answer(page_view([message_view(message) for message in shown], next_cursor))


def _what_fits(messages: Sequence[StoredMessage]) -> Sequence[StoredMessage]:
    """The first messages up to `_PAGE_CHARACTERS`, at least one; the others are on the next page."""
    left = _PAGE_CHARACTERS
    for count, message in enumerate(messages):
        left -= len(message.content)
        if left < 0:
            return messages[: max(count, 1)]
    return messages
