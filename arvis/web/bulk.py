"""What is done to many jobs with one request. Each job is a write of its own: one that refuses holds up no other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from arvis.domain.errors import ArvisError
from arvis.domain.jobs import JobKind, JobStatus
from arvis.ports.browsing import JobFilter
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations
from arvis.web.bodies import Fields, unusable
from arvis.web.queue_shapes import ACTIONS, MOST_FOUND, MOST_IDS
from arvis.web.views import Json

#: So many writes are under way at once: enough to share commits, too few to hold up messages.
_AT_ONCE = 16
_COUNTED = 100_000
_LONGEST_ID = 64

Verb = Callable[[str], Awaitable[None]]


class Bulk:
    def __init__(self, *, insights: Insights, operations: Operations) -> None:
        self._insights = insights
        self._operations = operations

    async def do(self, fields: Fields, by: str) -> Json:
        """`by` is the name of the person. Named by `ids`, or found by `filter`: then the answer says how many follow, and `cursor` goes on behind them."""
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
    """One status or several, with commas."""
    names = [] if text is None else list(dict.fromkeys(text.split(",")))
    if not {str(each) for each in JobStatus}.issuperset(names):
        raise unusable("status", "must be of " + ", ".join(JobStatus))
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
        raise unusable("filter", "must name something: a status, a kind, an agent or a lane")
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
