"""The queue over HTTP: list and show jobs, tell their stories, retry, cancel and delete them, one or many."""

from __future__ import annotations

from starlette.responses import Response

from arvis.domain.errors import NotFound
from arvis.domain.jobs import JobKind, JobStatus
from arvis.ports.browsing import JobFilter, QueueItem
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations
from arvis.web.bodies import Fields, unusable
from arvis.web.bulk import Bulk, statuses_of
from arvis.web.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.gate import Gate
from arvis.web.identity import OPERATE, READ
from arvis.web.queue_shapes import (
    BULK,
    BULK_DONE,
    QUEUE_JOB,
    QUEUE_JOB_DETAIL,
    RETRY,
    STORY,
    queue_view,
    story_view,
    told_view,
)
from arvis.web.schemas import LABEL, OK, STRING, listing, one_of
from arvis.web.views import page_view

_FILTERS = {
    "kind": one_of(JobKind),
    "status": {**STRING, "description": f"One or several of {', '.join(JobStatus)}, with commas.", "maxLength": 200},
    "agent": LABEL,
    "lane": LABEL,
}


class JobRoutes:
    def __init__(self, *, insights: Insights, operations: Operations, gate: Gate) -> None:
        self._insights = insights
        self._operations = operations
        self._gate = gate
        self._bulk = Bulk(insights=insights, operations=operations)

    def endpoints(self) -> list[Endpoint]:
        one = "/api/jobs/{job}"
        changed = {200: QUEUE_JOB_DETAIL}
        return [
            Endpoint(
                "GET",
                "/api/jobs",
                "Jobs, newest first",
                READ,
                self._list,
                {200: listing(QUEUE_JOB)},
                query={**PAGING, **_FILTERS},
            ),
            Endpoint("GET", one, "One job with its payload", READ, self._show, changed),
            Endpoint("GET", f"{one}/timeline", "What happened to it, step by step", READ, self._tell, {200: STORY}),
            Endpoint(
                "POST",
                f"{one}/retry",
                "Run a failed job again; with `content`, ask the agent anew with other words",
                OPERATE,
                self._retry,
                changed,
                body=RETRY,
            ),
            Endpoint("POST", f"{one}/cancel", "End a pending or running job", OPERATE, self._cancel, changed),
            Endpoint("DELETE", one, "Remove a job that does not run or wait", OPERATE, self._delete, {200: OK}),
            Endpoint(
                "POST",
                "/api/jobs/bulk",
                "Retry, cancel or delete many jobs, named or found; each counts for itself",
                OPERATE,
                self._many,
                {200: BULK_DONE},
                body=BULK,
            ),
        ]

    async def _list(self, call: Call) -> Response:
        which = JobFilter(
            kind=call.choice("kind", JobKind),
            statuses=statuses_of(call.query("status")),
            agent=call.query("agent"),
            lane=call.query("lane"),
        )
        page = await self._insights.queue(which, limit=call.limit, cursor=call.query("cursor"))
        return answer(page_view([queue_view(item) for item in page.items], page.next_cursor))

    async def _show(self, call: Call) -> Response:
        return await self._shown(call.id("job"))

    async def _tell(self, call: Call) -> Response:
        item = await self._item(call.id("job"))
        if item.job.kind is JobKind.MESSAGE and item.job.message_id is not None:
            timeline = await self._insights.message(item.job.message_id)
            if timeline is not None:
                return answer(told_view(item, timeline))
        story = await self._insights.job_story(item.job.id)
        if story is None:
            raise _no_job()
        return answer(story_view(story))

    async def _retry(self, call: Call) -> Response:
        """A body is not needed: without words nothing is read."""
        job_id, fields = call.id("job"), await _optional_fields(call)
        content = fields.text("content")
        if content is None:
            await self._operations.retry_job(job_id)
            return await self._shown(job_id)
        if not content.strip():
            raise unusable("content", "must say something")
        by = await self._gate.principal(self._gate.sender(call.identity))
        return await self._shown(await self._operations.ask_anew(job_id, content, by))

    async def _cancel(self, call: Call) -> Response:
        by = (await self._gate.asker(call.identity)).name
        await self._operations.cancel_job(call.id("job"), by=by)
        return await self._show(call)

    async def _delete(self, call: Call) -> Response:
        await self._operations.delete_job(call.id("job"))
        return answer({"ok": True})

    async def _many(self, call: Call) -> Response:
        by = (await self._gate.asker(call.identity)).name
        return answer(await self._bulk.do(await call.fields(), by))

    async def _shown(self, job_id: str) -> Response:
        item = await self._item(job_id)
        return answer({**queue_view(item), "payload": dict(item.job.payload)})

    async def _item(self, job_id: str) -> QueueItem:
        item = await self._insights.queue_item(job_id)
        if item is None:
            raise _no_job()
        return item


def _no_job() -> NotFound:
    return NotFound(
        "There is no such job.",
        fix="Look it up in the list of jobs (`arvis jobs list`, GET /api/jobs); old ones are removed in time.",
    )


async def _optional_fields(call: Call) -> Fields:
    headers = call.request.headers
    bare = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
    return Fields({}) if bare else await call.fields()
