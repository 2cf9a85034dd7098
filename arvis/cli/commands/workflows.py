"""`arvis workflows`: graphs that people draw, and their runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TextIO

import click

from arvis.cli.api_client import connect
from arvis.cli.options import Commands, json_option, page_options, place_options
from arvis.cli.output import moment, print_fields, print_json, print_table, tell, tell_more
from arvis.config.yaml_text import write_text
from arvis.domain.workflows import RunStatus

_COLUMNS = ("slug", "name", "version", "runnable", "triggers", "last")
_RUN_COLUMNS = ("id", "workflow", "status", "began", "source", "waits")
_LOG_COLUMNS = ("at", "node", "type", "content")
_PROBLEM_COLUMNS = ("node", "severity", "message", "fix")


@click.group(cls=Commands)
def workflows() -> None:
    """List, show, run, import and export workflows; list, cancel and rerun their runs.

    Name a workflow by its slug or id.
    """


@workflows.command("list")
@click.option("--text", help="Only workflows with this text in name or description.")
@click.option("--on/--off", "enabled", default=None, help="Only enabled or only disabled workflows.")
@page_options
@json_option
@place_options
def list_workflows(
    *,
    text: str | None,
    enabled: bool | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """List workflows, the newest first."""
    on = None if enabled is None else str(enabled).lower()
    query = {"q": text, "enabled": on, "limit": limit, "cursor": cursor}
    page = connect(config, data).get("api", "workflows", query=query)
    if as_json:
        print_json(page)
        return
    print_table([_row(each) for each in page["items"]], _COLUMNS, nothing="No workflows.")
    tell_more(page)


@workflows.command()
@click.argument("workflow")
@json_option
@place_options
def show(*, workflow: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show a workflow and the problems of its newest version."""
    found = connect(config, data).get("api", "workflows", workflow)
    if as_json:
        print_json(found)
        return
    told = {name: found[name] for name in ("id", "slug", "name", "description", "enabled", "version", "runnable")}
    nodes = found["document"].get("nodes", [])
    times = {name: moment(found[name]) for name in ("createdAt", "updatedAt")}
    print_fields({**told, "triggers": ", ".join(found["triggers"]), "nodes": len(nodes), **times})
    if found["problems"]:
        print()
        print_table(found["problems"], _PROBLEM_COLUMNS, nothing="")


