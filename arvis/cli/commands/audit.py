"""`arvis audit`: what models wanted to change, and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.options import json_option, page_options, place_options
from arvis.cli.output import moment, print_json, print_table, tell_more
from arvis.domain.effects import EffectKind, Outcome

_COLUMNS = ("at", "agent", "kind", "subject", "outcome", "reason", "sources", "message")


@click.command()
@click.option("--agent", help="Only requests of this agent.")
@click.option("--kind", type=click.Choice([*map(str, EffectKind)]))
@click.option("--outcome", type=click.Choice([*map(str, Outcome)]))
@page_options
@json_option
@place_options
def audit(
    *,
    agent: str | None,
    kind: str | None,
    outcome: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """List what models wanted to change by their answers, and what became of it, the newest first."""
    query = {"agent": agent, "kind": kind, "outcome": outcome, "limit": limit, "cursor": cursor}
    page = connect(config, data).get("api", "audit", query=query)
    if as_json:
        print_json(page)
        return
    print_table([_row(entry) for entry in page["items"]], _COLUMNS, nothing="No model wanted to change anything.")
    tell_more(page)


def _row(entry: Any) -> dict[str, object]:
    """A schedule without a name is listed under its agent."""
    return {
        **entry,
        "at": moment(entry["at"]),
        "subject": entry["subject"] or entry["fields"].get("agent"),
        "sources": ", ".join(entry["taint"]),
        "message": entry["messageId"],
    }
