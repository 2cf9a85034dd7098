"""`arvis jobs`: list, show, retry, cancel and delete the jobs of the queue."""

from __future__ import annotations

from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import choice, page_options
from arvis.cli.output import Output, Table, at, fields
from arvis.domain.jobs import JobKind, JobStatus

_JOBS = Table(
    "id",
    "kind",
    "status",
    "agent",
    "attempts",
    "crashes",
    ("created", at("createdAt")),
    ("error", lambda job: job["error"] or job["reason"]),
    nothing="No jobs match.",
)


@click.group(cls=ApiCommands)
def jobs() -> None:
    """List, show, retry, cancel and delete jobs of the queue."""


@jobs.command("list")
@click.option("--kind", type=choice(JobKind), help="Only jobs of this kind.")
@click.option("--status", type=choice(JobStatus), help="Only jobs in this state.")
@click.option("--agent", metavar="SLUG", help="Only jobs of this agent.")
@page_options
def list_jobs(*, api: Api, **query: Any) -> Output:
    """List jobs, the newest first."""
    return _JOBS.page(api.get("jobs", query=query))


@jobs.command()
@click.argument("job_id")
def show(*, api: Api, job_id: str) -> Output:
    """Show one job with its payload."""
    job = api.get("jobs", job_id)
    return Output(job, fields(job, "runAt", "createdAt", "startedAt", "finishedAt"))


@jobs.command()
@click.argument("job_id")
def retry(*, api: Api, job_id: str) -> Output:
    """Retry a failed job."""
    return _changed(api.post("jobs", job_id, "retry"))


@jobs.command()
@click.argument("job_id")
def cancel(*, api: Api, job_id: str) -> Output:
    """Cancel a job that waits or runs."""
    return _changed(api.post("jobs", job_id, "cancel"))


@jobs.command()
@click.argument("job_id")
def delete(*, api: Api, job_id: str) -> Output:
    """Delete a job that neither waits nor runs."""
    return Output(api.delete("jobs", job_id), f"The job {job_id} is deleted.")


def _changed(job: Any) -> Output:
    return Output(job, f"The job {job['id']} is now {job['status']}.")
