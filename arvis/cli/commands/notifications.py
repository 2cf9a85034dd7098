"""`arvis notifications`: commands that show problems and results for owners, and dismiss them."""

from __future__ import annotations

from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import page_options
from arvis.cli.output import Output, Table, at

_NOTIFICATIONS = Table(
    "id",
    "severity",
    "state",
    ("since", at("firstAt")),
    ("last", at("lastAt")),
    "count",
    "text",
    nothing="No open notifications.",
)


@click.group(cls=ApiCommands)
def notifications() -> None:
    """List the problems and results that owners should know, and dismiss them."""


@notifications.command("list")
@click.option("--all", "everything", is_flag=True, help="Include ended notifications.")
@page_options
def list_notifications(*, api: Api, everything: bool, **query: Any) -> Output:
    """List open notifications, the newest first."""
    state = {} if everything else {"state": "open"}
    return _NOTIFICATIONS.page(api.get("notifications", query={**state, **query}))


@notifications.command()
@click.argument("notification_id", metavar="ID")
def dismiss(*, api: Api, notification_id: str) -> Output:
    """Dismiss a notification. While its cause persists, it stays dismissed."""
    dismissed = api.post("notifications", notification_id, "dismiss")
    return Output(dismissed, f"The notification {notification_id} is dismissed.")
