"""`arvis jobs`: list, show, retry, cancel and delete the jobs of the queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.options import Commands, json_option, page_options, place_options
from arvis.cli.output import moment, print_fields, print_json, print_table, tell_more
from arvis.domain.jobs import JobKind, JobStatus

_COLUMNS = ("id", "kind", "status", "agent", "attempts", "crashes", "created", "error")
_TIMES = ("runAt", "createdAt", "startedAt", "finishedAt")


@click.group(cls=Commands)
def jobs() -> None:
    """List, show, retry, cancel and delete jobs of the queue."""


@jobs.command("list")
@click.option("--kind", type=click.Choice([*map(str, JobKind)]), help="Only jobs of this kind.")
@click.option("--status", type=click.Choice([*map(str, JobStatus)]), help="Only jobs in this state.")
@click.option("--agent", metavar="SLUG", help="Only jobs of this agent.")
@page_options
@json_option
@place_options
def list_jobs(
    *,
    kind: str | None,
    status: str | None,
    agent: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """List jobs, the newest first."""
    query = {"kind": kind, "status": status, "agent": agent, "limit": limit, "cursor": cursor}
    page = connect(config, data).get("api", "jobs", query=query)
    if as_json:
        print_json(page)
        return
    rows = [
        {**job, "created": moment(job["createdAt"]), "error": job["error"] or job["reason"]} for job in page["items"]
    ]
    print_table(rows, _COLUMNS, nothing="No jobs match.")
    tell_more(page)


@jobs.command()
@click.argument("job_id")
@json_option
@place_options
def show(*, job_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show one job with its payload."""
    job = connect(config, data).get("api", "jobs", job_id)
    if as_json:
        print_json(job)
    else:
        print_fields({**job, **{name: moment(job[name]) for name in _TIMES}})


@jobs.command()
@click.argument("job_id")
@json_option
@place_options
def retry(*, job_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Retry a failed job."""
    _print_changed(connect(config, data).post("api", "jobs", job_id, "retry"), as_json=as_json)


@jobs.command()
@click.argument("job_id")
@json_option
@place_options
def cancel(*, job_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Cancel a job that waits or runs."""
    _print_changed(connect(config, data).post("api", "jobs", job_id, "cancel"), as_json=as_json)


@jobs.command()
@click.argument("job_id")
@json_option
@place_options
def delete(*, job_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Delete a job that neither waits nor runs."""
    answer = connect(config, data).delete("api", "jobs", job_id)
    if as_json:
        print_json(answer)
    else:
        print(f"The job {job_id} is deleted.")


def _print_changed(job: Any, *, as_json: bool) -> None:
    if as_json:
        print_json(job)
    else:
        print(f"The job {job['id']} is now {job['status']}.")
