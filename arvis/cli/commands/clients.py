"""`arvis clients`: customers with their charges and payments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.options import Commands, json_option, page_options, place_options
from arvis.cli.output import moment, print_fields, print_json, print_table, tell_more
from arvis.domain.money import ClientPlan

_COLUMNS = ("id", "name", "plan", "status", "balance")
_LINES = ("created", "type", "status", "amount", "description")
_TIMES = ("createdAt", "updatedAt")


@click.group(cls=Commands)
def clients() -> None:
    """List, show and create customers; enter charges and payments."""


@clients.command("list")
@page_options
@json_option
@place_options
def list_clients(*, limit: int, cursor: str | None, as_json: bool, config: Path | None, data: Path | None) -> None:
    """List customers, newest first."""
    page = connect(config, data).get("api", "clients", query={"limit": limit, "cursor": cursor})
    if as_json:
        print_json(page)
        return
    rows = [{**client, "balance": _dollars(client["balanceUsd"])} for client in page["items"]]
    print_table(rows, _COLUMNS, nothing="No customers.")
    tell_more(page)


@clients.command()
@click.argument("client_id")
@click.option("--month", metavar="YYYY-MM", help="The month of the charges and payments (default: the current month).")
@json_option
@place_options
def show(*, client_id: str, month: str | None, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show a customer with its channels, and its charges and payments of one month."""
    api = connect(config, data)
    client = api.get("api", "clients", client_id)
    account = api.get("api", "clients", client_id, "summary", query={"month": month})
    if as_json:
        print_json({**client, "summary": account})
        return
    print_fields({**client, **{name: moment(client[name]) for name in _TIMES}})
    print(f"\n{account['month']}: charged {_dollars(account['chargedUsd'])}, paid {_dollars(account['paidUsd'])}.")
    rows = [
        {**line, "created": moment(line["createdAt"]), "amount": _dollars(line["amountUsd"])}
        for line in account["items"]
    ]
    print_table(rows, _LINES, nothing="Nothing was charged or paid.")


@clients.command()
@click.argument("name")
@click.option("--plan", type=click.Choice([*map(str, ClientPlan)]), default="per_task", show_default=True)
@click.option("--price", type=float, help="The price of one answer, in US dollars.")
@click.option("--fee", type=float, help="The monthly fee, in US dollars.")
@click.option(
    "--token-factor",
    type=float,
    help="Charge the costs of models times this factor; 0: do not charge them.",
)
@click.option("--monthly-limit", type=float, help="The maximum cost of model calls in a month, in US dollars.")
@click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="PLATFORM:CHANNEL",
    help="A channel of the customer; may be repeated.",
)
@json_option
@place_options
def create(
    *,
    name: str,
    plan: str,
    price: float | None,
    fee: float | None,
    token_factor: float | None,
    monthly_limit: float | None,
    channels: tuple[str, ...],
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Create a customer."""
    places = [_place(channel) for channel in channels]
    given = {
        "name": name,
        "plan": plan,
        "pricePerTaskUsd": price,
        "monthlyFeeUsd": fee,
        "tokenFactor": token_factor,
        "monthlyLimitUsd": monthly_limit,
    }
    api = connect(config, data)
    body = {key: value for key, value in given.items() if value is not None}
    client = api.post("api", "clients", body=body)
    for place in places:
        client = api.post("api", "clients", client["id"], "channels", body=place)
    if as_json:
        print_json(client)
    else:
        print(f"The customer {client['name']} is created: {client['id']}")


@clients.command()
@click.argument("client_id")
@json_option
@place_options
def undo(*, client_id: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Restore the previous version of a customer. A new customer is archived. Charges, payments and channels stay."""
    client = connect(config, data).post("api", "clients", client_id, "undo")
    if as_json:
        print_json(client)
    else:
        print(
            f"The previous version of the customer {client['name']} was restored: {client['plan']}, {client['status']}"
        )


@clients.command()
@click.argument("client_id")
@click.argument("amount", type=float)
@click.option("--subscription", is_flag=True, help="Enter a monthly fee instead of an adjustment.")
@click.option("--credit", is_flag=True, help="Add the amount to the customer's balance instead of subtracting it.")
@click.option("--for", "description", default="", help="The purpose.")
@json_option
@place_options
def charge(
    *,
    client_id: str,
    amount: float,
    subscription: bool,
    credit: bool,
    description: str,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Charge a customer an amount in US dollars."""
    if subscription and credit:
        raise click.UsageError("Give either --subscription or --credit, not both.")
    kind = "subscription" if subscription else "adjustment"
    amount = -amount if credit else amount
    body = {"type": kind, "amountUsd": amount, "description": description}
    line = connect(config, data).post("api", "clients", client_id, "charges", body=body)
    _print_line(line, f"The customer was charged {_dollars(amount)}.", as_json=as_json)


@clients.command()
@click.argument("client_id")
@click.argument("amount", type=float)
@click.option("--for", "description", default="", help="The purpose.")
@json_option
@place_options
def pay(
    *, client_id: str, amount: float, description: str, as_json: bool, config: Path | None, data: Path | None
) -> None:
    """Enter a payment of a customer, in US dollars."""
    body = {"type": "payment", "amountUsd": amount, "description": description}
    line = connect(config, data).post("api", "clients", client_id, "charges", body=body)
    _print_line(line, f"A payment of {_dollars(amount)} was entered.", as_json=as_json)


def _print_line(line: Any, words: str, *, as_json: bool) -> None:
    if as_json:
        print_json(line)
    else:
        print(words)


def _place(text: str) -> dict[str, str]:
    platform, colon, channel = text.partition(":")
    if not (platform and colon and channel):
        raise click.BadParameter(
            "must have the form PLATFORM:CHANNEL, such as telegram:-1001234", param_hint="--channel"
        )
    return {"platform": platform, "channel": channel}


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0 else f"-${-amount:.2f}"
