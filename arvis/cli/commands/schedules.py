"""`arvis schedules`: commands for crons, heartbeats and their runs."""

from __future__ import annotations

import json
from typing import Any, TextIO

import click

from arvis.calendar import Every, parse
from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import (
    CLEARED,
    all_options,
    changes,
    choice,
    effort_option,
    given,
    on_option,
    page_options,
    to_option,
    with_graph,
    workflow_option,
)
from arvis.cli.output import Output, Row, Table, at, channel, fields, moment
from arvis.domain.errors import Unprocessable
from arvis.domain.regex import regex
from arvis.domain.schedules import MadeBy, Missed, ScheduleKind

_SCHEDULES = Table(
    "id",
    "kind",
    "agent",
    "name",
    "schedule",
    ("to", channel),
    ("next", lambda schedule: moment(schedule["nextRun"]) if schedule["enabled"] else "paused"),
    nothing="No schedules.",
)
_RUNS = Table(("due", at("dueAt")), "cause", "status", "report", nothing="This schedule has not run yet.")
_ID = regex(r"[0-9A-HJKMNP-TV-Z]{26}")
_MOST_NAMED = 200


def _milliseconds(text: str) -> object:
    if text.strip().lower() == "none":
        return CLEARED
    try:
        time = parse(f"every {text}")
    except Unprocessable:
        time = None
    if not isinstance(time, Every):
        raise click.BadParameter("must be a duration such as 6h, or none")
    return time.seconds * 1000


#: The options for creating and changing a schedule.
_details = all_options(
    click.option("--name", help="Its name (default: Arvis chooses an unused name)."),
    click.option("--prompt", help="The task of the agent."),
    click.option("--timezone", metavar="ZONE", help="Its time zone, such as Europe/Berlin (default: the agent's)."),
    click.option("--connector", help="The name of the bot that posts, if the platform has several."),
    click.option("--missed", "misfirePolicy", type=choice(Missed), help="What happens to times that were missed."),
    click.option("--thread", help="The thread of the channel; empty: the channel itself."),
    click.option(
        "--grace",
        "misfireGraceMs",
        type=_milliseconds,
        metavar="TIME",
        help="Missed times older than this, such as 6h, are skipped; `none`: no limit.",
    ),
    click.option(
        "--graph", help="The graph that runs the schedule (default: agent for crons, heartbeat for heartbeats)."
    ),
    click.option(
        "--model",
        metavar="PROVIDER/MODEL",
        callback=lambda _context, _option, model: CLEARED if model == "" else model,
        help='The model of the work; "" means the model of the agent.',
    ),
    effort_option("the effort of the agent"),
    workflow_option("The slug or id of a workflow that runs instead of a graph; empty: the default graph of its kind."),
    click.option(
        "--max-cycles",
        "maxIterations",
        type=click.IntRange(1, 10),
        help="The maximum number of cycles of a heartbeat (default: 1).",
    ),
    click.option(
        "--script",
        metavar="FILE",
        type=click.File(encoding="utf-8"),
        help="A file with the script of a heartbeat, as JSON.",
    ),
)


@click.group(cls=ApiCommands)
def schedules() -> None:
    """List, show, create, update and delete crons and heartbeats.

    Name a schedule by its id, or by its name if the name is unique.
    """


@schedules.command("list")
@click.option("--kind", type=choice(ScheduleKind), help="Only schedules of this kind.")
@click.option("--agent", help="Only schedules of this agent.")
@click.option(
    "--made-by",
    "createdBy",
    type=choice(MadeBy),
    help="Only schedules that this source created: api, tag or tool.",
)
@on_option("Only active or only paused schedules.")
@page_options
def list_schedules(*, api: Api, **query: Any) -> Output:
    """List crons and heartbeats, the newest first."""
    return _SCHEDULES.page(api.get("schedules", query=query))


@schedules.command()
@click.argument("schedule")
def show(*, api: Api, schedule: str) -> Output:
    """Show a schedule with its next five times."""
    found = api.get("schedules", _id(api, schedule))
    shown = fields(found, "lastRun", "nextRun", "pausedUntil", "createdAt", "updatedAt", nextRuns=None)
    head = "Next:" if found["nextRuns"] else "This schedule has no further times."
    return Output(found, shown, _with_times(head, found))


