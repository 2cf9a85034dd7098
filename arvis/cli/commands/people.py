"""`arvis people`: who has written, and what they may do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import Api, connect
from arvis.cli.options import Commands, json_option, page_options, place_options
from arvis.cli.output import moment, one_line, print_fields, print_json, print_table, tell_more
from arvis.domain.errors import NotFound
from arvis.domain.messages import PrincipalRole

_COLUMNS = ("id", "platform", "user", "name", "role", "paired")
_CHANGES = ("at", "role", "paired", "by")
_ROLES = ("operator", "member")


@click.group(cls=Commands)
def people() -> None:
    """List people, show one, give them a role, pair, block and unblock them.

    PERSON is an ID of the list, or PLATFORM:USER such as discord:123456789012345678.
    """


@people.command("list")
@click.option("--platform", help="Such as discord.")
@click.option("--role", type=click.Choice([*map(str, PrincipalRole)]))
@click.option("--paired/--not-paired", default=None, help="Only those whom somebody vouches for, or only the others.")
@click.option("--search", metavar="TEXT", help="Part of the name or of the platform's id.")
@page_options
@json_option
@place_options
def list_people(
    *,
    platform: str | None,
    role: str | None,
    paired: bool | None,
    search: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """List people who have written, the newest first."""
    flag = None if paired is None else str(paired).lower()
    query = {"platform": platform, "role": role, "paired": flag, "q": search, "limit": limit, "cursor": cursor}
    page = connect(config, data).get("api", "people", query=query)
    if as_json:
        print_json(page)
        return
    rows = [{**each, "user": each["userId"], "paired": _yes(each["paired"])} for each in page["items"]]
    print_table(rows, _COLUMNS, nothing="Nobody has written yet.")
    tell_more(page)


@people.command()
@click.argument("person")
@json_option
@place_options
def show(*, person: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show one person, and who changed what they may do."""
    api = connect(config, data)
    found = api.get("api", "people", _id(api, person))
    if as_json:
        print_json(found)
        return
    times = {name: moment(found[name]) for name in ("pairedAt", "createdAt", "updatedAt")}
    print_fields({**found, **times, "paired": _yes(found["paired"]), "changes": None})
    if found["changes"]:
        print()
        rows = [{**each, "at": moment(each["at"]), "paired": _yes(each["paired"])} for each in found["changes"]]
        print_table(rows, _CHANGES, nothing="")


@people.command()
@click.argument("person")
@click.argument("role", type=click.Choice(_ROLES))
@json_option
@place_options
def role(*, person: str, role: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Make somebody an operator or a member. Owners stand in config.yaml."""
    _change(person, {"role": role}, f"is {role} now", as_json=as_json, config=config, data=data)


@people.command()
@click.argument("person")
@json_option
@place_options
def pair(*, person: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Vouch for somebody without a code: they may ask agents with risky tools."""
    _change(person, {"paired": True}, "is paired", as_json=as_json, config=config, data=data)


@people.command()
@click.argument("person")
@json_option
@place_options
def unpair(*, person: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Vouch for somebody no more."""
    _change(person, {"paired": False}, "is paired no more", as_json=as_json, config=config, data=data)


@people.command()
@click.argument("person")
@json_option
@place_options
def block(*, person: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Answer somebody nothing at all, whatever else would let them in."""
    _change(person, {"role": "blocked"}, "is blocked", as_json=as_json, config=config, data=data)


@people.command()
@click.argument("person")
@json_option
@place_options
def unblock(*, person: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Treat somebody like a stranger again."""
    _change(person, {"role": "member"}, "is blocked no more", as_json=as_json, config=config, data=data)


def _change(
    person: str, body: dict[str, Any], words: str, *, as_json: bool, config: Path | None, data: Path | None
) -> None:
    api = connect(config, data)
    changed = api.patch("api", "people", _id(api, person), body=body)
    if as_json:
        print_json(changed)
    else:
        print(f"{one_line(changed['name'])} ({changed['platform']}:{changed['userId']}) {words}.")


def _id(api: Api, person: str) -> str:
    """The ID of a person who is named by platform and user."""
    platform, colon, user = person.partition(":")
    if not colon:
        return person
    page = api.get("api", "people", query={"platform": platform, "q": user, "limit": 200})
    for each in page["items"]:
        if each["userId"] == user:
            return str(each["id"])
    raise NotFound(f"Nobody wrote as {person}.", fix="`arvis people list` shows those who have written.")


def _yes(value: object) -> str:
    return "yes" if value else "no"
