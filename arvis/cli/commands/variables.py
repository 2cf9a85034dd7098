"""`arvis variables`: commands for named values that tools may use. A secret value is never an argument, and no command
shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import all_options, given, page_options, read_secret, secret_options
from arvis.cli.output import Output, Table, at, yes_or_no
from arvis.domain.errors import Conflict, NotFound

_VARIABLES = Table(
    "key",
    "value",
    ("secret", lambda variable: yes_or_no(variable["secret"])),
    ("updated", at("updatedAt")),
    nothing="No variables.",
)


@click.group(cls=ApiCommands)
def variables() -> None:
    """List, show, create, update and delete values that tools may use."""


@variables.command("list")
@page_options
def list_variables(*, api: Api, **query: Any) -> Output:
    """List variables by key. Secret values are shown as dots."""
    return _VARIABLES.page(api.get("variables", query=query))


@variables.command()
@click.argument("key")
def show(*, api: Api, key: str) -> Output:
    """Print the value of a variable. A secret value is shown as dots."""
    variable = api.get("variables", key)
    return Output(variable, variable["value"])


_value_options = all_options(
    click.argument("key"),
    click.argument("value", required=False),
    click.option(
        "--secret/--plain",
        "secret",
        default=None,
        help="Encrypt the value, or store it as plain text (default: plain).",
    ),
    secret_options("value"),
)


@variables.command()
@_value_options
def create(*, api: Api, key: str, **value: Any) -> Output:
    """Create a variable. Without VALUE, the value comes from --value-env, --value-file or standard input.

    On a terminal, the command asks for the value.
    """
    body = _body(**value)
    try:
        api.get("variables", key)
    except NotFound:
        return _stored(api.put("variables", key, body=body), "created")
    raise Conflict(f"The variable {key} exists.", fix=f"Change it with `arvis variables update {key}`.")


@variables.command()
@_value_options
def update(*, api: Api, key: str, **value: Any) -> Output:
    """Change the value of a variable. Without --secret or --plain, a secret variable stays secret and a plain one stays
    plain."""
    body = _body(**value)
    api.get("variables", key)
    return _stored(api.put("variables", key, body=body), "changed")


@variables.command()
@click.argument("key")
def delete(*, api: Api, key: str) -> Output:
    """Delete a variable."""
    return Output(api.delete("variables", key), f"The variable {key} is deleted.")


def _body(*, value: str | None, secret: bool | None, variable: str | None, file: Path | None) -> dict[str, Any]:
    if value is not None and (variable is not None or file is not None):
        raise click.UsageError("Give the value in one way only: as VALUE, --value-env or --value-file.")
    if value is not None and secret:
        raise click.UsageError("A secret value cannot be an argument: use --value-env, --value-file or standard input.")
    if value is None:
        value = read_secret("value", variable, file, hidden=secret is not False)
    return given({"value": value, "secret": secret})


def _stored(variable: Any, done: str) -> Output:
    return Output(
        variable, f"The variable {variable['key']} is {done}{' and encrypted' if variable['secret'] else ''}."
    )