@schedules.command()
@click.argument("agent")
@click.argument("schedule")
@click.option("--heartbeat", is_flag=True, help="Create a heartbeat (default: a cron).")
@to_option(required=True)
@_details
def create(*, api: Api, heartbeat: bool, **details: Any) -> Output:
    """Create a cron or heartbeat.

    SCHEDULE is a text such as `every 5 m`, `0 8 * * 1-5`, `@daily` or `at 2027-01-15 08:00`.

    A schedule with an interval runs immediately and then after each interval. All other schedules run at their times.
    """
    kind = ScheduleKind.HEARTBEAT if heartbeat else ScheduleKind.CRON
    return _changed(api.post("schedules", body={"kind": kind, **given(_fields(**details))}), "is created")


@schedules.command()
@click.argument("named", metavar="SCHEDULE")
@click.option("--schedule", metavar="TIMES", help="The new times, such as `every 2 h`.")
@to_option()
@on_option("Resume or pause it.")
@_details
def update(*, api: Api, named: str, **details: Any) -> Output:
    """Change the given options. From then on the schedule acts with the rights of the person who changed it."""
    body = changes(_fields(**details), "--prompt")
    return _changed(api.patch("schedules", _id(api, named), body=body), "is changed")


@schedules.command()
@click.argument("schedule")
def pause(*, api: Api, schedule: str) -> Output:
    """Pause a schedule until `resume`."""
    return _changed(api.patch("schedules", _id(api, schedule), body={"enabled": False}), "is paused")


@schedules.command()
@click.argument("schedule")
def resume(*, api: Api, schedule: str) -> Output:
    """Resume a paused schedule. It still acts with the rights of the same person."""
    return _changed(api.patch("schedules", _id(api, schedule), body={"enabled": True}), "is resumed")


@schedules.command()
@click.argument("schedule")
def run(*, api: Api, schedule: str) -> Output:
    """Run a schedule now, even if it is paused. Its times do not change."""
    begun = api.post("schedules", _id(api, schedule), "run")
    if begun["status"] == "running":
        return Output(begun, f"The schedule is running. `arvis schedules runs {schedule}` shows the result.")
    return Output(begun, f"The run was {begun['status']}: {begun['report']}")


@schedules.command()
@click.argument("schedule")
@page_options
def runs(*, api: Api, schedule: str, **query: Any) -> Output:
    """Show the runs of a schedule, the newest first. The schedule may be deleted."""
    return _RUNS.page(api.get("schedules", _id(api, schedule), "runs", query=query))


@schedules.command()
@click.argument("schedule")
def delete(*, api: Api, schedule: str) -> Output:
    """Delete a schedule; `undo` restores it."""
    schedule_id = _id(api, schedule)
    done = f"The schedule {schedule_id} is deleted. `arvis schedules undo {schedule_id}` restores it."
    return Output(api.delete("schedules", schedule_id), done)


@schedules.command()
@click.argument("schedule")
def undo(*, api: Api, schedule: str) -> Output:
    """Undo the newest change of a schedule. The change may be new options, the deletion or the creation. A second undo
    makes the change again."""
    answer = api.post("schedules", _id(api, schedule), "undo")
    if answer["schedule"] is None:
        return Output(answer, f"The schedule {schedule} was removed, because the last change had created it.")
    return _changed(answer["schedule"], "was restored to its previous version", answer)


def _id(api: Api, schedule: str) -> str:
    """Return the id of the schedule with this name, if exactly one of the newest schedules has the name. If no schedule
    has the name, return the text unchanged."""
    if _ID.fullmatch(schedule):
        return schedule
    page = api.get("schedules", query={"limit": _MOST_NAMED})
    named = [each["id"] for each in page["items"] if each["name"] == schedule]
    if len(named) > 1:
        raise click.UsageError(f"{len(named)} schedules have this name: {', '.join(named)}. Use the id of one of them.")
    return str(named[0]) if named else schedule


def _fields(*, place: dict[str, str] | None, script: TextIO | None, **details: Any) -> dict[str, Any]:
    try:
        read = None if script is None else json.load(script)
    except (ValueError, RecursionError):
        raise click.BadParameter("the file does not contain valid JSON", param_hint="--script") from None
    return {**with_graph(details), **(place or {}), "script": read}


def _changed(schedule: Row, words: str, answer: Any = None) -> Output:
    head = f"The {schedule['kind']} {schedule['name']} {words}: {schedule['id']}"
    return Output(answer or schedule, _with_times(head, schedule))


def _with_times(head: str, schedule: Row) -> str:
    return "\n".join([head, *(f"  {moment(time)}" for time in schedule["nextRuns"])])
