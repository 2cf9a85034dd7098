"""Read the messages of a channel or a thread."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from arvis.domain.regex import regex
from connectors import answers
from connectors.slack.api import SlackApi, SlackResult
from connectors.slack.incoming import Event, time_stamp

_PAGE = 200
_STAMP = regex(r"\d{1,15}\.\d{1,6}", re.ASCII)


def messages_of(page: SlackResult) -> list[Event]:
    """Return the messages of a page that have a time stamp. Raise `ApiFailed` for a page of another form."""
    found = answers.mappings(page.data.get("messages"))
    if found is None:
        raise page.lacks("the messages")
    stamped = [message for message in found if _STAMP.fullmatch(answers.text(message, "ts"))]
    if found and not stamped:
        raise page.lacks("the times of the messages")
    return stamped


class History:
    def __init__(self, *, api: SlackApi, max_pages: int = 100) -> None:
        self._api = api
        self._max_pages = max_pages

    async def pages(
        self, channel: str, thread: str, since: int, *, metadata: bool = False
    ) -> AsyncIterator[SlackResult]:
        """Yield pages of the messages since a time (µs), at most `max_pages`. Without `thread`, Slack sends the newest
        messages first, and no replies in threads. With `thread`, Slack sends the thread's first message and then its
        replies, oldest first. Raises `ApiFailed`."""
        cursor = ""
        for _ in range(self._max_pages):
            wanted: dict[str, Any] = {
                "channel": channel,
                "oldest": time_stamp(max(0, since)),
                "inclusive": True,
                "limit": _PAGE,
                "include_all_metadata": metadata,
            }
            if cursor:
                wanted["cursor"] = cursor
            answer = await self._page(thread, wanted)
            yield answer
            cursor = answers.text(answer.data, "response_metadata", "next_cursor")
            if not cursor:
                return

    async def _page(self, thread: str, wanted: dict[str, Any]) -> SlackResult:
        async def history(web: AsyncWebClient) -> AsyncSlackResponse:
            return await web.conversations_history(**wanted)

        async def replies(web: AsyncWebClient) -> AsyncSlackResponse:
            return await web.conversations_replies(ts=thread, **wanted)

        if thread:
            return await self._api.ask("conversations.replies", replies)
        return await self._api.ask("conversations.history", history)
