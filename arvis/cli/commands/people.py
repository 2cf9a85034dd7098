"""`arvis people` and `arvis pairing`: people who have written, their rights, and pairing requests."""

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
    """List, show, update, block and unblock people. `arvis pairing` pairs and unpairs them.

    PERSON is an ID from `arvis people list`, or PLATFORM:USER such as discord:123456789012345678.
    """


@people.command("list")
@click.option("--platform", help="Only people of this platform, such as discord.")
@click.option("--role", type=click.Choice([*map(str, PrincipalRole)]))
@click.option("--paired/--not-paired", default=None, help="Only paired people, or only unpaired people.")
@click.option("--search", metavar="TEXT", help="Only people whose name or user id contains this text.")
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
    print_table(rows, _COLUMNS, nothing="No people match.")
    tell_more(page)


@people.command()
@click.argument("person")
@json_option
@place_options
def show(*, person: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show one person and the changes of their rights."""
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
@click.option("--role", type=click.Choice(_ROLES), required=True, help="The new role.")
@json_option
@place_options
def update(*, person: str, role: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Make a person an operator or a member. Owners are set in config.yaml."""
    change_person(person, {"role": role}, f"is now {role}", as_json=as_json, config=config, data=data)


@people.command()
@click.argument("person")
@json_option
@place_options
def block(*, person: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Block a person. No agent answers them, regardless of other rules."""
    change_person(person, {"role": "blocked"}, "is blocked", as_json=as_json, config=config, data=data)


@people.command()
@click.argument("person")
@json_option
@place_options
def unblock(*, person: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Unblock a person. They become an unpaired member."""
    change_person(person, {"role": "member"}, "is no longer blocked", as_json=as_json, config=config, data=data)


def change_person(
    person: str, body: dict[str, Any], words: str, *, as_json: bool, config: Path | None, data: Path | None
) -> None:
    """Change a person and print the result."""
    api = connect(config, data)
    changed = api.patch("api", "people", _id(api, person), body=body)
    if as_json:
        print_json(changed)
    else:
        print(f"{one_line(changed['name'])} ({changed['platform']}:{changed['userId']}) {words}.")


def _id(api: Api, person: str) -> str:
    """Return the ID of a person who is named by platform and user."""
    platform, colon, user = person.partition(":")
    if not colon:
        return person
    page = api.get("api", "people", query={"platform": platform, "q": user, "limit": 200})
    for each in page["items"]:
        if each["userId"] == user:
            return str(each["id"])
    raise NotFound(f"There is no person {person}.", fix="`arvis people list` lists the people who have written.")


def _yes(value: object) -> str:
    return "yes" if value else "no"


# Pairing: approve or reject people who wrote to a bot and got a code, and pair or unpair known people.

_REQUEST_COLUMNS = ("id", "asked", "until", "status", "platform", "bot", "name", "user")


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
    print_table([_row(each) for each in page["items"]], _REQUEST_COLUMNS, nothing="No open pairing requests.")
    tell_more(page)


@pairing.command()
@click.argument("code", required=False)
@click.option("--person", help="An ID or PLATFORM:USER from `arvis people list`, instead of a code.")
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
    """Unpair a person. PERSON is an ID or PLATFORM:USER from `arvis people list`."""
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
