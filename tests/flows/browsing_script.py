"""Data for the dashboard's pages, for tests of the web that need no database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.executions import Execution, ExecutionStatus, Wait
from arvis.domain.jobs import Job
from arvis.domain.messages import StoredMessage
from arvis.ports.browsing import (
    ConversationFilter,
    ConversationSummary,
    JobFilter,
    JobStory,
    MessageFilter,
    Person,
    QueueItem,
    ShownMessage,
    TalkDetail,
    WaitView,
)
from arvis.ports.pages import Page


class GivenBrowsing:
    """Browsing over the jobs, waits and messages that a test gives."""

    all_jobs: dict[str, Job]
    all_waits: dict[str, Wait]
    stored: list[StoredMessage]
    asked: list[Mapping[str, Any]]

    async def queue(self, which: JobFilter, *, limit: int, cursor: str | None) -> Page[QueueItem]:
        (status,) = which.statuses or (None,)
        asked = {"kind": which.kind, "status": status, "agent": which.agent, "limit": limit, "cursor": cursor}
        self.asked.append(asked)
        found = [_item(job) for job in self.all_jobs.values()][int(cursor or 0) :]
        return Page(found[:limit], str(int(cursor or 0) + limit) if len(found) > limit else None)

    async def queue_item(self, job_id: str) -> QueueItem | None:
        job = self.all_jobs.get(job_id)
        return None if job is None else _item(job)

    async def job_story(self, job_id: str) -> JobStory | None:
        job = self.all_jobs.get(job_id)
        return None if job is None else JobStory(_item(job))

    async def count_jobs(self, which: JobFilter, *, below: str | None, most: int) -> int:
        return min(len(self.all_jobs), most)

    async def talks(self, which: ConversationFilter, *, limit: int, cursor: str | None) -> Page[ConversationSummary]:
        return Page([], None)

    async def talk(self, conversation_id: str) -> TalkDetail | None:
        return None

    async def talk_messages(
        self, conversation_id: str, *, own: Person | None, limit: int, cursor: str | None
    ) -> Page[ShownMessage]:
        return Page([ShownMessage(message, message.status, "helper") for message in self.stored], None)

    async def whole_talk(self, conversation_id: str, *, after: str, limit: int) -> Sequence[StoredMessage]:
        return []

    async def asked_messages(self, which: MessageFilter, *, limit: int, cursor: str | None) -> Page[ShownMessage]:
        return Page([], None)

    async def questions(self, *, open_only: bool, kind: str | None, limit: int, cursor: str | None) -> Page[WaitView]:
        waits = [wait for wait in self.all_waits.values() if wait.answer is None or not open_only]
        return Page([_question(wait) for wait in waits], None)

    async def question(self, wait_id: str) -> WaitView | None:
        wait = self.all_waits.get(wait_id)
        return None if wait is None else _question(wait)


def _item(job: Job) -> QueueItem:
    return QueueItem(job, "helper" if job.agent_id else None, "hello", None, None)


def _question(wait: Wait) -> WaitView:
    execution = Execution(
        wait.execution_id, "agent", "v", {}, ExecutionStatus.PAUSED, None, "lane", 5, None, None, 1, None, 1, 1
    )
    return WaitView(wait, execution)
