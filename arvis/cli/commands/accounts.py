"""`arvis accounts`: list, create, update, test and delete the accounts for models. A key is never an argument."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import CLEARED, all_options, changes, given, given_secret, read_secret, secret_options
from arvis.cli.output import Output, Row, Table, error_text, moment, yes_or_no
from arvis.domain.accounts import AccountStatus
from arvis.domain.errors import ArvisError
from arvis.domain.runs import APIS

#: The providers that usually need no key.
_WITHOUT_KEY = frozenset({"demo", "ollama"})

#: The timeout of a test in seconds. The daemon's own time limit is shorter.
_TIMEOUT = 40.0


def _health(account: Row) -> str:
    return account["problem"] or "; ".join(_refusals(each) for each in account["health"])


def _refusals(model: Row) -> str:
    until = f", in cooldown until {moment(model['cooldownUntil'])}" if model["cooldownUntil"] else ""
    return f"{model['model']}: {model['kind']} ×{model['refusals']}{until}"


_ACCOUNTS = Table(
    "name",
    "provider",
    "model",
    "priority",
    "status",
    "source",
    ("key", lambda account: yes_or_no(account["hasKey"])),
    ("health", _health),
    nothing="No accounts. Agents use the built-in demo model.",
)

#: The options for creating and changing an account.
_details = all_options(
    click.option("--model", help="The model to use (default for a new account: the provider's default model)."),
    click.option(
        "--serves", "models", multiple=True, metavar="MODEL", help="A model that the account serves; may be repeated."
    ),
    click.option(
        "--base-url",
        "baseUrl",
        metavar="URL",
        help="The address of the server, if it is not the vendor's. A new address requires the key again.",
    ),
    click.option(
        "--priority",
        type=click.IntRange(0, 10_000),
        help="The priority; the account with the lowest number is used first. A new account has 100.",
    ),
    click.option(
        "--api",
        "wire",
        type=click.Choice([*APIS, "default"]),
        help="For openai and custom: the API that calls use (default: the API that the model needs).",
    ),
    secret_options("key"),
)


@click.group(cls=ApiCommands)
def accounts() -> None:
    """List, create, update, test and delete the accounts for models."""


@accounts.command("list")
def list_accounts(*, api: Api) -> Output:
    """List accounts, those of the configuration first."""
    return _ACCOUNTS.page(api.get("accounts"))


@accounts.command()
@click.argument("name")
@click.option("--provider", required=True, help="openai, openrouter, google, ollama, custom, …")
@_details
@click.option("--no-key", is_flag=True, help="The server needs no key.")
def create(*, api: Api, variable: str | None, file: Path | None, no_key: bool, **details: Any) -> Output:
    """Create an account. Its key comes from --key-env, --key-file or standard input.

    On a terminal, the command asks for the key.
    """
    asks = not (no_key or details["provider"] in _WITHOUT_KEY)
    key = read_secret("key", variable, file) if asks else given_secret("key", variable, file)
    added = api.post("accounts", body=given({**_fields(**details), "apiKey": key or None}))
    return Output(added, f"The account {added['name']} is created. Test it with `arvis accounts test {added['name']}`.")


@accounts.command()
@click.argument("name")
@_details
@click.option(
    "--enable/--disable",
    "status",
    default=None,
    callback=lambda _context, _option, on: {True: AccountStatus.ACTIVE, False: AccountStatus.DISABLED}.get(on),
    help="Enable or disable the account.",
)
def update(*, api: Api, name: str, variable: str | None, file: Path | None, **details: Any) -> Output:
    """Change an account that is not in the configuration. A new key comes from --key-env or --key-file."""
    body = changes({**_fields(**details), "apiKey": given_secret("key", variable, file)}, "--model")
    return Output(api.patch("accounts", name, body=body), f"The account {name} is changed.")


@accounts.command()
@click.argument("name")
def test(*, api: Api, name: str) -> Output:
    """Test an account: ask its model for one word."""
    trial = api.post("accounts", name, "test", timeout=_TIMEOUT)
    if trial["ok"]:
        took = f"{trial['durationMs'] / 1000:.1f} s"
        return Output(trial, f"The account {name} works: {trial['model']} answered in {took}.")
    error = ArvisError(f"The account {name} does not answer", why=trial["error"], fix=trial["fix"] or "")
    return Output(trial, notes=[error_text(error)], failed=True)


@accounts.command()
@click.argument("name")
def delete(*, api: Api, name: str) -> Output:
    """Delete an account that is not in the configuration, and its key."""
    return Output(api.delete("accounts", name), f"The account {name} is deleted.")


def _fields(*, wire: str | None, **details: Any) -> dict[str, Any]:
    return {**details, "api": CLEARED if wire == "default" else wire}
