"""`arvis workflows`: commands for workflows, which are graphs that people draw, and for their runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TextIO

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import PlacedCommand, choice, given, on_option, page_options
from arvis.cli.output import Output, Row, Table, at, fields, moment, print_json
from arvis.config.yaml_text import write_text
from arvis.domain.workflows import RunStatus


def _last_run(workflow: Row) -> str | None:
    last = workflow["lastRun"]
    return f"{last['status']} {moment(last['at'])}" if last else None


def _triggers(workflow: Row) -> str:
    return ", ".join(workflow["triggers"])


_WORKFLOWS = Table(
    "slug",
    "name",
    "version",
    ("runnable", lambda workflow: workflow["runnable"] if workflow["enabled"] else "off"),
    ("triggers", _triggers),
    ("last", _last_run),
    nothing="No workflows.",
)
_RUNS = Table(
    "id",
    ("workflow", lambda run: run["workflow"]["slug"]),
    "status",
    ("began", at("startedAt")),
    "source",
    ("waits", lambda run: "for a person" if run["waitingForInput"] else None),
    nothing="No runs.",
)
_LOG = Table(("at", at("timestamp")), ("node", "nodeId"), "type", "content", nothing="The log of the run is empty.")
_PROBLEMS = Table("node", "severity", "message", "fix")


@click.group(cls=ApiCommands)
def workflows() -> None:
    """List, show, run, import and export workflows; list, cancel and rerun their runs.

    Name a workflow by its slug or id.
    """


@workflows.command("list")
@click.option("--text", "q", help="Only workflows with this text in name or description.")
@on_option("Only enabled or only disabled workflows.")
@page_options
def list_workflows(*, api: Api, **query: Any) -> Output:
    """List workflows, the newest first."""
    return _WORKFLOWS.page(api.get("workflows", query=query))


@workflows.command()
@click.argument("workflow")
def show(*, api: Api, workflow: str) -> Output:
    """Show a workflow and the problems of its newest version."""
    found = api.get("workflows", workflow)
    shown = ("id", "slug", "name", "description", "enabled", "version", "runnable", "createdAt", "updatedAt")
    nodes = len(found["document"].get("nodes", []))
    described = fields(_part(found, *shown), "createdAt", "updatedAt", triggers=_triggers(found), nodes=nodes)
    return Output(found, described, _PROBLEMS.text(found["problems"]))


@workflows.command()
@click.argument("workflow")
@click.argument("input", required=False)
@click.option("--version", type=click.IntRange(1), help="The version to run (default: the newest one that can run).")
@click.option("--entry", help="The start or trigger node at which the run starts.")
def run(*, api: Api, workflow: str, **body: Any) -> Output:
    """Start a run of a workflow, with a text as its input."""
    begun = api.post("workflows", workflow, "runs", body=given(body))
    next_step = f"`arvis workflows runs --id {begun['id']}` shows its progress."
    return Output(begun, f"The run has started: {begun['id']}\n{next_step}")


@workflows.command()
@click.option("--workflow", help="Only runs of this workflow.")
@click.option("--status", type=choice(RunStatus), help="Only runs with this status.")
@click.option("--id", "run_id", help="Show this run with its log.")
@page_options
def runs(*, api: Api, run_id: str | None, **query: Any) -> Output:
    """List runs, the newest first, or show one run."""
    if run_id is None:
        return _RUNS.page(api.get("runs", query=query))
    found = api.get("runs", run_id)
    log = api.get("runs", run_id, "log", query={"limit": query["limit"]})
    shown = _part(found, "id", "status", "version", "source", "entry", "error", "startedAt", "endedAt")
    return Output(
        {**found, "log": log["items"]},
        fields(shown, "startedAt", "endedAt", workflow=found["workflow"]["slug"]),
        _LOG.text(log["items"]),
        *(
            f"Open question: {wait['prompt']}\nAnswer it with `arvis questions answer {wait['id']}`."
            for wait in found["questions"]
        ),
        notes=["The log has more lines. Use --limit to see more of them."] if log["hasMore"] else [],
    )


@workflows.command()
@click.argument("run")
@click.option("--reject", is_flag=True, help="Reject instead of approve.")
@click.option("--note", help="A note with the decision.")
def approve(*, api: Api, run: str, reject: bool, note: str | None) -> Output:
    """Answer the approval that a run waits for."""
    body = given({"decision": "reject" if reject else "approve", "note": note})
    return _changed(api.post("runs", run, "resume", body=body))


@workflows.command()
@click.argument("run")
def cancel(*, api: Api, run: str) -> Output:
    """Cancel a run and all executions that it called."""
    return _changed(api.post("runs", run, "cancel"))


@workflows.command()
@click.argument("run")
@click.option("--node", help="The node at which the new run starts (default: the first node of the old run).")
@click.option("--newest", is_flag=True, help="Use the newest version that can run.")
def rerun(*, api: Api, run: str, node: str | None, newest: bool) -> Output:
    """Start a run again, from its beginning or from a node."""
    body = given({"version": "newest" if newest else "same", "node": node})
    return _changed(api.post("runs", run, "rerun", body=body))


@workflows.command(cls=PlacedCommand)
@click.argument("workflow")
@click.option("--version", type=click.IntRange(1), help="The version to export (default: the newest).")
@click.option("--yaml", "as_yaml", is_flag=True, help="Write YAML instead of JSON.")
def export(*, workflow: str, version: int | None, as_yaml: bool, config: Path | None, data: Path | None) -> None:
    """Write the document of a workflow to standard output."""
    query = {"form": "json", "version": version}
    document = Api(config, data).get("workflows", workflow, "export", query=query)
    if as_yaml:
        print(write_text(document), end="")
    else:
        print_json(document)


@workflows.command("import")
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--name", help="The name of the workflow (default: the name in the document).")
@click.option("--draft", is_flag=True, help="Store the workflow even if it has errors.")
def import_workflow(*, api: Api, file: TextIO, name: str | None, draft: bool) -> Output:
    """Create a workflow from a JSON or YAML document. FILE `-` is standard input."""
    try:
        text = file.read()
    except UnicodeDecodeError as odd:
        raise click.BadParameter(
            f"is not UTF-8 text ({odd.reason}). Save the file as UTF-8", param_hint="FILE"
        ) from None
    made = api.post("workflows", "import", body=given({"text": text, "draft": draft, "name": name}))
    return Output(made, f"The workflow {made['slug']} was imported: {made['id']}", _PROBLEMS.text(made["problems"]))


def _part(data: Row, *names: str) -> Row:
    return {name: data[name] for name in names}


def _changed(run: Row) -> Output:
    return Output(run, f"The run {run['id']} of {run['workflow']['slug']} is {run['status']}.")
