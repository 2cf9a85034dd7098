"""`arvis login`: a one-time link to the dashboard. Every user who can read the data folder may create one."""

from __future__ import annotations

from pathlib import Path

import click

from arvis.cli.api_client import connect
from arvis.cli.options import json_option, place_options
from arvis.cli.output import print_json


@click.command()
@click.option("--user", metavar="ID", help="The user whom the link logs in (default: owner, the first user).")
@json_option
@place_options
def login(*, user: str | None, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Print a link that logs in to the dashboard once and expires after ten minutes."""
    api = connect(config, data)
    code = api.post("api", "auth", "codes") if user is None else api.post("api", "users", user, "link")
    if as_json:
        print_json(code)
    else:
        print(code["url"])
