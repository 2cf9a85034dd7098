"""`arvis pair`: strangers who wrote to a bot and show a code; let them in, or turn them away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.options import Commands, json_option, page_options, place_options
from arvis.cli.output import moment, one_line, print_json, print_table, tell_more

_COLUMNS = ("id", "asked", "until", "status", "platform", "bot", "name", "user")


@click.group(cls=Commands)
def pair() -> None:
    """List strangers who ask to be let in, and let them in by their code."""


@pair.command("list")
@click.option("--all", "everybody", is_flag=True, help="Also those who were let in or turned away, and old codes.")
@page_options
@json_option
@place_options
def list_pairings(
    *, everybody: bool, limit: int, cursor: str | None, as_json: bool, config: Path | None, data: Path | None
) -> None:
    """List who waits to be let in, the newest first."""
    query = {"pending": "false" if everybody else None, "limit": limit, "cursor": cursor}
    page = connect(config, data).get("api", "pairings", query=query)
    if as_json:
        print_json(page)
        return
    print_table([_row(each) for each in page["items"]], _COLUMNS, nothing="Nobody asks to be let in.")
    tell_more(page)


@pair.command()
@click.argument("code")
@json_option
@place_options
def approve(*, code: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Let in whoever showed you this code."""
    person = connect(config, data).post("api", "pairings", "approve", body={"code": code})
    if as_json:
        print_json(person)
    else:
        print(f"{one_line(person['name'])} ({person['platform']}:{person['userId']}) is let in, and told so.")


@pair.command()
@click.argument("code", required=False)
@click.option("--id", "pairing_id", help="The ID that `arvis pair list` shows, instead of the code.")
@json_option
@place_options
def reject(*, code: str | None, pairing_id: str | None, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Turn somebody away; they get no new code for a day."""
    if (code is None) == (pairing_id is None):
        raise click.UsageError("Name either a code or an --id.")
    body = {"code": code} if pairing_id is None else {"id": pairing_id}
    asked = connect(config, data).post("api", "pairings", "reject", body=body)
    if as_json:
        print_json(asked)
    else:
        print(f"{one_line(asked['userName'])} ({asked['platform']}:{asked['userId']}) is turned away.")


def _row(asked: Any) -> dict[str, object]:
    return {
        **asked,
        "asked": moment(asked["createdAt"]),
        "until": moment(asked["expiresAt"]),
        "bot": asked["connector"],
        "name": asked["userName"],
        "user": asked["userId"],
    }
