"""`arvis people` and `arvis pairing`: commands for people who have written, their rights, and their pairing
requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.commands.erasures import erase_people
from arvis.cli.commands.interchange import save
from arvis.cli.options import choice, page_options
from arvis.cli.output import Output, Row, Table, at, fields, one_line, yes_or_no
from arvis.domain.errors import NotFound
from arvis.domain.messages import PrincipalRole


def _paired(person: Row) -> str | None:
    """Return yes or no; None for an unpaired owner, because owners need no pairing."""
    return None if person["role"] == PrincipalRole.OWNER and not person["paired"] else yes_or_no(person["paired"])


PEOPLE = Table("id", "platform", ("user", "userId"), "name", "role", ("paired", _paired), nothing="No people match.")
_IDENTITIES = Table("id", "platform", ("user", "userId"), "name")
_CHANGES = Table(("at", at("at")), "role", ("paired", _paired), "by")


@click.group(cls=ApiCommands)
def people() -> None:
    """List, show, update, block, unblock, export and erase people. `arvis pairing` pairs and unpairs them.

    PERSON is an ID from `arvis people list`, or PLATFORM:USER such as discord:123456789012345678.
    """


@people.command("list")
@click.option("--platform", help="Only people of this platform, such as discord.")
@click.option("--role", type=choice(PrincipalRole))
@click.option("--paired/--not-paired", default=None, help="Only paired people, or only unpaired people.")
@click.option("--search", "q", metavar="TEXT", help="Only people whose name or user id contains this text.")
@page_options
def list_people(*, api: Api, **query: Any) -> Output:
    """List known people, the most recently added first."""
    return PEOPLE.page(api.get("people", query=query))


@people.command()
@click.argument("person")
def show(*, api: Api, person: str) -> Output:
    """Show one person and the changes to their rights."""
    found = api.get("people", _id(api, person))
    linked = found["identities"] if len(found["identities"]) > 1 else []
    shown = fields(found, "pairedAt", "createdAt", "updatedAt", paired=_paired(found), changes=None, identities=None)
    others = [_IDENTITIES.text(linked)] if linked else []
    return Output(found, shown, *others, _CHANGES.text(found["changes"]))


@people.command()
@click.argument("person")
@click.argument("other")
def link(*, api: Api, person: str, other: str) -> Output:
    """Link OTHER to PERSON: both are identities of one person, and share memory, budget and preferences. OTHER gets the
    rights of PERSON."""
    found = api.post("people", _id(api, person), "link", body={"identity": _id(api, other)})
    return Output(found, f"{other} is linked to {one_line(found['name'])} ({found['platform']}:{found['userId']}).")


@people.command()
@click.argument("person")
def unlink(*, api: Api, person: str) -> Output:
    """End the link of an identity. Its messages and memory stay with the person."""
    return _changed(api.delete("people", _id(api, person), "link"), "is a separate person now")


_NOW = {"role": "is now {}", "timezone": "now uses {} as time zone", "language": "now uses {} as language"}


@people.command()
@click.argument("person")
@click.option("--role", type=click.Choice(("operator", "member")), help="The new role.")
@click.option("--timezone", metavar="NAME", help="The time zone, such as Europe/Berlin; empty: the default.")
@click.option("--language", metavar="CODE", help="The language, such as de; empty: the default.")
def update(*, api: Api, person: str, **given: str | None) -> Output:
    """Change the role, the time zone or the language of a person. Owners are set in config.yaml."""
    body = {name: value for name, value in given.items() if value is not None}
    if not body:
        raise click.UsageError("Name a change: --role, --timezone or --language.")
    words = [_NOW[name].format(value or "the default") for name, value in body.items()]
    return _change(api, person, body, " and ".join(words))


@people.command()
@click.argument("person")
def block(*, api: Api, person: str) -> Output:
    """Block a person. No agent answers a blocked person, regardless of other rules."""
    return _change(api, person, {"role": "blocked"}, "is blocked")


@people.command()
@click.argument("person")
def unblock(*, api: Api, person: str) -> Output:
    """Unblock a person. They become an unpaired member."""
    return _change(api, person, {"role": "member"}, "is no longer blocked")


@people.command()
@click.argument("person")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def export(*, api: Api, person: str, file: Path, force: bool) -> Output:
    """Export everything of a person into a zip file of a documented format: messages, replies, files, memory and
    schedules."""
    return save(api, file, {"person": _id(api, person)}, force=force)


@people.command()
@click.argument("people", metavar="PERSON...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask for a confirmation.")
@click.option("--wait/--no-wait", default=True, help="Wait for the end of the erasure (default).")
def erase(*, api: Api, people: tuple[str, ...], yes: bool, wait: bool) -> Output:
    """Erase all messages, files, memory and other content of a person. Name all identities of the person, such as
    discord:123 telegram:456. `arvis erasures show` shows what was deleted and what stays."""
    ids = [_id(api, person) for person in people]
    return erase_people(api, ids, people, yes=yes, wait=wait)


@people.command()
@click.argument("person")
@click.option("--yes", is_flag=True, help="Do not ask for a confirmation.")
def forget(*, api: Api, person: str, yes: bool) -> Output:
    """Delete all facts and values that agents remember about a person, with their history. Messages and summaries
    stay; `arvis people erase` deletes them too."""
    person_id = _id(api, person)
    if not yes:
        click.confirm(
            f"Delete everything that agents remember about {person}? This cannot be undone.", abort=True, err=True
        )
    gone = api.delete("people", person_id, "memory")
    return Output(gone, f"Permanently deleted: {gone['facts']} facts and {gone['values']} values about {person}.")


def _change(api: Api, person: str, body: dict[str, Any], words: str) -> Output:
    return _changed(api.patch("people", _id(api, person), body=body), words)


def _changed(person: Row, words: str, name: str = "name") -> Output:
    return Output(person, f"{one_line(person[name])} ({person['platform']}:{person['userId']}) {words}.")


def _id(api: Api, person: str) -> str:
    """Return the ID of the person that a text names: an ID, or a platform and a user."""
    platform, colon, user = person.partition(":")
    if not colon:
        return person
    page = api.get("people", query={"platform": platform, "q": user, "limit": 200})
    for each in page["items"]:
        if each["userId"] == user:
            return str(each["id"])
    raise NotFound(f"There is no person {person}.", fix="`arvis people list` lists the people who have written.")


# Pairing: commands that approve or reject people who wrote to a bot and got a code, and that pair or unpair known
# people.

_PAIRINGS = Table(
    "id",
    ("asked", at("createdAt")),
    ("until", at("expiresAt")),
    "status",
    "platform",
    ("bot", "connector"),
    ("name", "userName"),
    ("user", "userId"),
    nothing="No open pairing requests.",
)


@click.group(cls=ApiCommands)
def pairing() -> None:
    """List, approve and reject the requests of people who want to use a bot."""


@pairing.command("list")
@click.option("--all", "everybody", is_flag=True, help="Include approved, rejected and expired requests.")
@page_options
def list_pairings(*, api: Api, everybody: bool, **query: Any) -> Output:
    """List pairing requests, the newest first."""
    return _PAIRINGS.page(api.get("pairings", query={"pending": not everybody, **query}))


@pairing.command()
@click.argument("code", required=False)
@click.option("--person", help="An ID or PLATFORM:USER from `arvis people list`, instead of a code.")
def approve(*, api: Api, code: str | None, person: str | None) -> Output:
    """Pair the person who showed you this code, or a person you name. A paired person may use agents with risky
    tools."""
    if person is not None and code is None:
        return _change(api, person, {"paired": True}, "is paired")
    if code is None or person is not None:
        raise click.UsageError("Name either a code or a --person.")
    return _changed(api.post("pairings", "approve", body={"code": code}), "is paired and was notified")


@pairing.command()
@click.argument("code", required=False)
@click.option("--id", "pairing_id", help="The ID that `arvis pairing list` shows, instead of the code.")
def reject(*, api: Api, code: str | None, pairing_id: str | None) -> Output:
    """Reject a request. The person gets no new code for a day."""
    if (code is None) == (pairing_id is None):
        raise click.UsageError("Name either a code or an --id.")
    body = {"code": code} if pairing_id is None else {"id": pairing_id}
    return _changed(api.post("pairings", "reject", body=body), "is rejected", "userName")


@pairing.command()
@click.argument("person")
def revoke(*, api: Api, person: str) -> Output:
    """Unpair a person. PERSON is an ID or PLATFORM:USER from `arvis people list`."""
    return _change(api, person, {"paired": False}, "is no longer paired")
