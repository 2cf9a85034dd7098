"""`arvis status`, `arvis usage` and `arvis audit`: reports of the daemon about work, costs and changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.options import json_option, page_options, place_options
from arvis.cli.output import moment, print_json, print_table, tell, tell_more
from arvis.domain.effects import EffectKind, Outcome

_STATUS_COLUMNS = ("agent", "status", "what", "where", "since", "process", "says")


@click.command()
@json_option
@place_options
def status(*, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show what each agent does now: the longest running first, idle agents last."""
    found = connect(config, data).get("api", "activity")
    if as_json:
        print_json(found)
        return
    rows = [
        {
            **each,
            "what": each["type"],
            "where": f"{each['platform']}:{each['channelId']}" if each["platform"] else None,
            "since": moment(each["startedAt"] or each["lastActiveAt"]),
            "says": each["statusNote"],
        }
        for each in found["items"]
    ]
    print_table(rows, _STATUS_COLUMNS, nothing="No agents.")


_USAGE_COLUMNS = ("name", "calls", "errors", "in", "cached", "out", "cost")
_BY = ("day", "agent", "model", "account", "client", "principal")


@click.command()
@click.option("--by", type=click.Choice(_BY), default="day", show_default=True, help="The groups of the report.")
@click.option("--since", metavar="DAY", help="The first day, such as 2026-11-01 (default: 30 days ago).")
@click.option("--until", metavar="DAY", help="The day after the last one (default: now).")
@json_option
@place_options
def usage(
    *, by: str, since: str | None, until: str | None, as_json: bool, config: Path | None, data: Path | None
) -> None:
    """Show calls, tokens and costs of models."""
    report = connect(config, data).get("api", "usage", query={"by": by, "since": since, "until": until})
    if as_json:
        print_json(report)
        return
    rows = [_usage_row(group["name"], group) for group in report["groups"]]
    if rows:
        rows.append(_usage_row("total", report["total"]))
    print_table(rows, _USAGE_COLUMNS, nothing="No model calls in this period.")
    tell(f"Period: {moment(report['since'])} to {moment(report['until'])}.")
    if report["total"]["unpriced"]:
        tell(
            f"{report['total']['unpriced']} calls have no known price. Set the price of their model under "
            "`model_prices` in config.yaml."
        )


def _usage_row(name: str, sums: Any) -> dict[str, object]:
    return {
        "name": name or None,
        "calls": sums["calls"],
        "errors": sums["errors"],
        "in": sums["inputTokens"],
        "cached": sums["cachedTokens"],
        "out": sums["outputTokens"],
        "cost": f"${sums['costUsd']:.4f}",
    }


_AUDIT_COLUMNS = ("at", "agent", "kind", "subject", "outcome", "reason", "sources", "message")


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
    """List the changes that agents requested, with their outcomes, newest first."""
    query = {"agent": agent, "kind": kind, "outcome": outcome, "limit": limit, "cursor": cursor}
    page = connect(config, data).get("api", "audit", query=query)
    if as_json:
        print_json(page)
        return
    print_table([_audit_row(entry) for entry in page["items"]], _AUDIT_COLUMNS, nothing="No requested changes.")
    tell_more(page)


def _audit_row(entry: Any) -> dict[str, object]:
    """Return the row of an entry. If the subject has no name, such as a schedule, the row shows its agent."""
    return {
        **entry,
        "at": moment(entry["at"]),
        "subject": entry["subject"] or entry["fields"].get("agent"),
        "sources": ", ".join(entry["taint"]),
        "message": entry["messageId"],
    }
