"""The queue over HTTP: list jobs, show their timelines, and retry, cancel or delete one or many jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Annotated, Self

from pydantic import Field
from starlette.responses import Response

from arvis.domain.errors import ArvisError, NotFound
from arvis.domain.explanation import job_explanation
from arvis.domain.jobs import JobKind, JobStatus
from arvis.domain.money import MICROS
from arvis.ports.browsing import JobFilter, JobStory, QueueItem
from arvis.ports.insights import Insights, MessageTimeline
from arvis.ports.operations import Operations
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import OPERATE, READ
from arvis.web.http.models import MEMBER, About, AnyObject, Body, Label, OkView, Page, Says, Time, View
from arvis.web.http.requests import unusable
from arvis.web.http.schema import LABEL, STRING, one_of
from arvis.web.http.views import JobRowView, StepJson, TimelineView, story_steps

#: The maximum number of jobs per bulk request: for a request with ids, and for a request with a filter.
MOST_IDS, MOST_FOUND = 500, 200


class JobView(JobRowView):
    subject: Annotated[str, About("The beginning of its message, or the name of its schedule or webhook.")]
    platform: str | None
    connector: str | None
    channel_id: str | None
    person: str | None

    @classmethod
    def of_item(cls, item: QueueItem, /) -> Self:
        address = item.address
        return cls.showing(
            item.job,
            agent=item.agent,
            subject=item.about,
            platform=address.platform if address else None,
            connector=address.connector if address else None,
            channel_id=address.channel if address else None,
            person=item.person,
        )


class JobDetailView(JobView):
    payload: AnyObject


class JobStoryView(View):
    id: str
    kind: JobKind
    status: JobStatus
    explanation: Annotated[str, About("Its state and the reason, in one sentence.")]
    agent: str | None
    subject: str
    content: Annotated[str, About("The whole text of a message or delivery.")] | None
    created_at: Time
    steps: list[StepJson]
    cost_usd: float
    input_tokens: int
    output_tokens: int
    message_id: str | None
    execution_id: str | None
    delivery_id: str | None

    @classmethod
    def of(cls, story: JobStory) -> Self:
        item, calls = story.item, story.calls
        return cls.showing(
            item.job,
            explanation=job_explanation(JobRowView.of(item.job, {}).to_json(), item.agent),
            agent=item.agent,
            subject=item.about,
            content=story.delivery.content if story.delivery is not None else None,
            steps=story_steps(story),
            cost_usd=sum(call.cost_micros for call in calls) / MICROS,
            input_tokens=sum(call.input_tokens for call in calls),
            output_tokens=sum(call.output_tokens for call in calls),
        )

    @classmethod
    def of_message(cls, item: QueueItem, timeline: MessageTimeline) -> Self:
        """Return the timeline of a message's job. Its steps are the same as in the timeline of the message."""
        shown = TimelineView.of(timeline)
        return cls.showing(
            item.job,
            explanation=shown.explanation,
            agent=item.agent,
            subject=item.about,
            content=shown.content,
            steps=shown.steps,
            cost_usd=shown.cost_usd,
            input_tokens=shown.input_tokens,
            output_tokens=shown.output_tokens,
        )


class RefusedJobView(View):
    id: str
    code: str
    message: str


class BulkView(View):
    done: int
    refused: list[RefusedJobView]
    remaining: Annotated[int, About("With a filter: the number of jobs that remain, counted up to 100,000.")]
    next_cursor: str | None


class RetriedJob(Body):
    content: Annotated[
        Annotated[str, About(minLength=1)] | None,
        About("A new text for its message. The turn then starts again."),
    ] = None


class WantedJobs(Body):
    kind: Annotated[JobKind | None, MEMBER] = None
    status: str | None = None
    agent: Label | None = None
    lane: Label | None = None

    def wanted(self) -> JobFilter:
        which = JobFilter(kind=self.kind, statuses=statuses_of(self.status), agent=self.agent, lane=self.lane)
        if which == JobFilter():
            raise unusable("filter", "must contain a status, a kind, an agent or a lane")
        return which


class BulkAction(StrEnum):
    RETRY = "retry"
    CANCEL = "cancel"
    DELETE = "delete"


_Ids = Annotated[list[Label], Field(min_length=1, max_length=MOST_IDS), Says(f"must be 1 to {MOST_IDS} ids")]


class BulkJobs(Body):
    action: Annotated[BulkAction, MEMBER]
    ids: _Ids | None = None
    filter: Annotated[WantedJobs | None, About(f"At most {MOST_FOUND} jobs per request; continue with `cursor`.")] = (
        None
    )
    cursor: Label | None = None


#: The number of concurrent writes of a bulk action. It is large enough that the writes share commits, and small enough
#: that they do not delay messages.
_AT_ONCE = 16
_COUNTED = 100_000

Verb = Callable[[str], Awaitable[None]]


class Bulk:
    def __init__(self, *, insights: Insights, operations: Operations) -> None:
        self._insights = insights
        self._operations = operations

    async def do(self, body: BulkJobs, by: str) -> BulkView:
        """Apply the action to the jobs in `ids`, or to those that match `filter`. `by` is the name of the person.

        Each job is a separate write, so a refused job does not stop the others. With a filter, the response contains
        the number of jobs that remain, and a `cursor` for the next request.
        """
        verb = self._verb(body.action, by)
        if (body.ids is None) == (body.filter is None):
            raise unusable("ids", "or `filter` must be given, and not both")
        if body.filter is None:
            return await _each(verb, list(dict.fromkeys(body.ids or ())))
        which = body.filter.wanted()
        page = await self._insights.queue(which, limit=MOST_FOUND, cursor=body.cursor)
        outcome = await _each(verb, [item.job.id for item in page.items])
        remaining = 0
        if page.next_cursor is not None:
            remaining = await self._insights.count_jobs(which, below=page.next_cursor, most=_COUNTED)
        return BulkView(done=outcome.done, refused=outcome.refused, remaining=remaining, next_cursor=page.next_cursor)

    def _verb(self, action: BulkAction, by: str) -> Verb:
        match action:
            case BulkAction.RETRY:
                return self._operations.retry_job
            case BulkAction.CANCEL:
                return partial(self._operations.cancel_job, by=by)
            case BulkAction.DELETE:
                return self._operations.delete_job


