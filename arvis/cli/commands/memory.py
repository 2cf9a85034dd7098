"""`arvis memory`: commands that list, show, create, confirm and delete the facts that agents have stored, and list
stored values."""

from __future__ import annotations

import time
from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import choice, page_options
from arvis.cli.output import Output, Table, at, fields
from arvis.domain.memory import EVERYWHERE, Category, FactStatus
from arvis.domain.validity import DATE, end_of, start_of

_confirmed = ("confirmed", lambda row: "no" if row["taint"] else "yes")
_FACTS = Table("id", "agent", "scope", "category", "content", _confirmed, nothing="No facts match.")
_STATES = Table("agent", "scope", "key", "value", _confirmed, nothing="No values.")
_CHANGES = Table(
    ("at", at("at")),
    "change",
    ("by", "changedById"),
    ("other", "replacedById"),
    nothing="This fact has no changes.",
)

_REPLACED = Table(
    ("replaced", "id"), "content", ("until", at("validUntil")), ("source", lambda row: row["messageId"] or row["authorId"]),
    nothing="",
)  # fmt: skip

_HELP = "principal:ID, room:PLATFORM:CONNECTOR:CHANNEL:THREAD, or agent."
_scope = click.option("--scope", help=_HELP)
_own_scope = click.option("--scope", default=EVERYWHERE, help=_HELP)
_days = click.option(
    "--days",
    type=click.IntRange(1, 36_500),
    help="Use the fact for this many days (default: until it fades without use).",
)


_from = click.option("--from", "begins", metavar="DATE", help="The fact is true from this year, month or day on (UTC).")
_until = click.option(
    "--until", "ends", metavar="DATE", help="The last year, month or day in which the fact is true (UTC)."
)


def _times(days: int | None, begins: str | None, ends: str | None) -> dict[str, int]:
    found: dict[str, int] = {} if days is None else {"expiresAt": round((time.time() + days * 86_400) * 1_000)}
    for name, text, read in (("validFrom", begins, start_of), ("validUntil", ends, end_of)):
        if text is not None:
            at = read(text, "UTC")
            if at is None:
                raise click.UsageError(f"{text} is not a date. Write {DATE}.")
            found[name] = at
    return found


@click.group(cls=ApiCommands)
def memory() -> None:
    """List, show, create, confirm and delete facts that agents remember."""


@memory.command("list")
@click.option("--agent", help="Only facts of this agent.")
@_scope
@click.option("--category", type=choice(Category))
@click.option("--status", type=choice(FactStatus), default="active", show_default=True)
@click.option("--search", "q", metavar="WORDS", help="Only facts with these words, best match first.")
@page_options
def list_facts(*, api: Api, **query: Any) -> Output:
    """List facts, the newest first."""
    return _FACTS.page(api.get("memory", query=query))


@memory.command()
@click.argument("words")
@click.option("--agent", help="Only facts of this agent.")
@_scope
@page_options
def search(*, api: Api, words: str, **query: Any) -> Output:
    """Search active facts by words and, with an embedding model, by meaning; the best match first."""
    return _FACTS.page(api.get("memory", query={"q": words, **query}))


@memory.command()
@click.argument("fact_id")
def show(*, api: Api, fact_id: str) -> Output:
    """Show a fact with its source, its changes and the facts that it replaced."""
    fact = api.get("memory", fact_id)
    times = ("accessedAt", "expiresAt", "validFrom", "validUntil", "createdAt", "updatedAt")
    replaced = [_REPLACED.text(fact["replaces"])] if fact["replaces"] else []
    return Output(fact, fields(fact, *times, changes=None, replaces=None), _CHANGES.text(fact["changes"]), *replaced)


@memory.command()
@click.argument("content")
@click.option("--agent", required=True, help="The agent that remembers the fact.")
@click.option("--category", type=choice(Category), default="learned_pattern", show_default=True)
@_own_scope
@_days
@_from
@_until
def create(*, api: Api, agent: str, days: int | None, begins: str | None, ends: str | None, **details: Any) -> Output:
    """Store a fact for an agent. The fact replaces an older fact on the same subject."""
    fact = api.post("memory", body={"agent": agent, **details, **_times(days, begins, ends)})
    match fact["outcome"]:
        case "refreshed":
            words = f"{agent} already has this fact: {fact['id']}"
        case "superseded":
            words = f"The fact {fact['id']} was stored for {agent} and replaces {fact['previousId']}."
        case _:
            words = f"The fact was stored for {agent}: {fact['id']}"
    return Output(fact, words)


@memory.command()
@click.argument("fact_id")
@click.argument("content", required=False)
@_days
@click.option("--never-expires", is_flag=True, help="Use the fact until it is deleted or fades without use.")
@_from
@_until
@click.option("--always-true", is_flag=True, help="Remove the times from which and until which the fact is true.")
def correct(
    *,
    api: Api,
    fact_id: str,
    content: str | None,
    days: int | None,
    never_expires: bool,
    begins: str | None,
    ends: str | None,
    always_true: bool,
) -> Output:
    """Replace a fact by the correct text, or set how long it is used and when it is true. `arvis memory undo` restores the old
    text."""
    body: dict[str, Any] = {"validFrom": None, "validUntil": None} if always_true else {}
    body |= _times(days, begins, ends)
    body |= {"expiresAt": None} if never_expires else {}
    body |= {} if content is None else {"content": content}
    if not body:
        raise click.UsageError("Give the correct text, --days, --never-expires, --from, --until or --always-true.")
    fact = api.patch("memory", fact_id, body=body)
    done = "is changed" if fact["outcome"] == "refreshed" else f"replaces {fact['previousId']}"
    return Output(fact, f"The fact {fact['id']} {done}.")


@memory.command()
@click.argument("fact_id")
def delete(*, api: Api, fact_id: str) -> Output:
    """Delete a fact; `arvis memory undo` restores it."""
    return Output(api.delete("memory", fact_id), "The fact is deleted.")


@memory.command()
@click.argument("fact_id")
def confirm(*, api: Api, fact_id: str) -> Output:
    """Confirm that a fact from an unverified source, such as a tool or another person, is true."""
    return Output(api.post("memory", fact_id, "confirm"), "The fact is confirmed.")


@memory.command()
@click.option("--agent", required=True, help="The agent whose memory is changed.")
@_own_scope
def undo(*, api: Api, **body: Any) -> Output:
    """Undo the newest change of the facts of an agent with this scope (default: agent)."""
    answer = api.post("memory", "undo", body=body)
    return Output(answer, answer["undone"])


@memory.command()
@click.option("--agent", help="Only values of this agent.")
@_scope
@page_options
def states(*, api: Api, **query: Any) -> Output:
    """List the values that agents have stored."""
    return _STATES.page(api.get("memory", "states", query=query))


@memory.command()
@click.argument("conversation")
def off(*, api: Api, conversation: str) -> Output:
    """Turn memory off in the channel of a conversation: no fact or value of the channel is stored or used there."""
    found = api.patch("conversations", conversation, body={"remembers": False})
    return Output(found, f"Memory is off in the channel {found['channelId']}. Stored facts stay.")


@memory.command()
@click.argument("conversation")
def on(*, api: Api, conversation: str) -> Output:
    """Turn memory on in the channel of a conversation."""
    found = api.patch("conversations", conversation, body={"remembers": True})
    return Output(found, f"Memory is on in the channel {found['channelId']}.")
