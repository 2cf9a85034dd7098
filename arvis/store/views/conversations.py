"""Queries for the pages about conversations, their messages, summaries and questions. `SqlInsights` inherits from the
classes of this module."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from arvis.domain.conversations import Compaction, ConversationVersion
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import Unprocessable
from arvis.domain.messages import Attachment, Delivery, MessageStatus, PastMessage, StoredMessage
from arvis.domain.reactions import Feedback
from arvis.domain.regex import regex
from arvis.domain.search import Search, terms_of
from arvis.ports.browsing import (
    ConversationFilter,
    ConversationSummary,
    MessageFilter,
    Person,
    QuestionState,
    ShownMessage,
    ShownQuestion,
    TalkDetail,
    WaitView,
)
from arvis.ports.pages import Page
from arvis.store.repositories.conversation_versions import version_of
from arvis.store.repositories.conversations import compaction_of
from arvis.store.repositories.executions import execution_of, wait_of
from arvis.store.repositories.messages import address_of, attachment_of, delivery_of, message_of, past_message_of
from arvis.store.repositories.reactions import feedback_of
from arvis.store.repositories.timeline import current_status
from arvis.store.sql.session import LAST, Row, Snapshot, Snapshots, page
from arvis.store.views.queue import WorkState, id_of_agent
from arvis.store.views.search import conversations_with, matching_messages

#: The maximum number of messages that the page of a summary shows. A summary never replaces more messages.
_SHOWN = 1000
#: The maximum number of versions of a conversation that pages show.
_MOST_VERSIONS = 1000


class SqlCompactionInsights:
    """Implements the port `CompactionInsights` on both databases."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def compaction(self, compaction_id: str) -> Compaction | None:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("get_compaction", id=compaction_id)
        return compaction_of(rows[0]) if rows else None

    async def compactions(self, conversation_id: str, *, limit: int, cursor: str | None) -> Page[Compaction]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows(
                "list_compactions", conversation_id=conversation_id, before=cursor or LAST, limit=limit + 1
            )
        return page(rows, compaction_of, limit)

    async def compacted_messages(self, compaction_id: str) -> Sequence[PastMessage]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("compacted_messages", compaction_id=compaction_id, limit=_SHOWN)
        return [past_message_of(row) for row in rows]


_CURSOR = regex(r"(\d{1,15})-([0-9A-Za-z]{1,64})", re.ASCII)
_NEVER = 2**53
#: The maximum number of characters of a title or a preview.
_LINE = 100
#: The queries for lists of conversations. The first part of a key is True for the conversations of one person only, and
#: the second part is True for a search.
_LISTS = {
    (False, False): "list_talks",
    (False, True): "search_talks",
    (True, False): "own_talks",
    (True, True): "search_own_talks",
}
#: The statuses of messages that are not stored but derived from the job, with the status of that job.
_OF_JOBS = {MessageStatus.QUEUED: "pending", MessageStatus.RUNNING: "running"}


