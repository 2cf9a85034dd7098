"""The queue over HTTP: list jobs, show their timelines, and retry, cancel or delete one or many jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from starlette.responses import Response

from arvis.domain.errors import ArvisError, NotFound
from arvis.domain.explanation import job_explanation
from arvis.domain.jobs import JobKind, JobStatus
from arvis.ports.browsing import JobFilter, JobStory, QueueItem
from arvis.ports.insights import Insights, MessageTimeline
from arvis.ports.operations import Operations
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.identity import OPERATE, READ
from arvis.web.http.requests import Fields, unusable
from arvis.web.http.schema import (
    INTEGER,
    JOB,
    LABEL,
    NUMBER,
    OK,
    STEP,
    STRING,
    TIME,
    Schema,
    array,
    object_schema,
    one_of,
    optional,
    page_schema,
)
from arvis.web.http.views import Json, job_view, page_view, story_steps, timeline_view

_MICROS = 1_000_000
#: The maximum number of jobs per bulk request: for a request with ids, and for a request with a filter.
MOST_IDS, MOST_FOUND = 500, 200
ACTIONS = ("retry", "cancel", "delete")

QUEUE_JOB: Schema = object_schema(
    {
        **JOB["properties"],
        "subject": {**STRING, "description": "The beginning of its message, or the name of its schedule or webhook."},
        "platform": optional(STRING),
        "connector": optional(STRING),
        "channelId": optional(STRING),
        "person": optional(STRING),
    }
)
QUEUE_JOB_DETAIL: Schema = object_schema({**QUEUE_JOB["properties"], "payload": {"type": "object"}})
RETRY: Schema = object_schema(
    {"content": {**STRING, "description": "A new text for its message. The turn then starts again.", "minLength": 1}},
    required=(),
)
STORY: Schema = object_schema(
    {
        "id": STRING,
        "kind": JOB["properties"]["kind"],
        "status": JOB["properties"]["status"],
        "explanation": {**STRING, "description": "Its state and the reason, in one sentence."},
        "agent": optional(STRING),
        "subject": STRING,
        "content": optional({**STRING, "description": "The whole text of a message or delivery."}),
        "createdAt": TIME,
        "steps": array(STEP),
        "costUsd": NUMBER,
        "inputTokens": INTEGER,
        "outputTokens": INTEGER,
        "messageId": optional(STRING),
        "executionId": optional(STRING),
        "deliveryId": optional(STRING),
    }
)
JOB_FILTER: Schema = object_schema(
    {"kind": JOB["properties"]["kind"], "status": STRING, "agent": LABEL, "lane": LABEL}, required=()
)
BULK: Schema = object_schema(
    {
        "action": one_of(ACTIONS),
        "ids": {**array(LABEL), "maxItems": MOST_IDS, "minItems": 1},
        "filter": {**JOB_FILTER, "description": f"At most {MOST_FOUND} jobs per request; continue with `cursor`."},
        "cursor": STRING,
    },
    required=("action",),
)
BULK_DONE: Schema = object_schema(
    {
        "done": INTEGER,
        "refused": array(object_schema({"id": STRING, "code": STRING, "message": STRING})),
        "remaining": {
            **INTEGER,
            "description": "With a filter: the number of jobs that remain, counted up to 100,000.",
        },
        "nextCursor": optional(STRING),
    }
)


def queue_view(item: QueueItem) -> Json:
    job, address = item.job, item.address
    return {
        **job_view(job, {}),
        "agent": item.agent,
        "subject": item.about,
        "platform": address.platform if address else None,
        "connector": address.connector if address else None,
        "channelId": address.channel if address else None,
        "person": item.person,
    }


def message_timeline_view(item: QueueItem, timeline: MessageTimeline) -> Json:
    """Return the timeline of a message's job. Its steps are the same as in the timeline of the message."""
    timeline_fields: Mapping[str, Any] = timeline_view(timeline)
    same = ("explanation", "content", "steps", "costUsd", "inputTokens", "outputTokens")
    return {**_head(item), **{name: timeline_fields[name] for name in same}}


def story_view(story: JobStory) -> Json:
    item, calls = story.item, story.calls
    return {
        **_head(item),
        "explanation": job_explanation(job_view(item.job, {}), item.agent),
        "content": story.delivery.content if story.delivery is not None else None,
        "steps": story_steps(story),
        "costUsd": sum(call.cost_micros for call in calls) / _MICROS,
        "inputTokens": sum(call.input_tokens for call in calls),
        "outputTokens": sum(call.output_tokens for call in calls),
    }


def _head(item: QueueItem) -> Json:
    job = item.job
    return {
        "id": job.id,
        "kind": job.kind,
        "status": job.status,
        "agent": item.agent,
        "subject": item.about,
        "createdAt": job.created_at,
        "messageId": job.message_id,
        "executionId": job.execution_id,
        "deliveryId": job.delivery_id,
    }


#: The number of concurrent writes of a bulk action. It is large enough that the writes share commits, and small enough
#: that they do not delay messages.
_AT_ONCE = 16
_COUNTED = 100_000
_LONGEST_ID = 64

Verb = Callable[[str], Awaitable[None]]


