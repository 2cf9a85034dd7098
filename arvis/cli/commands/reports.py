"""`arvis status`, `arvis usage` and `arvis audit`: print the daemon's reports about work, costs and changes."""

from __future__ import annotations

from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommand
from arvis.cli.options import choice, page_options
from arvis.cli.output import Output, Table, at, channel, moment
from arvis.domain.effects import AccessKind, EffectKind, Outcome

_STATUS = Table(
    "agent",
    "status",
    ("what", "type"),
    ("where", channel),
    ("since", lambda work: moment(work["startedAt"] or work["lastActiveAt"])),
    "process",
    ("says", "statusNote"),
    nothing="No agents.",
)


@click.command(cls=ApiCommand)
def status(*, api: Api) -> Output:
    """Show the current work of each agent. The longest work comes first; idle agents come last."""
    return _STATUS.page(api.get("activity"))


_USAGE = Table(
    "name",
    "calls",
    "errors",
    ("in", "inputTokens"),
    ("cached", "cachedTokens"),
    ("out", "outputTokens"),
    ("cost", lambda sums: f"${sums['costUsd']:.4f}"),
    nothing="No model calls in this period.",
)
_BY = ("day", "agent", "model", "account", "client", "principal")


@click.command(cls=ApiCommand)
@click.option("--by", type=click.Choice(_BY), default="day", show_default=True, help="The groups of the report.")
@click.option("--since", metavar="DAY", help="The first day, such as 2026-11-01 (default: 30 days ago).")
@click.option("--until", metavar="DAY", help="The day after the last day of the report (default: now).")
def usage(*, api: Api, **query: Any) -> Output:
    """Show calls, tokens and costs of models."""
    report = api.get("usage", query=query)
    total = report["total"]
    rows = [*report["groups"], {**total, "name": "total"}] if report["groups"] else []
    notes = [f"Period: {moment(report['since'])} to {moment(report['until'])}."]
    if total["unpriced"]:
        notes.append(
            f"{total['unpriced']} calls have no known price. Set the price of their model under `model_prices` in "
            "config.yaml."
        )
    return Output(report, _USAGE.text(rows), notes=notes)


#: If an entry has no subject (such as an entry about a schedule), the table shows the agent instead.
_AUDIT = Table(
    ("at", at("at")),
    "agent",
    "kind",
    ("subject", lambda entry: entry["subject"] or entry["fields"].get("agent")),
    "outcome",
    "reason",
    ("sources", lambda entry: ", ".join(entry["taint"])),
    ("message", "messageId"),
    nothing="No requested changes.",
)


@click.command(cls=ApiCommand)
@click.option("--agent", help="Only requests of this agent.")
@click.option(
    "--kind", type=click.Choice([*map(str, EffectKind), *map(str, AccessKind)]), help="Only entries of this kind."
)
@click.option("--outcome", type=choice(Outcome))
@page_options
def audit(*, api: Api, **query: Any) -> Output:
    """List failed logins, exports, and the changes that agents requested with their outcomes, newest first."""
    return _AUDIT.page(api.get("audit", query=query))
