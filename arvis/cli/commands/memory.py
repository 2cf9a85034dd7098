"""`arvis memory`: the facts and values that agents have stored, with their sources, and their correction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.options import Commands, json_option, page_options, place_options
from arvis.cli.output import moment, plain, print_fields, print_json, print_table, tell_more
from arvis.domain.memory import EVERYWHERE, Category, FactStatus

_COLUMNS = ("id", "agent", "scope", "category", "content", "confirmed")
_CHANGES = ("at", "change", "by", "other")
_STATES = ("agent", "scope", "key", "value", "confirmed")
_TIMES = ("accessedAt", "expiresAt", "createdAt", "updatedAt")

_category = click.Choice([*map(str, Category)])
_scope = click.option("--scope", help="principal:ID, room:PLATFORM:CONNECTOR:CHANNEL:THREAD, or agent.")


@click.group(cls=Commands)
def memory() -> None:
    """List, show, create, confirm and delete facts that agents remember."""


@memory.command("list")
@click.option("--agent", help="Only facts of this agent.")
@_scope
@click.option("--category", type=_category)
@click.option("--status", type=click.Choice([*map(str, FactStatus)]), default="active", show_default=True)
@click.option("--search", "words", metavar="WORDS", help="Only facts with these words, best match first.")
@page_options
@json_option
@place_options
def list_facts(
    *,
    agent: str | None,
    scope: str | None,
    category: str | None,
    status: str,
    words: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """List facts, the newest first."""
    wanted = {"agent": agent, "scope": scope, "category": category, "status": status, "q": words}
    page = connect(config, data).get("api", "memory", query={**wanted, "limit": limit, "cursor": cursor})
    _print_page(page, _COLUMNS, "No facts match.", as_json=as_json)


@memory.command()
@click.argument("fact_id")
@json_option
@place_options
def show(*, fact_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show a fact with its source and its changes."""
    fact = connect(config, data).get("api", "memory", fact_id)
    if as_json:
        print_json(fact)
        return
    print_fields({**fact, **{name: moment(fact[name]) for name in _TIMES}, "changes": None})
    print()
    rows = [
        {**change, "at": moment(change["at"]), "by": change["changedById"], "other": change["replacedById"]}
        for change in fact["changes"]
    ]
    print_table(rows, _CHANGES, nothing="This fact has no changes.")


@memory.command()
@click.argument("content")
@click.option("--agent", required=True, help="The agent that remembers it.")
@click.option("--category", type=_category, default="learned_pattern", show_default=True)
@_scope
@json_option
@place_options
def create(
    *,
    content: str,
    agent: str,
    category: str,
    scope: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Store a fact for an agent. It replaces an older fact on the same subject."""
    body = {"agent": agent, "content": content, "category": category, "scope": scope or EVERYWHERE}
    fact = connect(config, data).post("api", "memory", body=body)
    if as_json:
        print_json(fact)
        return
    match fact["outcome"]:
        case "refreshed":
            print(f"{agent} already has this fact: {fact['id']}")
        case "superseded":
            print(f"The fact {fact['id']} was stored for {agent} and replaces {fact['previousId']}.")
        case _:
            print(f"The fact was stored for {agent}: {fact['id']}")


@memory.command()
@click.argument("fact_id")
@json_option
@place_options
def delete(*, fact_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Delete a fact; `arvis memory undo` restores it."""
    answer = connect(config, data).delete("api", "memory", fact_id)
    _print_done(answer, "The fact is deleted.", as_json=as_json)


@memory.command()
@click.argument("fact_id")
@json_option
@place_options
def confirm(*, fact_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Confirm a fact that came from another source than the person's own messages."""
    answer = connect(config, data).post("api", "memory", fact_id, "confirm")
    _print_done(answer, "The fact is confirmed.", as_json=as_json)


@memory.command()
@click.option("--agent", required=True, help="The agent whose memory is changed.")
@_scope
@json_option
@place_options
def undo(*, agent: str, scope: str | None, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Undo the newest change of a scope (default: agent)."""
    body = {"agent": agent, "scope": scope or EVERYWHERE}
    answer = connect(config, data).post("api", "memory", "undo", body=body)
    _print_done(answer, answer["undone"], as_json=as_json)


@memory.command()
@click.option("--agent", help="Only values of this agent.")
@_scope
@page_options
@json_option
@place_options
def states(
    *,
    agent: str | None,
    scope: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """List the values that agents have stored."""
    wanted = {"agent": agent, "scope": scope, "limit": limit, "cursor": cursor}
    page = connect(config, data).get("api", "memory", "states", query=wanted)
    _print_page(page, _STATES, "No values.", as_json=as_json)


def _print_page(page: Any, columns: tuple[str, ...], nothing: str, *, as_json: bool) -> None:
    if as_json:
        print_json(page)
        return
    rows = [{**row, "confirmed": "no" if row["taint"] else "yes"} for row in page["items"]]
    print_table(rows, columns, nothing=nothing)
    tell_more(page)


def _print_done(answer: Any, words: str, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        print(plain(words))
