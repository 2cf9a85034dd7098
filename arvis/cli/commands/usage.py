"""`arvis usage`: what models were used for, and what that cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.options import json_option, place_options
from arvis.cli.output import moment, print_json, print_table, tell

_COLUMNS = ("name", "calls", "errors", "in", "cached", "out", "cost")
_BY = ("day", "agent", "model", "account", "client", "principal")


@click.command()
@click.option("--by", type=click.Choice(_BY), default="day", show_default=True, help="Group the usage by this.")
@click.option("--since", metavar="DAY", help="From this day on, such as 2026-11-01 (default: 30 days).")
@click.option("--until", metavar="DAY", help="Before this day (default: now).")
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
    rows = [_row(group["name"], group) for group in report["groups"]]
    if rows:
        rows.append(_row("total", report["total"]))
    print_table(rows, _COLUMNS, nothing="No model was called.")
    tell(f"From {moment(report['since'])} to {moment(report['until'])}.")
    if report["total"]["unpriced"]:
        tell(f"{report['total']['unpriced']} calls had no known price; name it under `model_prices` in config.yaml.")


def _row(name: str, sums: Any) -> dict[str, object]:
    return {
        "name": name or None,
        "calls": sums["calls"],
        "errors": sums["errors"],
        "in": sums["inputTokens"],
        "cached": sums["cachedTokens"],
        "out": sums["outputTokens"],
        "cost": f"${sums['costUsd']:.4f}",
    }
