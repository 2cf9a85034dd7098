"""`arvis pairing`: approve or reject people who wrote to a bot and got a code, and pair or unpair known people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.commands.people import change_person
from arvis.cli.options import Commands, json_option, page_options, place_options
from arvis.cli.output import moment, one_line, print_json, print_table, tell_more

_COLUMNS = ("id", "asked", "until", "status", "platform", "bot", "name", "user")


@click.group(cls=Commands)
def pairing() -> None:
    """List, approve and reject the requests of people who want to use a bot."""


@pairing.command("list")
@click.option("--all", "everybody", is_flag=True, help="Include approved, rejected and expired requests.")
@page_options
@json_option
@place_options
def list_pairings(
    *, everybody: bool, limit: int, cursor: str | None, as_json: bool, config: Path | None, data: Path | None
) -> None:
    """List pairing requests, the newest first."""
    query = {"pending": "false" if everybody else None, "limit": limit, "cursor": cursor}
    page = connect(config, data).get("api", "pairings", query=query)
    if as_json:
        print_json(page)
        return
    print_table([_row(each) for each in page["items"]], _COLUMNS, nothing="No open pairing requests.")
    tell_more(page)


@pairing.command()
@click.argument("code", required=False)
@click.option("--person", help="An ID or PLATFORM:USER of `arvis people list`, instead of a code.")
@json_option
@place_options
def approve(*, code: str | None, person: str | None, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Pair the person who showed you this code, or a person you name. They may then use agents with risky tools."""
    if person is not None and code is None:
        change_person(person, {"paired": True}, "is paired", as_json=as_json, config=config, data=data)
        return
    if code is None or person is not None:
        raise click.UsageError("Name either a code or a --person.")
    paired = connect(config, data).post("api", "pairings", "approve", body={"code": code})
    if as_json:
        print_json(paired)
    else:
        print(f"{one_line(paired['name'])} ({paired['platform']}:{paired['userId']}) is paired and was notified.")


@pairing.command()
@click.argument("code", required=False)
@click.option("--id", "pairing_id", help="The ID that `arvis pairing list` shows, instead of the code.")
@json_option
@place_options
def reject(*, code: str | None, pairing_id: str | None, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Reject a request. The person gets no new code for a day."""
    if (code is None) == (pairing_id is None):
        raise click.UsageError("Name either a code or an --id.")
    body = {"code": code} if pairing_id is None else {"id": pairing_id}
    asked = connect(config, data).post("api", "pairings", "reject", body=body)
    if as_json:
        print_json(asked)
    else:
        print(f"{one_line(asked['userName'])} ({asked['platform']}:{asked['userId']}) is rejected.")


@pairing.command()
@click.argument("person")
@json_option
@place_options
def revoke(*, person: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Unpair a person. PERSON is an ID or PLATFORM:USER of `arvis people list`."""
    change_person(person, {"paired": False}, "is no longer paired", as_json=as_json, config=config, data=data)


def _row(asked: Any) -> dict[str, object]:
    return {
        **asked,
        "asked": moment(asked["createdAt"]),
        "until": moment(asked["expiresAt"]),
        "bot": asked["connector"],
        "name": asked["userName"],
        "user": asked["userId"],
    }
