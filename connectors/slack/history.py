"""Reads back what was written in a channel or a thread."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from connectors.slack.api import Answer, SlackApi
from connectors.slack.incoming import time_stamp

_PAGE = 200


class History:
    def __init__(self, *, api: SlackApi, max_pages: int = 100) -> None:
        self._api = api
        self._max_pages = max_pages

    async def pages(self, channel: str, thread: str, since: int, *, metadata: bool = False) -> AsyncIterator[Answer]:
        """What was written since a time (µs): of a channel the newest first and without what stands in threads, of a thread
        its first message and then the oldest first. Raises `ApiFailed`."""
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
            cursor = str((answer.data.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return

    async def _page(self, thread: str, wanted: dict[str, Any]) -> Answer:
        async def history(web: AsyncWebClient) -> AsyncSlackResponse:
            return await web.conversations_history(**wanted)

        async def replies(web: AsyncWebClient) -> AsyncSlackResponse:
            return await web.conversations_replies(ts=thread, **wanted)

        if thread:
            return await self._api.ask("conversations.replies", replies)
        return await self._api.ask("conversations.history", history)
