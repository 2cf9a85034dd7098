"""`arvis erasures`: commands that erase all content of people or of a channel, and show the progress."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import page_options
from arvis.cli.output import Output, Row, Table, at, fields
from arvis.domain.erasures import Phase

#: The interval in seconds at which the command requests the progress.
_LOOK = 0.5

_ERASURES = Table(
    "id",
    ("asked", at("createdAt")),
    ("ended", at("endedAt")),
    "kind",
    "phase",
    ("messages", lambda row: row["counts"].get("messages", 0)),
    nothing="No erasures.",
)
_WARNING = (
    "This deletes all messages, files, memory, summaries, schedules and webhooks of {what}, and cannot be undone. "
    "The texts of all log lines until now are deleted, too. Continue?"
)


@click.group(cls=ApiCommands)
def erasures() -> None:
    """Erase all content of people or of a channel, and show the progress of erasures."""


@erasures.command("list")
@page_options
def list_erasures(*, api: Api, **query: Any) -> Output:
    """List erasures, the newest first."""
    return _ERASURES.page(api.get("erasures", query=query))


@erasures.command()
@click.argument("erasure")
def show(*, api: Api, erasure: str) -> Output:
    """Show the progress of an erasure."""
    return _shown(api.get("erasures", erasure))


@erasures.command()
@click.argument("channel", metavar="PLATFORM:BOT:CHANNEL")
@click.option("--yes", is_flag=True, help="Do not ask for a confirmation.")
@click.option("--wait/--no-wait", default=True, help="Wait for the end of the erasure (default).")
def create(*, api: Api, channel: str, yes: bool, wait: bool) -> Output:
    """Erase all content of a channel, such as discord:main:123456789012345678. `arvis people erase` erases people."""
    parts = channel.split(":", 2)
    if len(parts) != 3 or not all(parts):  # noqa: PLR2004 - the three parts of the argument
        raise click.UsageError("Name the channel as PLATFORM:BOT:CHANNEL, such as discord:main:123456789012345678.")
    body = {"channel": dict(zip(("platform", "connector", "channelId"), parts, strict=True))}
    return erase(api, body, f"the channel {channel}", yes=yes, wait=wait)


def erase_people(api: Api, people: Sequence[str], named: Sequence[str], *, yes: bool, wait: bool) -> Output:
    """Erase the people with these ids. `named` are the names that the confirmation shows."""
    return erase(api, {"people": list(people)}, ", ".join(named), yes=yes, wait=wait)


def erase(api: Api, body: Row, what: str, *, yes: bool, wait: bool) -> Output:
    """Ask for a confirmation, start the erasure and show it. With `wait`, show it when it has ended."""
    api.connect()
    if not yes:
        click.confirm(_WARNING.format(what=what), abort=True, err=True)
    found = api.post("erasures", body=body)
    while wait and found["phase"] != Phase.DONE:
        time.sleep(_LOOK)
        found = api.get("erasures", found["id"])
    return _shown(found)


def _shown(found: Row) -> Output:
    counts = ", ".join(f"{number} {name}" for name, number in found["counts"].items()) or "nothing yet"
    notes = []
    if found["backups"]:
        notes.append(
            f"{found['backups']} backups in the data folder were made earlier and still contain the content. "
            "The daemon deletes each of them when `backup.keep` newer backups exist. Delete other copies yourself."
        )
    if found["mentions"]:
        notes.append(
            f"{len(found['mentions'])} facts that other people wrote mention the person and were not deleted: "
            + ", ".join(found["mentions"])
            + ". `arvis memory delete` deletes a fact."
        )
    shown = fields(found, "createdAt", "endedAt", counts=counts, mentions=None, backups=None)
    return Output(found, shown, notes=notes)
