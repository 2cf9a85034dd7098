"""`arvis status`: the current work of each agent."""

from __future__ import annotations

from pathlib import Path

import click

from arvis.cli.api_client import connect
from arvis.cli.options import json_option, place_options
from arvis.cli.output import moment, print_json, print_table

_COLUMNS = ("agent", "status", "what", "where", "since", "process", "says")


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
    print_table(rows, _COLUMNS, nothing="No agents.")