class SqlConversationInsights:
    """Implements the part of `BrowsingInsights` for conversations, on both databases."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def talks(self, which: ConversationFilter, *, limit: int, cursor: str | None) -> Page[ConversationSummary]:
        at, before = _read(cursor)
        async with self._snapshots.snapshot() as snapshot:
            place = {"platform": which.platform, "channel": which.channel, "thread": which.thread}
            bounds = {"at": at, "before": before, "limit": limit + 1}
            common: dict[str, Any] = {**bounds, "agent_id": await id_of_agent(snapshot, which.agent)}
            own, text = which.own, which.text
            whose = {} if own is None else {"principal_id": own.principal_id, "user_id": own.user_id}
            named = {} if text is None else await _named_by(snapshot, text, own)
            query = _LISTS[own is not None, text is not None]
            rows = await snapshot.rows(query, **common, **place, **whose, **named)
        shown = [_talk_of(row) for row in rows[:limit]]
        return Page(shown, f"{shown[-1].last_message_at}-{shown[-1].id}" if len(rows) > limit else None)

    async def talk(self, conversation_id: str) -> TalkDetail | None:
        async with self._snapshots.snapshot() as snapshot:
            found = await snapshot.rows("one_talk", id=conversation_id)
            if not found:
                return None
            size = (await snapshot.rows("size_of_prompts", conversation_id=conversation_id))[0]
            number = (await snapshot.rows("count_compactions", conversation_id=conversation_id))[0]["number"]
            newest = await snapshot.rows("newest_summaries", conversation_id=conversation_id, limit=1)
        summary = compaction_of(newest[0]) if newest else None
        remembers = bool(found[0]["remembers"])
        return TalkDetail(_talk_of(found[0]), size["messages"], size["tokens"], number, summary, remembers)

    async def talk_messages(
        self, conversation_id: str, *, own: Person | None, limit: int, cursor: str | None
    ) -> Page[ShownMessage]:
        bounds = {"conversation_id": conversation_id, "before": cursor or LAST, "limit": limit + 1}
        async with self._snapshots.snapshot() as snapshot:
            if own is None:
                rows = await snapshot.rows("shown_messages", **bounds)
            else:
                rows = await snapshot.rows("own_messages", **bounds, principal_id=own.principal_id)
            more = await _more_of(snapshot, conversation_id, rows[:limit])
            versions = await _versions_of(snapshot, conversation_id)
        shown = [
            replace(_shown_of(row, more), question=_question_of(row), versions=versions.get(row["id"], ()))
            for row in rows[:limit]
        ]
        return Page(shown, shown[-1].message.id if len(rows) > limit else None)

    async def whole_talk(self, conversation_id: str, *, after: str, limit: int) -> Sequence[StoredMessage]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("whole_talk", conversation_id=conversation_id, after=after, limit=limit)
            files = (await _more_of(snapshot, conversation_id, rows)).files
        return [message_of(row, files.get(row["id"], ())) for row in rows]

    async def asked_messages(self, which: MessageFilter, *, limit: int, cursor: str | None) -> Page[ShownMessage]:
        of_job = _OF_JOBS.get(which.status) if which.status is not None else None
        async with self._snapshots.snapshot() as snapshot:
            filters = {
                "stored": MessageStatus.ACCEPTED if of_job else which.status,
                "job_status": of_job,
                "agent_id": await id_of_agent(snapshot, which.agent),
                "platform": which.platform,
                "conversation_id": which.conversation_id,
            }
            if which.text is not None:
                return await _asked_with(snapshot, which.text, filters, limit, cursor)
            rows = await snapshot.rows("asked_messages", **filters, before=cursor or LAST, limit=limit + 1)
        shown = [_shown_of(row, _NOTHING_MORE) for row in rows[:limit]]
        return Page(shown, shown[-1].message.id if len(rows) > limit else None)

    async def questions(self, *, open_only: bool, kind: str | None, limit: int, cursor: str | None) -> Page[WaitView]:
        bounds = {"before": cursor or LAST, "limit": limit + 1}
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("list_questions", **bounds, open_only=int(open_only), kind=kind)
            views = [await _question(snapshot, row) for row in rows[:limit]]
        return Page(views, views[-1].wait.id if len(rows) > limit else None)

    async def question(self, wait_id: str) -> WaitView | None:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("get_wait", id=wait_id)
            return await _question(snapshot, rows[0]) if rows else None


def pattern_of(text: str) -> str:
    """Return a pattern for `LIKE … ESCAPE '!'` that matches every text that contains `text`."""
    escaped = text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{escaped}%"


async def _named_by(snapshot: Snapshot, text: str, own: Person | None) -> dict[str, Any]:
    """Return the parameters of a search for conversations: the ids of conversations with a matching message, and the
    agents whose names contain the text."""
    agents = [row["id"] for row in await snapshot.rows("agents_with_text", pattern=pattern_of(text))]
    ids = await conversations_with(snapshot, text, own.principal_id if own else None)
    return {"agents": json.dumps(agents), "any_agent": int(bool(agents)), "ids": json.dumps(ids)}


async def _asked_with(
    snapshot: Snapshot, text: str, filters: Mapping[str, Any], limit: int, cursor: str | None
) -> Page[ShownMessage]:
    """Return a page of people's messages that contain these words. If the filters exclude most of the matching
    messages, a page with a cursor may have fewer messages than `limit`."""
    search = Search(terms_of(text), conversation_id=filters["conversation_id"])
    shown: list[ShownMessage] = []
    following = None
    async for matches in matching_messages(snapshot, search, cursor):
        rows = {row["id"]: row for row in await snapshot.rows("search_asked", ids=json.dumps(matches.ids), **filters)}
        shown += [_shown_of(rows[each], _NOTHING_MORE) for each in matches.ids if each in rows]
        if len(shown) > limit:
            return Page(shown[:limit], shown[limit - 1].message.id)
        following = matches.ids[-1] if matches.more else None
    return Page(shown, following)


def _read(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return _NEVER, LAST
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise Unprocessable("`cursor` must be the `nextCursor` of the previous page.", fix="Start without a cursor.")
    return int(found[1]), found[2]


def _talk_of(row: Row) -> ConversationSummary:
    return ConversationSummary(
        id=row["id"],
        agent=row["slug"] or row["agent_id"],
        address=address_of(row),
        turns=row["turns"],
        created_at=row["created_at"],
        last_message_at=row["last_message_at"],
        open=row["status"] == "active",
        title=_line(row["title"]) or row["channel"],
        preview=_line(row["preview"]),
        people=row["people"],
    )


def _line(text: str | None) -> str:
    line = " ".join((text or "").split())
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"


@dataclass(frozen=True, slots=True)
class _More:
    """Further data of the messages on a page, by message id: files, deliveries, costs and ratings."""

    files: Mapping[str, Sequence[Attachment]] = field(default_factory=dict)
    deliveries: Mapping[str, Sequence[Delivery]] = field(default_factory=dict)
    costs: Mapping[str, int] = field(default_factory=dict)
    feedback: Mapping[str, Sequence[Feedback]] = field(default_factory=dict)


_NOTHING_MORE = _More()


async def _more_of(snapshot: Snapshot, conversation_id: str, rows: Sequence[Row]) -> _More:
    """Return the files, deliveries, costs and ratings of the messages on a page."""
    files: dict[str, list[Attachment]] = defaultdict(list)
    deliveries: dict[str, list[Delivery]] = defaultdict(list)
    feedback: dict[str, list[Feedback]] = defaultdict(list)
    if not rows:
        return _NOTHING_MORE
    ids = [row["id"] for row in rows]
    page = {"conversation_id": conversation_id, "first": min(ids), "last": max(ids)}
    for row in await snapshot.rows("files_of_page", **page):
        files[row["message_id"]].append(attachment_of(row))
    for row in await snapshot.rows("deliveries_of_page", **page):
        deliveries[row["message_id"]].append(delivery_of(row))
    costs = {row["id"]: int(row["micros"]) for row in await snapshot.rows("costs_of_page", **page)}
    for row in await snapshot.rows("feedback_of_page", **page):
        feedback[row["message_id"]].append(feedback_of(row))
    return _More(files, deliveries, costs, feedback)


async def _versions_of(snapshot: Snapshot, conversation_id: str) -> Mapping[str, Sequence[ConversationVersion]]:
    """Return the versions of each point of the conversation, by the id of the first message of the active version."""
    points: dict[str, list[ConversationVersion]] = defaultdict(list)
    rows = await snapshot.rows("versions_of_conversation", conversation_id=conversation_id, limit=_MOST_VERSIONS)
    for version in map(version_of, rows):
        points[version.point_id].append(version)
    return {each.message_id: versions for versions in points.values() for each in versions if each.active}


def _shown_of(row: Row, more: _More) -> ShownMessage:
    message = message_of(row, more.files.get(row["id"], ()))
    return ShownMessage(
        message=message,
        status=current_status(message.status, row["job_status"]),
        agent=row["slug"],
        cost_micros=more.costs.get(message.id, 0),
        deliveries=more.deliveries.get(message.id, ()),
        feedback=more.feedback.get(message.id, ()),
        answered_by=row["answered_by"],
    )


def _question_of(row: Row) -> ShownQuestion | None:
    """Return the question that belongs to a row's message, or None."""
    if row["wait_id"] is None:
        return None
    answer = None if row["wait_answer"] is None else json.loads(row["wait_answer"])
    at = row["wait_answered_at"]
    if at is None:
        return ShownQuestion(row["wait_id"], QuestionState.OPEN)
    if answer is None:
        return ShownQuestion(row["wait_id"], QuestionState.CLOSED, answered_at=at)
    if answer["expired"]:
        return ShownQuestion(row["wait_id"], QuestionState.EXPIRED, answered_at=at)
    given = answer["value"]
    decision = given.get("decision") if isinstance(given, dict) else None
    return ShownQuestion(row["wait_id"], QuestionState.ANSWERED, decision, at)