class Bulk:
    def __init__(self, *, insights: Insights, operations: Operations) -> None:
        self._insights = insights
        self._operations = operations

    async def do(self, fields: Fields, by: str) -> Json:
        """Apply the action to the jobs in `ids`, or to those that match `filter`. `by` is the name of the person.

        Each job is a separate write, so a refused job does not stop the others. With a filter, the response contains
        the number of jobs that remain, and a `cursor` for the next request.
        """
        verb = self._verb(fields.required_text("action"), by)
        ids, found = fields.texts("ids"), fields.mapping("filter")
        if (ids is None) == (found is None):
            raise unusable("ids", "or `filter` must be given, and not both")
        if ids is not None:
            return {**await _each(verb, _named(ids)), "remaining": 0, "nextCursor": None}
        which = _filter(Fields(found or {}))
        page = await self._insights.queue(which, limit=MOST_FOUND, cursor=fields.label("cursor"))
        done = await _each(verb, [item.job.id for item in page.items])
        remaining = 0
        if page.next_cursor is not None:
            remaining = await self._insights.count_jobs(which, below=page.next_cursor, most=_COUNTED)
        return {**done, "remaining": remaining, "nextCursor": page.next_cursor}

    def _verb(self, action: str, by: str) -> Verb:
        verbs: dict[str, Verb] = {
            "retry": self._operations.retry_job,
            "cancel": partial(self._operations.cancel_job, by=by),
            "delete": self._operations.delete_job,
        }
        if action not in verbs:
            raise unusable("action", "must be one of " + ", ".join(ACTIONS))
        return verbs[action]


def statuses_of(text: str | None) -> tuple[JobStatus, ...]:
    """Parse one status, or several separated by commas."""
    names = [] if text is None else list(dict.fromkeys(text.split(",")))
    if not {str(each) for each in JobStatus}.issuperset(names):
        raise unusable("status", "must be one or several of these, separated by commas: " + ", ".join(JobStatus))
    return tuple(JobStatus(name) for name in names)


def _named(ids: Sequence[str]) -> Sequence[str]:
    if not 0 < len(ids) <= MOST_IDS or any(not 0 < len(each) <= _LONGEST_ID for each in ids):
        raise unusable("ids", f"must be 1 to {MOST_IDS} ids")
    return list(dict.fromkeys(ids))


def _filter(fields: Fields) -> JobFilter:
    kind = fields.text("kind")
    if kind is not None and kind not in {str(each) for each in JobKind}:
        raise unusable("filter.kind", "must be one of " + ", ".join(JobKind))
    which = JobFilter(
        kind=kind, statuses=statuses_of(fields.text("status")), agent=fields.label("agent"), lane=fields.label("lane")
    )
    if which == JobFilter():
        raise unusable("filter", "must contain a status, a kind, an agent or a lane")
    return which


async def _each(verb: Verb, ids: Sequence[str]) -> Json:
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(job_id: str) -> Json | None:
        async with slots:
            try:
                await verb(job_id)
            except ArvisError as error:
                why = f" ({error.why})" if error.why else ""
                return {"id": job_id, "code": error.code, "message": f"{error.what}{why}"}
        return None

    outcomes = await asyncio.gather(*(one(job_id) for job_id in ids))
    refused = [each for each in outcomes if each is not None]
    return {"done": len(ids) - len(refused), "refused": refused}


_FILTERS = {
    "kind": one_of(JobKind),
    "status": {
        **STRING,
        "description": f"One or several of {', '.join(JobStatus)}, separated by commas.",
        "maxLength": 200,
    },
    "agent": LABEL,
    "lane": LABEL,
}


class JobRoutes:
    def __init__(self, *, insights: Insights, operations: Operations, gate: Authorizer) -> None:
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
                "List jobs, newest first",
                READ,
                self._list,
                {200: page_schema(QUEUE_JOB)},
                query={**PAGING, **_FILTERS},
            ),
            Endpoint("GET", one, "Show a job with its payload", READ, self._show, changed),
            Endpoint("GET", f"{one}/timeline", "Show a job's timeline", READ, self._timeline, {200: STORY}),
            Endpoint(
                "POST",
                f"{one}/retry",
                "Retry a failed job; with `content`, ask the agent again with a new text",
                OPERATE,
                self._retry,
                changed,
                body=RETRY,
            ),
            Endpoint("POST", f"{one}/cancel", "Cancel a pending or running job", OPERATE, self._cancel, changed),
            Endpoint(
                "DELETE", one, "Delete a job that is neither running nor pending", OPERATE, self._delete, {200: OK}
            ),
            Endpoint(
                "POST",
                "/api/jobs/bulk",
                "Retry, cancel or delete many jobs, by ids or by filter; each job separately",
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

    async def _timeline(self, call: Call) -> Response:
        item = await self._item(call.id("job"))
        if item.job.kind is JobKind.MESSAGE and item.job.message_id is not None:
            timeline = await self._insights.message(item.job.message_id)
            if timeline is not None:
                return answer(message_timeline_view(item, timeline))
        story = await self._insights.job_story(item.job.id)
        if story is None:
            raise _no_job()
        return answer(story_view(story))

    async def _retry(self, call: Call) -> Response:
        """Retry the job. The request needs no body."""
        job_id, fields = call.id("job"), await _optional_fields(call)
        content = fields.text("content")
        if content is None:
            await self._operations.retry_job(job_id)
            return await self._shown(job_id)
        if not content.strip():
            raise unusable("content", "must not be empty")
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
        fix="Look it up in the list of jobs (`arvis jobs list`, GET /api/jobs); old jobs are deleted.",
    )


async def _optional_fields(call: Call) -> Fields:
    headers = call.request.headers
    bare = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
    return Fields({}) if bare else await call.fields()
