"""`arvis webhooks`: addresses that other programs call to send messages to agents or to start workflows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.options import (
    Commands,
    all_options,
    as_graph,
    channel_of,
    json_option,
    page_options,
    place_options,
    read_secret,
    secret_options,
    workflow_option,
)
from arvis.cli.output import moment, print_fields, print_json, print_table, tell, tell_more
from arvis.domain.webhooks import Preset

_COLUMNS = ("id", "name", "url", "agent", "preset", "to", "calls", "last", "secret")
_TIMES = ("lastTriggered", "createdAt", "updatedAt")

#: The options for creating and changing a web hook.
_details = all_options(
    click.option("--name", help="Its name (default: its path)."),
    click.option(
        "--preset", type=click.Choice([*map(str, Preset)]), help="The signature scheme of the caller (default: plain)."
    ),
    click.option("--connector", help="The bot that posts the answers."),
    click.option("--thread", help="The thread in which the answers are posted."),
    workflow_option('The slug or id of a workflow that runs instead of the agent; "": the agent.'),
)


@click.group(cls=Commands)
def webhooks() -> None:
    """List, show, create, update and delete addresses that other programs call."""


@webhooks.command("list")
@click.option("--agent", help="Only web hooks of this agent.")
@page_options
@json_option
@place_options
def list_webhooks(
    *, agent: str | None, limit: int, cursor: str | None, as_json: bool, config: Path | None, data: Path | None
) -> None:
    """List web hooks, newest first. Only the last four characters of a secret are shown."""
    page = connect(config, data).get("api", "webhooks", query={"agent": agent, "limit": limit, "cursor": cursor})
    if as_json:
        print_json(page)
        return
    print_table([_row(webhook) for webhook in page["items"]], _COLUMNS, nothing="No web hooks.")
    tell_more(page)


@webhooks.command()
@click.argument("webhook_id")
@json_option
@place_options
def show(*, webhook_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show a web hook."""
    webhook = connect(config, data).get("api", "webhooks", webhook_id)
    if as_json:
        print_json(webhook)
    else:
        print_fields({**webhook, **{name: moment(webhook[name]) for name in _TIMES}})


@webhooks.command()
@click.argument("path")
@click.argument("agent")
@click.argument("template")
@click.option("--to", "place", required=True, metavar="PLATFORM:CHANNEL", help="The channel for the answers.")
@_details
@secret_options("secret")
@json_option
@place_options
def create(
    *,
    path: str,
    agent: str,
    template: str,
    place: str,
    variable: str | None,
    file: Path | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
    **details: Any,
) -> None:
    """Create a web hook at /hooks/PATH. TEMPLATE is the message to AGENT: `Look at {{payload.commits.0.message}}`.

    Its secret is generated and shown once; use --secret-env or --secret-file to set your own secret.
    """
    body = {"path": path, "agent": agent, "template": template, **channel_of(place), **_given(details)}
    if variable is not None or file is not None:
        body["secret"] = read_secret("secret", variable, file)
    made = connect(config, data).post("api", "webhooks", body=body)
    _tell(made, "is created", as_json=as_json, new_secret="secret" not in body)


@webhooks.command()
@click.argument("webhook_id")
@click.option("--path", help="Its path below /hooks/.")
@click.option("--agent", help="The agent that gets the calls.")
@click.option("--template", help="The message to the agent.")
@click.option("--to", "place", metavar="PLATFORM:CHANNEL", help="The channel for the answers.")
@click.option("--on/--off", "enabled", default=None, help="Enable or disable it.")
@_details
@secret_options("secret")
@json_option
@place_options
def update(
    *,
    webhook_id: str,
    place: str | None,
    variable: str | None,
    file: Path | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
    **details: Any,
) -> None:
    """Change the given options. From then on the web hook acts with the rights of the person who changed it."""
    body = {**_given(details), **(channel_of(place) if place is not None else {})}
    if variable is not None or file is not None:
        body["secret"] = read_secret("secret", variable, file)
    if not body:
        raise click.UsageError("Nothing to change. Give at least one option, such as --template.")
    changed = connect(config, data).patch("api", "webhooks", webhook_id, body=body)
    _tell(changed, "is changed", as_json=as_json, new_secret=False)


@webhooks.command()
@click.argument("webhook_id")
@json_option
@place_options
def delete(*, webhook_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Delete a web hook. Work that it has started continues."""
    answer = connect(config, data).delete("api", "webhooks", webhook_id)
    if as_json:
        print_json(answer)
    else:
        print(f"The web hook {webhook_id} is deleted.")


@webhooks.command()
@click.argument("webhook_id")
@json_option
@place_options
def rotate(*, webhook_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Replace the secret of a web hook. The new secret is shown once; the old one is no longer valid."""
    webhook = connect(config, data).post("api", "webhooks", webhook_id, "rotate")
    _tell(webhook, "has a new secret", as_json=as_json, new_secret=True)


def _given(details: dict[str, Any]) -> dict[str, Any]:
    return as_graph({name: value for name, value in details.items() if value is not None})


def _tell(webhook: Any, what: str, *, as_json: bool, new_secret: bool) -> None:
    if as_json:
        print_json(webhook)
        return
    print(f"The web hook {webhook['name']} {what}: {webhook['id']}")
    print(f"  called at  {webhook['url']}")
    if new_secret:
        print(f"  secret     {webhook['secret']}")
        tell("The secret is not shown again.")


def _row(webhook: Any) -> dict[str, object]:
    return {
        **webhook,
        "to": f"{webhook['platform']}:{webhook['channelId']}",
        "calls": webhook["triggerCount"],
        "last": moment(webhook["lastTriggered"]) if webhook["enabled"] else "off",
    }
