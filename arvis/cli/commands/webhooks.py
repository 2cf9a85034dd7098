"""`arvis webhooks`: commands for the addresses that other programs call to send messages to agents or to start
workflows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import (
    all_options,
    changes,
    choice,
    given,
    given_secret,
    on_option,
    page_options,
    secret_options,
    to_option,
    with_graph,
    workflow_option,
)
from arvis.cli.output import Output, Table, channel, fields, moment
from arvis.domain.webhooks import Preset

_WEBHOOKS = Table(
    "id",
    "name",
    "url",
    "agent",
    "preset",
    ("to", channel),
    ("calls", "triggerCount"),
    ("last", lambda webhook: moment(webhook["lastTriggered"]) if webhook["enabled"] else "off"),
    "secret",
    nothing="No webhooks.",
)

#: The options for creating and changing a webhook.
_details = all_options(
    click.option("--name", help="Its name (default: its path)."),
    click.option("--preset", type=choice(Preset), help="The signature scheme of the caller (default: plain)."),
    click.option("--connector", help="The bot that posts the answers."),
    click.option("--thread", help="The thread in which the answers are posted."),
    workflow_option('The slug or id of a workflow that runs instead of the agent; "": the agent.'),
    secret_options("secret"),
)


@click.group(cls=ApiCommands)
def webhooks() -> None:
    """List, show, create, update and delete addresses that other programs call."""


@webhooks.command("list")
@click.option("--agent", help="Only webhooks of this agent.")
@page_options
def list_webhooks(*, api: Api, **query: Any) -> Output:
    """List webhooks, newest first. Only the last four characters of a secret are shown."""
    return _WEBHOOKS.page(api.get("webhooks", query=query))


@webhooks.command()
@click.argument("webhook_id")
def show(*, api: Api, webhook_id: str) -> Output:
    """Show a webhook."""
    webhook = api.get("webhooks", webhook_id)
    return Output(webhook, fields(webhook, "lastTriggered", "createdAt", "updatedAt"))


@webhooks.command()
@click.argument("path")
@click.argument("agent")
@click.argument("template")
@to_option(required=True)
@_details
def create(*, api: Api, **details: Any) -> Output:
    """Create a webhook at /hooks/PATH. TEMPLATE is the message to AGENT: `Look at {{payload.commits.0.message}}`.

    The secret is generated and shown once. Use --secret-env or --secret-file to set your own secret.
    """
    body = given(_fields(**details))
    return _changed(api.post("webhooks", body=body), "is created", new_secret="secret" not in body)


@webhooks.command()
@click.argument("webhook_id")
@click.option("--path", help="Its path below /hooks/.")
@click.option("--agent", help="The agent that gets the calls.")
@click.option("--template", help="The message to the agent.")
@to_option()
@on_option("Enable or disable it.")
@_details
def update(*, api: Api, webhook_id: str, **details: Any) -> Output:
    """Change the given options. From then on the webhook acts with the rights of the person who changed it."""
    body = changes(_fields(**details), "--template")
    return _changed(api.patch("webhooks", webhook_id, body=body), "is changed", new_secret=False)


@webhooks.command()
@click.argument("webhook_id")
def delete(*, api: Api, webhook_id: str) -> Output:
    """Delete a webhook. Work that it has started continues."""
    return Output(api.delete("webhooks", webhook_id), f"The webhook {webhook_id} is deleted.")


@webhooks.command()
@click.argument("webhook_id")
def rotate(*, api: Api, webhook_id: str) -> Output:
    """Replace the secret of a webhook. The new secret is shown once; the old one is no longer valid."""
    return _changed(api.post("webhooks", webhook_id, "rotate"), "has a new secret", new_secret=True)


def _fields(*, place: dict[str, str] | None, variable: str | None, file: Path | None, **details: Any) -> dict[str, Any]:
    return {**with_graph(details), **(place or {}), "secret": given_secret("secret", variable, file)}


def _changed(webhook: Any, words: str, *, new_secret: bool) -> Output:
    lines = [f"The webhook {webhook['name']} {words}: {webhook['id']}", f"  called at  {webhook['url']}"]
    if new_secret:
        lines.append(f"  secret     {webhook['secret']}")
    return Output(webhook, "\n".join(lines), notes=["The secret is not shown again."] if new_secret else [])
