"""A whole conversation as a file, written while it is read: one page of it is in memory at a time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum

from arvis.domain.conversations import Compaction
from arvis.domain.messages import Role, StoredMessage
from arvis.ports.browsing import ConversationSummary
from arvis.ports.insights import Insights
from arvis.web.api.conversation_models import stored_view, talk_view

#: Rows per read.
_ROWS = 50
_MS = 1000


class Form(StrEnum):
    MARKDOWN = "markdown"
    JSON = "json"

    @property
    def media_type(self) -> str:
        """Return the content type of a download. A browser displays none of these inline."""
        return "application/octet-stream" if self is Form.JSON else "text/markdown"

    @property
    def ending(self) -> str:
        return "json" if self is Form.JSON else "md"


class ConversationExport:
    """An export of a conversation. Messages are in order, including those that summaries replaced. Summaries come
    first, because only they remain once texts are past their retention time."""

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
        yield f"# Conversation with {talk.agent}\n\n{place}, from {_moment(talk.created_at)} on\n"
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
    who = _in_one_line(message.user_name) or ("Arvis" if message.role is Role.NOTICE else "somebody")
    files = "".join(
        f"\n[file: {_in_one_line(each.filename)}, {each.content_type}, {each.size} bytes]\n"
        for each in message.attachments
    )
    content = _quoted(message.content) or ("" if files else "(this text was deleted after its retention time)")
    return f"\n### {who} ({message.role}), {_moment(message.created_at)}\n\n{content}\n{files}"


def _quoted(text: str) -> str:
    """Quote a text so that no line of it looks like one of our headings, and therefore like another person's message."""
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
