"""`arvis schedules`: crons, heartbeats and their runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from arvis.calendar import Every, parse
from arvis.cli.api_client import Api, connect
from arvis.cli.options import (
    Commands,
    all_options,
    as_graph,
    channel_of,
    json_option,
    page_options,
    place_options,
    workflow_option,
)
from arvis.cli.output import moment, print_fields, print_json, print_table, tell_more
from arvis.domain.errors import Unprocessable
from arvis.domain.schedules import MadeBy, Missed, ScheduleKind

_COLUMNS = ("id", "kind", "agent", "name", "schedule", "to", "next")
_RUN_COLUMNS = ("due", "cause", "status", "report")
_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
_MOST_NAMED = 200
_TIMES = ("lastRun", "nextRun", "pausedUntil", "createdAt", "updatedAt")

#: The options for creating and changing a schedule.
_details = all_options(
    click.option("--name", help="Its name (default: Arvis chooses an unused name)."),
    click.option("--prompt", help="The task of the agent."),
    click.option("--timezone", metavar="ZONE", help="Its time zone, such as Europe/Berlin (default: the agent's)."),
    click.option("--connector", help="The name of the bot that posts, if the platform has several."),
    click.option("--missed", type=click.Choice([*map(str, Missed)]), help="What happens to times that were missed."),
    click.option("--thread", help="The thread of the channel; empty: the channel itself."),
    click.option(
        "--grace", metavar="TIME", help="Missed times older than this, such as 6h, are skipped; `none`: no limit."
    ),
    click.option("--graph", help="The graph that runs it (default: agent for crons, heartbeat for heartbeats)."),
    workflow_option("The slug or id of a workflow that runs instead of a graph; empty: the default graph of its kind."),
    click.option(
        "--max-cycles", type=click.IntRange(1, 10), help="The maximum number of cycles of a heartbeat (default: 1)."
    ),
    click.option(
        "--script",
        metavar="FILE",
        type=click.File(encoding="utf-8"),
        help="A file with the script of a heartbeat, as JSON.",
    ),
)


@click.group(cls=Commands)
def schedules() -> None:
    """List, show, create, update and delete crons and heartbeats.

    Name a schedule by its id, or by its name if the name is unique.
    """


@schedules.command("list")
@click.option("--kind", type=click.Choice([*map(str, ScheduleKind)]), help="Only schedules of this kind.")
@click.option("--agent", help="Only schedules of this agent.")
@click.option(
    "--made-by",
    type=click.Choice([*map(str, MadeBy)]),
    help="Only schedules that this source created: api, tag or tool.",
)
@click.option("--on/--off", "enabled", default=None, help="Only enabled or only disabled schedules.")
@page_options
@json_option
@place_options
def list_schedules(
    *,
    kind: str | None,
    agent: str | None,
    made_by: str | None,
    enabled: bool | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """List crons and heartbeats, the newest first."""
    on = None if enabled is None else str(enabled).lower()
    query = {"kind": kind, "agent": agent, "createdBy": made_by, "enabled": on, "limit": limit, "cursor": cursor}
    page = connect(config, data).get("api", "schedules", query=query)
    if as_json:
        print_json(page)
        return
    print_table([_row(schedule) for schedule in page["items"]], _COLUMNS, nothing="No schedules.")
    tell_more(page)


@schedules.command()
@click.argument("schedule")
@json_option
@place_options
def show(*, schedule: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show a schedule with its next five times."""
    api = connect(config, data)
    found = api.get("api", "schedules", _id(api, schedule))
    if as_json:
        print_json(found)
    else:
        _print(found)


@schedules.command()
@click.argument("agent")
@click.argument("schedule")
@click.option("--heartbeat", is_flag=True, help="Create a heartbeat (default: a cron).")
@click.option("--to", "place", required=True, metavar="PLATFORM:CHANNEL", help="The channel for the answers.")
@_details
@json_option
@place_options
def create(
    *,
    agent: str,
    schedule: str,
    heartbeat: bool,
    place: str,
    as_json: bool,
    config: Path | None,
    data: Path | None,
    **details: Any,
) -> None:
    """Create a cron or heartbeat: `every 5 m`, `0 8 * * 1-5`, `@daily`, `at 2027-01-15 08:00`.

    A schedule with an interval runs immediately and then after each interval. All other schedules run at their times.
    """
    kind = ScheduleKind.HEARTBEAT if heartbeat else ScheduleKind.CRON
    body = {"kind": kind, "agent": agent, "schedule": schedule, **channel_of(place), **_given(details)}
    _tell(connect(config, data).post("api", "schedules", body=body), "is created", as_json=as_json)


@schedules.command()
@click.argument("schedule")
@click.option("--schedule", "when", help="The new times, such as `every 2 h`.")
@click.option("--to", "place", metavar="PLATFORM:CHANNEL", help="The channel for the answers.")
@click.option("--on/--off", "enabled", default=None, help="Enable or disable it.")
@_details
@json_option
@place_options
def update(
    *,
    schedule: str,
    when: str | None,
    place: str | None,
    enabled: bool | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
    **details: Any,
) -> None:
    """Change the given options. From then on the schedule acts with the rights of the person who changed it."""
    where = channel_of(place) if place is not None else {}
    body = {**_given({"schedule": when, "enabled": enabled, **details}), **where}
    if not body:
        raise click.UsageError("Nothing to change. Give at least one option, such as --prompt.")
    api = connect(config, data)
    _tell(api.patch("api", "schedules", _id(api, schedule), body=body), "is changed", as_json=as_json)


