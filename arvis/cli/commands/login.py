"""`arvis login`: creates a one-time link to the dashboard. Every user of the machine who can read the data folder may
create a link."""

from __future__ import annotations

import click

from arvis.cli.api_client import Api, ApiCommand
from arvis.cli.output import Output


@click.command(cls=ApiCommand)
@click.option("--user", metavar="ID", help="The user whom the link logs in (default: owner, the first user).")
def login(*, api: Api, user: str | None) -> Output:
    """Print a link that logs in to the dashboard once and expires after ten minutes."""
    code = api.post("auth", "codes") if user is None else api.post("users", user, "link")
    return Output(code, code["url"])