@workflows.command()
@click.argument("workflow")
@click.argument("input", required=False)
@click.option("--version", type=click.IntRange(1), help="The version to run (default: the newest one that can run).")
@click.option("--entry", help="The start or trigger node at which the run starts.")
@json_option
@place_options
def run(
    *,
    workflow: str,
    input: str | None,  # noqa: A002 the word that its users read
    version: int | None,
    entry: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Start a run of a workflow, with a text as its input."""
    given = {"input": input, "version": version, "entry": entry}
    body = {name: value for name, value in given.items() if value is not None}
    begun = connect(config, data).post("api", "workflows", workflow, "runs", body=body)
    if as_json:
        print_json(begun)
    else:
        print(f"The run has started: {begun['id']}\n`arvis workflows runs --id {begun['id']}` shows its progress.")


@workflows.command()
@click.option("--workflow", help="Only runs of this workflow.")
@click.option("--status", type=click.Choice([*map(str, RunStatus)]), help="Only runs with this status.")
@click.option("--id", "run_id", help="Show this run with its log.")
@page_options
@json_option
@place_options
def runs(
    *,
    workflow: str | None,
    status: str | None,
    run_id: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """List runs, the newest first, or show one run."""
    api = connect(config, data)
    if run_id is not None:
        found = api.get("api", "runs", run_id)
        log = api.get("api", "runs", run_id, "log", query={"limit": limit})
        _tell_run(found, log, as_json=as_json)
        return
    query = {"workflow": workflow, "status": status, "limit": limit, "cursor": cursor}
    page = api.get("api", "runs", query=query)
    if as_json:
        print_json(page)
        return
    print_table([_run_row(each) for each in page["items"]], _RUN_COLUMNS, nothing="No runs.")
    tell_more(page)


@workflows.command()
@click.argument("run")
@click.option("--reject", is_flag=True, help="Reject instead of approve.")
@click.option("--note", help="A note with the decision.")
@json_option
@place_options
def approve(*, run: str, reject: bool, note: str | None, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Answer the approval that a run waits for."""
    body: dict[str, Any] = {"decision": "reject" if reject else "approve"}
    if note is not None:
        body["note"] = note
    _tell(connect(config, data).post("api", "runs", run, "resume", body=body), as_json=as_json)


@workflows.command()
@click.argument("run")
@json_option
@place_options
def cancel(*, run: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Cancel a run and all executions that it called."""
    _tell(connect(config, data).post("api", "runs", run, "cancel"), as_json=as_json)


@workflows.command()
@click.argument("run")
@click.option("--node", help="The node at which the new run starts (default: the first node of the old run).")
@click.option("--newest", is_flag=True, help="Use the newest version that can run.")
@json_option
@place_options
def rerun(*, run: str, node: str | None, newest: bool, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Run a run again, from its beginning or from a node."""
    body = {"version": "newest" if newest else "same", **({"node": node} if node is not None else {})}
    _tell(connect(config, data).post("api", "runs", run, "rerun", body=body), as_json=as_json)


@workflows.command()
@click.argument("workflow")
@click.option("--version", type=click.IntRange(1), help="The version to export (default: the newest).")
@click.option("--yaml", "as_yaml", is_flag=True, help="Write YAML instead of JSON.")
@place_options
def export(*, workflow: str, version: int | None, as_yaml: bool, config: Path | None, data: Path | None) -> None:
    """Write the document of a workflow to standard output."""
    query = {"form": "json", "version": version}
    document = connect(config, data).get("api", "workflows", workflow, "export", query=query)
    if as_yaml:
        print(write_text(document), end="")
    else:
        print(json.dumps(document, ensure_ascii=False, indent=2))


@workflows.command("import")
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--name", help="The name of the workflow (default: the name in the document).")
@click.option("--draft", is_flag=True, help="Store the workflow even if it has errors.")
@json_option
@place_options
def import_workflow(
    *, file: TextIO, name: str | None, draft: bool, as_json: bool, config: Path | None, data: Path | None
) -> None:
    """Create a workflow from a JSON or YAML document (`-`: standard input)."""
    try:
        text = file.read()
    except UnicodeDecodeError as odd:
        raise click.BadParameter(
            f"is not UTF-8 text ({odd.reason}). Save the file as UTF-8", param_hint="FILE"
        ) from None
    body: dict[str, Any] = {"text": text, "draft": draft}
    if name is not None:
        body["name"] = name
    made = connect(config, data).post("api", "workflows", "import", body=body)
    if as_json:
        print_json(made)
        return
    print(f"The workflow {made['slug']} was imported: {made['id']}")
    if made["problems"]:
        print_table(made["problems"], _PROBLEM_COLUMNS, nothing="")


def _row(workflow: Any) -> dict[str, object]:
    last = workflow["lastRun"]
    return {
        **workflow,
        "runnable": workflow["runnable"] if workflow["enabled"] else "off",
        "triggers": ", ".join(workflow["triggers"]),
        "last": f"{last['status']} {moment(last['at'])}" if last else None,
    }


def _run_row(run: Any) -> dict[str, object]:
    return {
        **run,
        "workflow": run["workflow"]["slug"],
        "began": moment(run["startedAt"]),
        "waits": "for a person" if run["waitingForInput"] else None,
    }


def _tell(run: Any, *, as_json: bool) -> None:
    if as_json:
        print_json(run)
    else:
        print(f"The run {run['id']} of {run['workflow']['slug']} is {run['status']}.")


def _tell_run(run: Any, log: Any, *, as_json: bool) -> None:
    if as_json:
        print_json({**run, "log": log["items"]})
        return
    shown = {name: run[name] for name in ("id", "status", "version", "source", "entry", "error")}
    times = {name: moment(run[name]) for name in ("startedAt", "endedAt")}
    print_fields({**shown, "workflow": run["workflow"]["slug"], **times})
    print()
    rows = [{**each, "at": moment(each["timestamp"]), "node": each["nodeId"]} for each in log["items"]]
    print_table(rows, _LOG_COLUMNS, nothing="The log of the run is empty.")
    for wait in run["questions"]:
        print(f"\nOpen question: {wait['prompt']}\nAnswer it with `arvis questions answer {wait['id']}`.")
    if log["hasMore"]:
        tell("The log has more lines. Use --limit to see more of them.")
