"""`arvis clients`: commands for customers, their charges and their payments."""

from __future__ import annotations

from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import channel_as, choice, given, page_options
from arvis.cli.output import Output, Table, at, fields
from arvis.domain.money import ClientPlan


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0 else f"-${-amount:.2f}"


_CLIENTS = Table(
    "id",
    "name",
    "plan",
    "status",
    ("balance", lambda client: _dollars(client["balanceUsd"])),
    nothing="No customers.",
)
_LINES = Table(
    ("created", at("createdAt")),
    "type",
    "status",
    ("amount", lambda line: _dollars(line["amountUsd"])),
    "description",
    nothing="Nothing was charged or paid.",
)
_purpose = click.option("--for", "description", default="", help="The purpose.")


@click.group(cls=ApiCommands)
def clients() -> None:
    """List, show and create customers; enter charges and payments."""


@clients.command("list")
@page_options
def list_clients(*, api: Api, **query: Any) -> Output:
    """List customers, newest first."""
    return _CLIENTS.page(api.get("clients", query=query))


@clients.command()
@click.argument("client_id")
@click.option("--month", metavar="YYYY-MM", help="The month of the charges and payments (default: the current month).")
def show(*, api: Api, client_id: str, month: str | None) -> Output:
    """Show a customer: channels, charges and payments. The charges and payments are those of one month."""
    client = api.get("clients", client_id)
    account = api.get("clients", client_id, "summary", query={"month": month})
    sums = f"{account['month']}: charged {_dollars(account['chargedUsd'])}, paid {_dollars(account['paidUsd'])}."
    return Output(
        {**client, "summary": account},
        fields(client, "createdAt", "updatedAt"),
        f"{sums}\n{_LINES.text(account['items'])}",
    )


@clients.command()
@click.argument("name")
@click.option("--plan", type=choice(ClientPlan), default="per_task", show_default=True)
@click.option("--price", "pricePerTaskUsd", type=float, help="The price of one answer, in US dollars.")
@click.option("--fee", "monthlyFeeUsd", type=float, help="The monthly fee, in US dollars.")
@click.option(
    "--token-factor",
    "tokenFactor",
    type=float,
    help="Charge the costs of models times this factor; 0: do not charge them.",
)
@click.option(
    "--monthly-limit", "monthlyLimitUsd", type=float, help="The maximum cost of model calls in a month, in US dollars."
)
@click.option(
    "--channel",
    "channels",
    type=channel_as("channel"),
    multiple=True,
    metavar="PLATFORM:CHANNEL",
    help="A channel of the customer; may be repeated.",
)
def create(*, api: Api, channels: tuple[dict[str, str], ...], **details: Any) -> Output:
    """Create a customer."""
    client = api.post("clients", body=given(details))
    for channel in channels:
        client = api.post("clients", client["id"], "channels", body=channel)
    return Output(client, f"The customer {client['name']} is created: {client['id']}")


@clients.command()
@click.argument("client_id")
def undo(*, api: Api, client_id: str) -> Output:
    """Restore the previous version of a customer. If there is no previous version, archive the customer.

    This does not change charges, payments and channels.
    """
    client = api.post("clients", client_id, "undo")
    now = f"{client['plan']}, {client['status']}"
    return Output(client, f"The previous version of the customer {client['name']} was restored: {now}")


@clients.command()
@click.argument("client_id")
@click.argument("amount", type=float)
@click.option("--subscription", is_flag=True, help="Enter a monthly fee instead of an adjustment.")
@click.option("--credit", is_flag=True, help="Add the amount to the customer's balance instead of subtracting it.")
@_purpose
def charge(*, api: Api, client_id: str, amount: float, subscription: bool, credit: bool, description: str) -> Output:
    """Charge a customer an amount in US dollars."""
    if subscription and credit:
        raise click.UsageError("Give either --subscription or --credit, not both.")
    kind = "subscription" if subscription else "adjustment"
    amount = -amount if credit else amount
    line = _enter(api, client_id, kind, amount, description)
    return Output(line, f"The customer was charged {_dollars(amount)}.")


@clients.command()
@click.argument("client_id")
@click.argument("amount", type=float)
@_purpose
def pay(*, api: Api, client_id: str, amount: float, description: str) -> Output:
    """Enter a payment of a customer, in US dollars."""
    line = _enter(api, client_id, "payment", amount, description)
    return Output(line, f"A payment of {_dollars(amount)} was entered.")


def _enter(api: Api, client_id: str, kind: str, amount: float, description: str) -> Any:
    body = {"type": kind, "amountUsd": amount, "description": description}
    return api.post("clients", client_id, "charges", body=body)
