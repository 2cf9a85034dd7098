"""`arvis variables`: what tools may ask for by name. A secret value is never an argument, and never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.options import Commands, json_option, page_options, place_options
from arvis.cli.output import moment, plain, print_json, print_table, tell_more
from arvis.cli.secret_input import read_secret, secret_options

_COLUMNS = ("key", "value", "secret", "updated")


@click.group(cls=Commands)
def variables() -> None:
    """List, show, set and remove what tools may ask for."""


@variables.command("list")
@page_options
@json_option
@place_options
def list_variables(*, limit: int, cursor: str | None, as_json: bool, config: Path | None, data: Path | None) -> None:
    """List variables by key; dots stand for secret values."""
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
def get(*, key: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Print the value of a variable; dots if it is secret."""
    variable = connect(config, data).get("api", "variables", key)
    if as_json:
        print_json(variable)
    else:
        print(plain(variable["value"]))


@variables.command("set")
@click.argument("key")
@click.argument("value", required=False)
@click.option("--secret/--plain", "secret", default=None, help="Whether it is secret (default: as it was, else plain).")
@secret_options("value")
@json_option
@place_options
def set_variable(
    *,
    key: str,
    value: str | None,
    secret: bool | None,
    variable: str | None,
    file: Path | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Set a variable. Without VALUE it comes from --value-env, --value-file, standard input, or is asked for."""
    if value is not None and (variable is not None or file is not None):
        raise click.UsageError("Give the value once.")
    if value is not None and secret:
        raise click.UsageError("A secret value is no argument: use --value-env, --value-file or standard input.")
    given = value if value is not None else read_secret("value", variable, file, hidden=secret is not False)
    body: dict[str, Any] = {"value": given, **({} if secret is None else {"secret": secret})}
    stored = connect(config, data).put("api", "variables", key, body=body)
    if as_json:
        print_json(stored)
    else:
        print(f"The variable {key} is set{', and sealed' if stored['secret'] else ''}.")


@variables.command()
@click.argument("key")
@json_option
@place_options
def remove(*, key: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Remove a variable."""
    answer = connect(config, data).delete("api", "variables", key)
    if as_json:
        print_json(answer)
    else:
        print(f"The variable {key} is removed.")


def _row(variable: Any) -> dict[str, object]:
    return {
        **variable,
        "secret": "yes" if variable["secret"] else "no",
        "updated": moment(variable["updatedAt"]),
    }