def statuses_of(text: str | None) -> tuple[JobStatus, ...]:
    """Parse one status, or several separated by commas."""
    names = [] if text is None else list(dict.fromkeys(text.split(",")))
    if not {str(each) for each in JobStatus}.issuperset(names):
        raise unusable("status", "must be one or several of these, separated by commas: " + ", ".join(JobStatus))
    return tuple(JobStatus(name) for name in names)


async def _each(verb: Verb, ids: Sequence[str]) -> BulkView:
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(job_id: str) -> RefusedJobView | None:
        async with slots:
            try:
                await verb(job_id)
            except ArvisError as error:
                why = f" ({error.why})" if error.why else ""
                return RefusedJobView(id=job_id, code=error.code, message=f"{error.what}{why}")
        return None

    outcomes = await asyncio.gather(*(one(job_id) for job_id in ids))
    refused = [each for each in outcomes if each is not None]
    return BulkView(done=len(ids) - len(refused), refused=refused, remaining=0, next_cursor=None)


_ALL, _ONE = "/api/jobs", "/api/jobs/{job}"
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


class JobRoutes(Routes):
    def __init__(self, *, insights: Insights, operations: Operations, gate: Authorizer) -> None:
        self._insights = insights
        self._operations = operations
        self._gate = gate
        self._bulk = Bulk(insights=insights, operations=operations)

    @route("GET", _ALL, "List jobs, newest first", READ, {200: Page[JobView]}, query={**PAGING, **_FILTERS})
    async def _list(self, call: Call) -> Response:
        which = JobFilter(
            kind=call.choice("kind", JobKind),
            statuses=statuses_of(call.query("status")),
            agent=call.query("agent"),
            lane=call.query("lane"),
        )
        page = await self._insights.queue(which, limit=call.limit, cursor=call.query("cursor"))
        return answer_page([JobView.of_item(item) for item in page.items], page.next_cursor)

    @route("GET", _ONE, "Show a job with its payload", READ, {200: JobDetailView})
    async def _show(self, call: Call) -> Response:
        return await self._shown(call.id("job"))

    @route("GET", f"{_ONE}/timeline", "Show a job's timeline", READ, {200: JobStoryView})
    async def _timeline(self, call: Call) -> Response:
        item = await self._item(call.id("job"))
        if item.job.kind is JobKind.MESSAGE and item.job.message_id is not None:
            timeline = await self._insights.message(item.job.message_id)
            if timeline is not None:
                return answer(JobStoryView.of_message(item, timeline))
        story = await self._insights.job_story(item.job.id)
        if story is None:
            raise _no_job()
        return answer(JobStoryView.of(story))

    @route(
        "POST",
        f"{_ONE}/retry",
        "Retry a failed job; with `content`, ask the agent again with a new text",
        OPERATE,
        {200: JobDetailView},
        body=RetriedJob,
    )
    async def _retry(self, call: Call) -> Response:
        """Retry the job. The request needs no body."""
        job_id, content = call.id("job"), (await _optional_body(call)).content
        if content is None:
            await self._operations.retry_job(job_id)
            return await self._shown(job_id)
        if not content.strip():
            raise unusable("content", "must not be empty")
        by = await self._gate.principal(self._gate.sender(call.identity))
        return await self._shown(await self._operations.ask_anew(job_id, content, by))

    @route("POST", f"{_ONE}/cancel", "Cancel a pending or running job", OPERATE, {200: JobDetailView})
    async def _cancel(self, call: Call) -> Response:
        by = (await self._gate.asker(call.identity)).name
        await self._operations.cancel_job(call.id("job"), by=by)
        return await self._show(call)

    @route("DELETE", _ONE, "Delete a job that is neither running nor pending", OPERATE, {200: OkView})
    async def _delete(self, call: Call) -> Response:
        await self._operations.delete_job(call.id("job"))
        return done()

    @route(
        "POST",
        f"{_ALL}/bulk",
        "Retry, cancel or delete many jobs, by ids or by filter; each job separately",
        OPERATE,
        {200: BulkView},
        body=BulkJobs,
    )
    async def _many(self, call: Call) -> Response:
        by = (await self._gate.asker(call.identity)).name
        return answer(await self._bulk.do(await call.read(BulkJobs), by))

    async def _shown(self, job_id: str) -> Response:
        return answer(JobDetailView.of_item(await self._item(job_id)))

    async def _item(self, job_id: str) -> QueueItem:
        item = await self._insights.queue_item(job_id)
        if item is None:
            raise _no_job()
        return item


def _no_job() -> NotFound:
    return NotFound(
        "There is no such job.",
        fix="`arvis jobs list` and GET /api/jobs list the jobs. Old jobs are deleted.",
    )


async def _optional_body(call: Call) -> RetriedJob:
    headers = call.request.headers
    bare = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
    return RetriedJob() if bare else await call.read(RetriedJob)
