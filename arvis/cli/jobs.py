"""`arvis jobs`: look at the queue, and retry, cancel or delete what is in it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from arvis.cli.api import connect
from arvis.cli.options import AsJson, ConfigFile, Cursor, DataFolder, Limit, new_app
from arvis.cli.printing import moment, print_fields, print_json, print_table, tell
from arvis.domain.jobs import JobKind, JobStatus

app = new_app(help="Look at the queue, and retry, cancel or delete what is in it.")

JobId = Annotated[str, typer.Argument(metavar="JOB_ID")]
Kind = Annotated[JobKind | None, typer.Option("--kind", help="Only jobs of this kind.")]
Status = Annotated[JobStatus | None, typer.Option("--status", help="Only jobs in this state.")]
AgentSlug = Annotated[str | None, typer.Option("--agent", metavar="SLUG", help="Only jobs of this agent.")]

_COLUMNS = ("id", "kind", "status", "agent", "attempts", "crashes", "created", "error")
_TIMES = ("runAt", "createdAt", "startedAt", "finishedAt")


@app.command("list")
def list_jobs(
    *,
    kind: Kind = None,
    status: Status = None,
    agent: AgentSlug = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
    data: DataFolder = None,
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
    print_table(rows, _COLUMNS, nothing="No such jobs.")
    if page["nextCursor"]:
        tell(f"There are more: --cursor {page['nextCursor']}")


@app.command()
def show(*, job_id: JobId, as_json: AsJson = False, config: ConfigFile = None, data: DataFolder = None) -> None:
    """Show one job with its payload."""
    job = connect(config, data).get("api", "jobs", job_id)
    if as_json:
        print_json(job)
    else:
        print_fields({**job, **{name: moment(job[name]) for name in _TIMES}})


@app.command()
def retry(*, job_id: JobId, as_json: AsJson = False, config: ConfigFile = None, data: DataFolder = None) -> None:
    """Run a failed job again."""
    _print_changed(connect(config, data).post("api", "jobs", job_id, "retry"), as_json=as_json)


@app.command()
def cancel(*, job_id: JobId, as_json: AsJson = False, config: ConfigFile = None, data: DataFolder = None) -> None:
    """End a job that waits or runs."""
    _print_changed(connect(config, data).post("api", "jobs", job_id, "cancel"), as_json=as_json)


@app.command()
def delete(*, job_id: JobId, as_json: AsJson = False, config: ConfigFile = None, data: DataFolder = None) -> None:
    """Remove a job that neither waits nor runs."""
    answer = connect(config, data).delete("api", "jobs", job_id)
    if as_json:
        print_json(answer)
    else:
        print(f"The job {job_id} is removed.")


def _print_changed(job: Any, *, as_json: bool) -> None:
    if as_json:
        print_json(job)
    else:
        print(f"The job {job['id']} is {job['status']} now.")
