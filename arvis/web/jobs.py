"""The queue over HTTP: list and show jobs, retry, cancel and delete them."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from arvis.domain.errors import NotFound
from arvis.domain.jobs import Job, JobKind, JobStatus
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations
from arvis.web.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.identity import OPERATE, READ
from arvis.web.schemas import JOB, JOB_DETAIL, LABEL, OK, listing, one_of
from arvis.web.views import job_view, page_view

_FILTERS = {"kind": one_of(JobKind), "status": one_of(JobStatus), "agent": LABEL}


class JobRoutes:
    def __init__(self, *, insights: Insights, operations: Operations) -> None:
        self._insights = insights
        self._operations = operations

    def endpoints(self) -> list[Endpoint]:
        one = "/api/jobs/{job}"
        changed = {200: JOB_DETAIL}
        return [
            Endpoint(
                "GET",
                "/api/jobs",
                "Jobs, newest first",
                READ,
                self._list,
                {200: listing(JOB)},
                query={**PAGING, **_FILTERS},
            ),
            Endpoint("GET", one, "One job with its payload", READ, self._show, {200: JOB_DETAIL}),
            Endpoint("POST", f"{one}/retry", "Run a failed or cancelled job again", OPERATE, self._retry, changed),
            Endpoint("POST", f"{one}/cancel", "End a pending or running job", OPERATE, self._cancel, changed),
            Endpoint("DELETE", one, "Remove a job that does not run or wait", OPERATE, self._delete, {200: OK}),
        ]

    async def _list(self, call: Call) -> Response:
        page = await self._insights.jobs(
            kind=call.choice("kind", JobKind),
            status=call.choice("status", JobStatus),
            agent=call.query("agent"),
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        agents = await self._agents() if page.items else {}
        return answer(page_view([job_view(job, agents) for job in page.items], page.next_cursor))

    async def _show(self, call: Call) -> Response:
        job = await self._job(call)
        return answer({**job_view(job, await self._agents()), "payload": dict(job.payload)})

    async def _retry(self, call: Call) -> Response:
        await self._operations.retry_job(call.id("job"))
        return await self._show(call)

    async def _cancel(self, call: Call) -> Response:
        await self._operations.cancel_job(call.id("job"))
        return await self._show(call)

    async def _delete(self, call: Call) -> Response:
        await self._operations.delete_job(call.id("job"))
        return answer({"ok": True})

    async def _job(self, call: Call) -> Job:
        job = await self._insights.job(call.id("job"))
        if job is None:
            raise NotFound(
                "There is no such job.",
                fix="Look it up in the list of jobs (`arvis jobs list`, GET /api/jobs); old ones are removed in time.",
            )
        return job

    async def _agents(self) -> Mapping[str, str]:
        return {agent.id: agent.slug for agent in await self._insights.agents()}
