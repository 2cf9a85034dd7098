"""`arvis schedules`: crons and heartbeats as rows. They run once the scheduler is there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from arvis.cli.api import connect
from arvis.cli.options import Commands, json_option, page_options, place_options
from arvis.cli.printing import moment, print_fields, print_json, print_table, tell
from arvis.domain.schedules import Missed, ScheduleKind

_Function = TypeVar("_Function", bound=Callable[..., Any])

_COLUMNS = ("id", "kind", "agent", "name", "schedule", "to", "next")
_TIMES = ("lastRun", "nextRun", "createdAt", "updatedAt")

_OPTIONS = (
    click.option("--name", help="Its name (default: a free one)."),
    click.option("--prompt", help="What the agent shall do."),
    click.option("--timezone", metavar="ZONE", help="Such as Europe/Berlin (default: the agent's, else the daemon's)."),
    click.option("--connector", help="The bot, where a platform has several."),
    click.option("--missed", type=click.Choice([*map(str, Missed)]), help="Times that passed meanwhile."),
    click.option("--script", metavar="FILE", type=click.File(encoding="utf-8"), help="JSON of a script heartbeat."),
)


def _details(command: _Function) -> _Function:
    """What may be said of a schedule when it is made and when it is changed."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group(cls=Commands)
def schedules() -> None:
    """List, show, create, update and delete crons and heartbeats, and undo what was changed.

    They are kept, checked and shown; they run once the scheduler is there."""


@schedules.command("list")
@click.option("--kind", type=click.Choice([*map(str, ScheduleKind)]), help="Only these.")
@click.option("--agent", help="Only those of this agent.")
@page_options
@json_option
@place_options
def list_schedules(
    *,
    kind: str | None,
    agent: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """List crons and heartbeats, the newest first."""
    query = {"kind": kind, "agent": agent, "limit": limit, "cursor": cursor}
    page = connect(config, data).get("api", "schedules", query=query)
    if as_json:
        print_json(page)
        return
    print_table([_row(schedule) for schedule in page["items"]], _COLUMNS, nothing="No schedules.")
    if page["nextCursor"]:
        tell(f"There are more: --cursor {page['nextCursor']}")


@schedules.command()
@click.argument("schedule_id")
@json_option
@place_options
def show(*, schedule_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show one with the next five times."""
    schedule = connect(config, data).get("api", "schedules", schedule_id)
    if as_json:
        print_json(schedule)
    else:
        _print(schedule)


@schedules.command()
@click.argument("agent")
@click.argument("schedule")
@click.option("--heartbeat", is_flag=True, help="A heartbeat (else a cron).")
@click.option("--to", "place", required=True, metavar="PLATFORM:CHANNEL", help="Where the answers go.")
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
    """Make a cron or heartbeat: `every 5 m`, `0 8 * * 1-5`, `@daily`, `at 2027-01-15 08:00`.

    It is kept and checked; it runs once the scheduler is there."""
    kind = ScheduleKind.HEARTBEAT if heartbeat else ScheduleKind.CRON
    body = {"kind": kind, "agent": agent, "schedule": schedule, **_place(place), **_given(details)}
    _tell(connect(config, data).post("api", "schedules", body=body), "is made", as_json=as_json)


@schedules.command()
@click.argument("schedule_id")
@click.option("--schedule", help="When it comes.")
@click.option("--to", "place", metavar="PLATFORM:CHANNEL", help="Where the answers go.")
@click.option("--on/--off", "enabled", default=None, help="Whether it comes at all.")
@_details
@json_option
@place_options
def update(
    *,
    schedule_id: str,
    schedule: str | None,
    place: str | None,
    enabled: bool | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
    **details: Any,
) -> None:
    """Change what the options name. From then on it acts for whoever changed it."""
    where = _place(place) if place is not None else {}
    body = {**_given({"schedule": schedule, "enabled": enabled, **details}), **where}
    if not body:
        raise click.UsageError("Say what shall be otherwise.")
    _tell(connect(config, data).patch("api", "schedules", schedule_id, body=body), "is changed", as_json=as_json)


@schedules.command()
@click.argument("schedule_id")
@json_option
@place_options
def delete(*, schedule_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Delete one; `undo` brings it back."""
    answer = connect(config, data).delete("api", "schedules", schedule_id)
    if as_json:
        print_json(answer)
    else:
        print(f"The schedule {schedule_id} is deleted. `arvis schedules undo {schedule_id}` brings it back.")


@schedules.command()
@click.argument("schedule_id")
@json_option
@place_options
def undo(*, schedule_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Go back to the version before: what was changed, deleted or made last. A second time goes forward again."""
    answer = connect(config, data).post("api", "schedules", schedule_id, "undo")
    if as_json:
        print_json(answer)
    elif answer["schedule"] is None:
        print(f"The schedule {schedule_id} is gone, as before the last change.")
    else:
        _tell(answer["schedule"], "is as it was before", as_json=False)


def _given(details: Mapping[str, Any]) -> dict[str, Any]:
    """What was said, as the API takes it."""
    given = {name: value for name, value in details.items() if value is not None}
    if "script" in given:
        try:
            given["script"] = json.loads(given["script"].read())
        except (ValueError, RecursionError):
            raise click.BadParameter("the file holds no JSON", param_hint="--script") from None
    return given


def _place(text: str) -> dict[str, str]:
    platform, colon, channel = text.partition(":")
    if not (platform and colon and channel):
        raise click.BadParameter("must be such as telegram:-1001234", param_hint="--to")
    return {"platform": platform, "channelId": channel}


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
    print("\nNext:" if schedule["nextRuns"] else "\nIt does not come any more.")
    for at in schedule["nextRuns"]:
        print(f"  {moment(at)}")


def _row(schedule: Any) -> dict[str, object]:
    return {
        **schedule,
        "to": f"{schedule['platform']}:{schedule['channelId']}",
        "next": moment(schedule["nextRun"]) if schedule["enabled"] else "off",
    }
