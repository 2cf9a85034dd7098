"""`arvis credentials`: commands for secrets that the daemon inserts into requests of agents."""

from __future__ import annotations

from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import all_options, given
from arvis.cli.output import Output, Row, Table, at, fields
from arvis.domain.errors import Conflict, NotFound

_CREDENTIALS = Table(
    "name",
    ("hosts", lambda credential: ", ".join(credential["hosts"])),
    "header",
    "variable",
    ("agents", lambda credential: ", ".join(credential["agents"])),
    ("updated", at("updatedAt")),
    nothing="No credentials.",
)


@click.group(cls=ApiCommands)
def credentials() -> None:
    """List, show, create, update and delete secrets that Arvis inserts into requests of agents."""


@credentials.command("list")
def list_credentials(*, api: Api) -> Output:
    """List credentials by name, with their hosts and agents."""
    return _CREDENTIALS.page(api.get("credentials"))


@credentials.command()
@click.argument("name")
def show(*, api: Api, name: str) -> Output:
    """Show a credential. The secret is never shown."""
    credential = api.get("credentials", name)
    return Output(credential, fields(credential, "updatedAt"))


_details = all_options(
    click.argument("name"),
    click.option("--variable", metavar="KEY", help="The secret variable with the value."),
    click.option("--host", "hosts", multiple=True, help="A host, such as api.example.com; may be repeated."),
    click.option("--header", help="The header (default: Authorization)."),
    click.option(
        "--template",
        help="The value of the header, with {value} or {base64} for the secret (default: Bearer {value}).",
    ),
)


@credentials.command()
@_details
def create(*, api: Api, name: str, **details: Any) -> Output:
    """Create a credential. --variable and --host are required.

    Assign it to an agent with `arvis agents update AGENT --credentials NAME`."""
    body = _given(**details)
    if not body.keys() >= {"variable", "hosts"}:
        raise click.UsageError("Give --variable and at least one --host.")
    try:
        api.get("credentials", name)
    except NotFound:
        return _stored(api.put("credentials", name, body=body))
    raise Conflict(f"The credential {name} already exists.", fix=f"Change it with `arvis credentials update {name}`.")


@credentials.command()
@_details
def update(*, api: Api, name: str, **details: Any) -> Output:
    """Change the given fields of a credential. The given hosts replace the present ones."""
    known = api.get("credentials", name)
    present = {field: known[field] for field in ("variable", "hosts", "header", "template")}
    return _stored(api.put("credentials", name, body={**present, **_given(**details)}))


def _given(*, hosts: tuple[str, ...], **details: Any) -> dict[str, Any]:
    return given({"hosts": list(hosts) or None, **details})


def _stored(made: Row) -> Output:
    agents = ", ".join(made["agents"]) or "none yet"
    return Output(made, f"Requests to {', '.join(made['hosts'])} carry {made['header']}. Agents: {agents}.")


@credentials.command()
@click.argument("name")
def delete(*, api: Api, name: str) -> Output:
    """Delete a credential. The variable stays."""
    return Output(api.delete("credentials", name), f"The credential {name} is deleted.")
