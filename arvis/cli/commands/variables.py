"""`arvis variables`: named values that tools may use. A secret value is never an argument and never shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import Api, connect
from arvis.cli.options import Commands, json_option, page_options, place_options, read_secret, secret_options
from arvis.cli.output import moment, plain, print_json, print_table, tell_more
from arvis.domain.errors import Conflict, NotFound

_COLUMNS = ("key", "value", "secret", "updated")


@click.group(cls=Commands)
def variables() -> None:
    """List, show, create, update and delete values that tools may use."""


@variables.command("list")
@page_options
@json_option
@place_options
def list_variables(*, limit: int, cursor: str | None, as_json: bool, config: Path | None, data: Path | None) -> None:
    """List variables by key. Secret values are shown as dots."""
    page = connect(config, data).get("api", "variables", query={"limit": limit, "cursor": cursor})
    if as_json:
        print_json(page)
        return
    print_table([_row(variable) for variable in page["items"]], _COLUMNS, nothing="No variables.")
    tell_more(page)


@variables.command()
@click.argument("key")
@json_option
@place_options
def show(*, key: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Print the value of a variable. A secret value is shown as dots."""
    variable = connect(config, data).get("api", "variables", key)
    if as_json:
        print_json(variable)
    else:
        print(plain(variable["value"]))


def _value_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(
        (
            click.argument("key"),
            click.argument("value", required=False),
            click.option(
                "--secret/--plain",
                "secret",
                default=None,
                help="Encrypt the value, or store it as plain text (default: plain).",
            ),
            secret_options("value"),
            json_option,
            place_options,
        )
    ):
        command = option(command)
    return command


@variables.command()
@_value_options
def create(**given: Any) -> None:
    """Create a variable. Without VALUE it comes from --value-env, --value-file or standard input, or you are asked."""
    _store(exists=False, **given)


@variables.command()
@_value_options
def update(**given: Any) -> None:
    """Change the value of a variable. Without --secret or --plain it stays encrypted or plain."""
    _store(exists=True, **given)


def _store(
    *,
    exists: bool,
    key: str,
    value: str | None,
    secret: bool | None,
    variable: str | None,
    file: Path | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    if value is not None and (variable is not None or file is not None):
        raise click.UsageError("Give the value in one way only: as VALUE, --value-env or --value-file.")
    if value is not None and secret:
        raise click.UsageError("A secret value cannot be an argument: use --value-env, --value-file or standard input.")
    given = value if value is not None else read_secret("value", variable, file, hidden=secret is not False)
    api = connect(config, data)
    _check_existence(api, key, exists=exists)
    body: dict[str, Any] = {"value": given, **({} if secret is None else {"secret": secret})}
    stored = api.put("api", "variables", key, body=body)
    if as_json:
        print_json(stored)
    else:
        done = "changed" if exists else "created"
        print(f"The variable {key} is {done}{' and encrypted' if stored['secret'] else ''}.")


def _check_existence(api: Api, key: str, *, exists: bool) -> None:
    if exists:
        api.get("api", "variables", key)
        return
    try:
        api.get("api", "variables", key)
    except NotFound:
        return
    raise Conflict(f"The variable {key} exists.", fix=f"Change it with `arvis variables update {key}`.")


@variables.command()
@click.argument("key")
@json_option
@place_options
def delete(*, key: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Delete a variable."""
    answer = connect(config, data).delete("api", "variables", key)
    if as_json:
        print_json(answer)
    else:
        print(f"The variable {key} is deleted.")


def _row(variable: Any) -> dict[str, object]:
    return {
        **variable,
        "secret": "yes" if variable["secret"] else "no",
        "updated": moment(variable["updatedAt"]),
    }