@schedules.command()
@click.argument("schedule")
@json_option
@place_options
def pause(*, schedule: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Disable a schedule; `resume` enables it again."""
    _switch(connect(config, data), schedule, enabled=False, as_json=as_json)


@schedules.command()
@click.argument("schedule")
@json_option
@place_options
def resume(*, schedule: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Enable a schedule again. It keeps the rights of the person it acted for."""
    _switch(connect(config, data), schedule, enabled=True, as_json=as_json)


@schedules.command()
@click.argument("schedule")
@json_option
@place_options
def run(*, schedule: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Run a schedule now, even if it is disabled. Its times do not change."""
    api = connect(config, data)
    begun = api.post("api", "schedules", _id(api, schedule), "run")
    if as_json:
        print_json(begun)
    elif begun["status"] == "running":
        print(f"The schedule is running. `arvis schedules runs {schedule}` shows the result.")
    else:
        print(f"The run was {begun['status']}: {begun['report']}")


@schedules.command()
@click.argument("schedule")
@page_options
@json_option
@place_options
def runs(
    *, schedule: str, limit: int, cursor: str | None, as_json: bool, config: Path | None, data: Path | None
) -> None:
    """Show the runs of a schedule, the newest first, even if the schedule is deleted."""
    query = {"limit": limit, "cursor": cursor}
    api = connect(config, data)
    page = api.get("api", "schedules", _id(api, schedule), "runs", query=query)
    if as_json:
        print_json(page)
        return
    print_table(
        [{**run, "due": moment(run["dueAt"])} for run in page["items"]],
        _RUN_COLUMNS,
        nothing="This schedule has not run yet.",
    )
    tell_more(page)


@schedules.command()
@click.argument("schedule")
@json_option
@place_options
def delete(*, schedule: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Delete a schedule; `undo` restores it."""
    api = connect(config, data)
    schedule_id = _id(api, schedule)
    answer = api.delete("api", "schedules", schedule_id)
    if as_json:
        print_json(answer)
    else:
        print(f"The schedule {schedule_id} is deleted. `arvis schedules undo {schedule_id}` restores it.")


@schedules.command()
@click.argument("schedule")
@json_option
@place_options
def undo(*, schedule: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Undo the newest change of a schedule: a change, its deletion or its creation. A second undo repeats
    the change."""
    api = connect(config, data)
    answer = api.post("api", "schedules", _id(api, schedule), "undo")
    if as_json:
        print_json(answer)
    elif answer["schedule"] is None:
        print(f"The schedule {schedule} was removed, because the last change had created it.")
    else:
        _tell(answer["schedule"], "was restored to its previous version", as_json=False)


def _id(api: Api, schedule: str) -> str:
    """Return the id of the schedule with this name, if exactly one of the newest schedules has it. If none has it,
    return the text unchanged."""
    if _ID.fullmatch(schedule):
        return schedule
    page = api.get("api", "schedules", query={"limit": _MOST_NAMED})
    named = [each["id"] for each in page["items"] if each["name"] == schedule]
    if len(named) > 1:
        raise click.UsageError(f"{len(named)} schedules have this name: {', '.join(named)}. Name the id of one.")
    return str(named[0]) if named else schedule


def _given(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options under the names of the API."""
    given = as_graph({name: value for name, value in details.items() if value is not None})
    if "max_cycles" in given:
        given["maxIterations"] = given.pop("max_cycles")
    if "grace" in given:
        given["misfireGraceMs"] = _milliseconds(given.pop("grace"))
    if "missed" in given:
        given["misfirePolicy"] = given.pop("missed")
    if "script" in given:
        try:
            given["script"] = json.loads(given["script"].read())
        except (ValueError, RecursionError):
            raise click.BadParameter("the file does not contain valid JSON", param_hint="--script") from None
    return given


def _milliseconds(text: str) -> int | None:
    if text.strip().lower() == "none":
        return None
    try:
        time = parse(f"every {text}")
    except Unprocessable:
        time = None
    if not isinstance(time, Every):
        raise click.BadParameter("must be a time such as 6h, or none", param_hint="--grace")
    return time.seconds * 1000


def _switch(api: Api, schedule: str, *, enabled: bool, as_json: bool) -> None:
    changed = api.patch("api", "schedules", _id(api, schedule), body={"enabled": enabled})
    _tell(changed, "is enabled" if enabled else "is disabled", as_json=as_json)


def _tell(schedule: Any, what: str, *, as_json: bool) -> None:
    if as_json:
        print_json(schedule)
        return
    print(f"The {schedule['kind']} {schedule['name']} {what}: {schedule['id']}")
    for at in schedule["nextRuns"]:
        print(f"  {moment(at)}")


def _print(schedule: Any) -> None:
    shown = {name: value for name, value in schedule.items() if name != "nextRuns"}
    print_fields({**shown, **{name: moment(schedule[name]) for name in _TIMES}})
    print("\nNext:" if schedule["nextRuns"] else "\nThis schedule has no further times.")
    for at in schedule["nextRuns"]:
        print(f"  {moment(at)}")


def _row(schedule: Any) -> dict[str, object]:
    return {
        **schedule,
        "to": f"{schedule['platform']}:{schedule['channelId']}",
        "next": moment(schedule["nextRun"]) if schedule["enabled"] else "off",
    }