async def _question(snapshot: Snapshot, row: Row) -> WaitView:
    """Return a question, and the message of the person that led to it (the message of the topmost execution)."""
    wait = wait_of(row)
    execution = execution_of((await snapshot.rows("get_execution", id=wait.execution_id))[0])
    work = WorkState.from_json(execution.state)
    agent_id = (work.origin and work.origin.agent) or work.agent
    agents = await snapshot.rows("get_agent", id=agent_id)
    people = await snapshot.rows("get_principal", id=execution.principal_id) if execution.principal_id else []
    answerers = await snapshot.rows("get_principal", id=wait.answered_by) if wait.answered_by else []
    return WaitView(
        wait=wait,
        execution=execution,
        message=await _asked_for(
            snapshot, execution.id, execution.parent_wait, work.origin.message if work.origin else None
        ),
        person=people[0]["name"] if people else None,
        agent=agents[0]["slug"] if agents else None,
        answerer=answerers[0]["name"] if answerers else None,
    )


async def _asked_for(
    snapshot: Snapshot, execution_id: str, parent_wait: str | None, message_id: str | None
) -> StoredMessage | None:
    if message_id is not None:
        found = await snapshot.rows("get_message", id=message_id)
        return message_of(found[0]) if found else None
    for _ in range(10):  # delegations allow fewer levels
        if parent_wait is None:
            break
        wait = (await snapshot.rows("get_wait", id=parent_wait))[0]
        above = (await snapshot.rows("get_execution", id=wait["execution_id"]))[0]
        execution_id, parent_wait = above["id"], above["parent_wait"]
    asked = await snapshot.rows("messages_of_turn", execution_id=execution_id)
    return message_of(asked[-1]) if asked else None
