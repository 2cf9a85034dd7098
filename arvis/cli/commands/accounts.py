"""`arvis accounts`: list, create, update, test and delete the accounts for models. A key is never an argument."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.options import Commands, json_option, place_options, read_secret, secret_options
from arvis.cli.output import FAILED, moment, print_json, print_table, report
from arvis.domain.accounts import AccountStatus
from arvis.domain.errors import ArvisError

_COLUMNS = ("name", "provider", "model", "priority", "status", "source", "key", "health")

#: The providers that usually need no key.
_WITHOUT_KEY = frozenset({"demo", "ollama"})

#: The timeout of a test in seconds. The daemon's own time limit is shorter.
_TIMEOUT = 40.0


@click.group(cls=Commands)
def accounts() -> None:
    """List, create, update, test and delete the accounts for models."""


@accounts.command("list")
@json_option
@place_options
def list_accounts(*, as_json: bool, config: Path | None, data: Path | None) -> None:
    """List accounts: first the accounts of the configuration, then all others."""
    page = connect(config, data).get("api", "accounts")
    if as_json:
        print_json(page)
        return
    print_table(
        [_row(account) for account in page["items"]],
        _COLUMNS,
        nothing="No accounts. Agents use the built-in demo model.",
    )


@accounts.command()
@click.argument("name")
@click.option("--provider", required=True, help="openai, openrouter, google, ollama, custom, …")
@click.option("--model", help="The model to use (default: the provider's default model).")
@click.option(
    "--serves", "models", multiple=True, metavar="MODEL", help="A model that the account serves; may be repeated."
)
@click.option("--base-url", metavar="URL", help="The address of the server, if it is not the vendor's.")
@click.option(
    "--priority",
    type=click.IntRange(0, 10_000),
    help="The priority; the account with the lowest number is used first (default: 100).",
)
@secret_options("key")
@click.option("--no-key", is_flag=True, help="The server needs no key.")
@json_option
@place_options
def create(
    *,
    name: str,
    provider: str,
    model: str | None,
    models: tuple[str, ...],
    base_url: str | None,
    priority: int | None,
    variable: str | None,
    file: Path | None,
    no_key: bool,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Create an account. Its key comes from --key-env, --key-file or standard input, or you are asked."""
    named = variable is not None or file is not None
    asks = named or not (no_key or provider in _WITHOUT_KEY)
    given = {
        "name": name,
        "provider": provider,
        "model": model,
        "models": list(models) or None,
        "baseUrl": base_url,
        "priority": priority,
        "apiKey": (read_secret("key", variable, file) or None) if asks else None,
    }
    body = {field: value for field, value in given.items() if value is not None}
    added = connect(config, data).post("api", "accounts", body=body)
    if as_json:
        print_json(added)
    else:
        print(f"The account {added['name']} is created. Test it with `arvis accounts test {added['name']}`.")


@accounts.command()
@click.argument("name")
@click.option("--model", help="The model to use.")
@click.option(
    "--serves", "models", multiple=True, metavar="MODEL", help="A model that the account serves; may be repeated."
)
@click.option("--base-url", metavar="URL", help="The address of the server. A new address requires the key again.")
@click.option(
    "--priority", type=click.IntRange(0, 10_000), help="The priority; the account with the lowest number is used first."
)
@click.option("--enable/--disable", "enabled", default=None, help="Enable or disable the account.")
@secret_options("key")
@json_option
@place_options
def update(
    *,
    name: str,
    model: str | None,
    models: tuple[str, ...],
    base_url: str | None,
    priority: int | None,
    enabled: bool | None,
    variable: str | None,
    file: Path | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Change an account that is not in the configuration. A new key comes from --key-env or --key-file."""
    named = variable is not None or file is not None
    given = {
        "model": model,
        "models": list(models) or None,
        "baseUrl": base_url,
        "priority": priority,
        "status": None if enabled is None else (AccountStatus.ACTIVE if enabled else AccountStatus.DISABLED),
        "apiKey": read_secret("key", variable, file) if named else None,
    }
    body = {field: value for field, value in given.items() if value is not None}
    if not body:
        raise click.UsageError("Nothing to change: pass at least one option.")
    changed = connect(config, data).patch("api", "accounts", name, body=body)
    if as_json:
        print_json(changed)
    else:
        print(f"The account {name} is changed.")


@accounts.command()
@click.argument("name")
@json_option
@place_options
def test(*, name: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Test an account with a request for one word."""
    trial = connect(config, data).post("api", "accounts", name, "test", timeout=_TIMEOUT)
    if as_json:
        print_json(trial)
    elif trial["ok"]:
        print(f"The account {name} works: {trial['model']} answered in {trial['durationMs'] / 1000:.1f} s.")
    else:
        report(ArvisError(f"The account {name} does not answer", why=trial["error"], fix=trial["fix"] or ""))
    if not trial["ok"]:
        sys.exit(FAILED)


@accounts.command()
@click.argument("name")
@json_option
@place_options
def delete(*, name: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Delete an account that is not in the configuration, with its key."""
    answer = connect(config, data).delete("api", "accounts", name)
    if as_json:
        print_json(answer)
    else:
        print(f"The account {name} is deleted.")


def _row(account: Any) -> dict[str, object]:
    return {
        **account,
        "key": "yes" if account["hasKey"] else "no",
        "health": account["problem"] or ("; ".join(_rest(rest) for rest in account["health"]) or None),
    }


def _rest(rest: Any) -> str:
    until = f", in cooldown until {moment(rest['cooldownUntil'])}" if rest["cooldownUntil"] else ""
    return f"{rest['model']}: {rest['kind']} ×{rest['refusals']}{until}"
