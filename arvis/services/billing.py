"""Customers, the charges for their turns, and the entries (such as payments) that an owner adds to their accounts.

Transaction scripts. Every change of a balance is a row of `charges`, written in the same commit. Each change of a
customer stores a version, so that it can be undone. A version contains no balance, charges or channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.dataclass import replace
from arvis.domain.errors import Conflict, NotFound
from arvis.domain.executions import Execution
from arvis.domain.money import (
    Charge,
    ChargeStatus,
    ChargeType,
    Client,
    ClientChannel,
    ClientPlan,
    ClientStatus,
)
from arvis.domain.versions import Versioned, version_before
from arvis.ports.store import Transaction
from arvis.tasks.access import PlacedState, client_of

#: The fields of a customer that can be edited. Its versions contain only these fields.
_KEPT = (
    "name", "plan", "status", "price_per_task", "monthly_fee", "token_factor_milli", "monthly_limit", "notes",
)  # fmt: skip

#: The first status of an entry that an owner adds, by type. Entries of all other types start as pending.
_FIRST_STATUS = {ChargeType.PAYMENT: ChargeStatus.PAID, ChargeType.ADJUSTMENT: ChargeStatus.APPROVED}


def charge_turn(tx: Transaction, execution: Execution, now: int, *, message_id: str | None = None) -> Charge | None:
    """Charge the customer of the channel for a turn, in the commit that ends the turn. The caller must have booked the
    costs of the turn's model calls before. Return None if nothing was charged: the channel has no active customer, the
    price is 0, or the turn was charged before."""
    # A turn that another turn caused belongs to the same request of a person, and the price per task is charged once
    # per request.
    is_request = PlacedState.from_json(execution.state).origin is None
    return _charge(tx, execution, now, with_task=is_request, description="answer", message_id=message_id)


def charge_run(tx: Transaction, execution: Execution, now: int) -> Charge | None:
    """Charge the customer of the channel for the model calls of a workflow run, without the price per task. Call this
    in the commit that ends the run, if no turn waits for the run, or in the commit in which another run takes over the
    turn. Return None if nothing was charged."""
    return _charge(tx, execution, now, with_task=False, description="workflow run")


def _charge(
    tx: Transaction, execution: Execution, now: int, *, with_task: bool, description: str, message_id: str | None = None
) -> Charge | None:
    """Charge for the model calls of an execution and its children. If `with_task` is True, add the price per task.
    Other executions that this execution caused are charged when they end."""
    client = client_of(tx, execution)
    if client is None or client.status is not ClientStatus.ACTIVE:
        return None
    price = client.price_of(tx.usage.cost_of(execution.id))
    amount = price if with_task else price - client.price_of(0)
    if amount == 0:
        return None
    charge = Charge(
        id=tx.new_id(),
        client_id=client.id,
        type=ChargeType.TASK,
        status=ChargeStatus.PENDING,
        amount=amount,
        description=description,
        created_at=now,
        message_id=message_id,
        execution_id=execution.id,
    )
    return charge if tx.clients.charge(charge) else None


def enter_charge(
    tx: Transaction, client_id: str, kind: ChargeType, amount: int, *, description: str, now: int
) -> Charge:
    """Store an entry that an owner adds to the customer's account, and change the balance."""
    known = _known(tx, client_id)
    status = _FIRST_STATUS.get(kind, ChargeStatus.PENDING)
    charge = Charge(tx.new_id(), known.id, kind, status, amount, description, now)
    tx.clients.charge(charge)
    return charge


def judge_charge(tx: Transaction, client_id: str, charge_id: str, status: ChargeStatus) -> None:
    """Set the status of a charge; the balance does not change."""
    if not tx.clients.set_charge_status(client_id, charge_id, status):
        raise NotFound(
            "This customer has no such entry.",
            fix="GET /api/clients/{client}/charges lists the entries of the customer.",
        )


def add_client(tx: Transaction, client: Client, now: int, *, by: str | None = None) -> Client:
    """Add a customer. It gets a new id and new times, which replace those in `client`. `by` is the id of the person who
    adds it."""
    made = replace(client, id=tx.new_id(), created_at=now, updated_at=now)
    if not tx.clients.add(made):
        raise _taken(client.name)
    tx.versions.keep(Versioned.CLIENT, made.id, _data_of(made), by, now, before=None)
    return made


def change_client(tx: Transaction, changed: Client, now: int, *, by: str | None = None) -> Client:
    """Store the changed fields of a customer. The balance in `changed` is ignored, because only charges change it."""
    known = _known(tx, changed.id)
    namesake = tx.clients.by_name(changed.name)
    if namesake is not None and namesake.id != known.id:
        raise _taken(changed.name)
    changed = replace(changed, balance=known.balance, created_at=known.created_at, updated_at=now)
    tx.clients.update(changed)
    if _data_of(changed) != _data_of(known):
        tx.versions.keep(Versioned.CLIENT, known.id, _data_of(changed), by, now, before=_data_of(known))
    return changed


def undo_client(tx: Transaction, client_id: str, now: int, *, by: str | None) -> Client:
    """Restore the customer's previous version and store it as a new version, so a second call reverses the first. A
    customer without a previous version is archived, because its charges and channels remain. Raise `Conflict` if
    another customer has the old name by now."""
    known = _known(tx, client_id)
    before = version_before(tx.versions.newest(Versioned.CLIENT, known.id, 2)).data
    wanted = replace(known, status=ClientStatus.ARCHIVED) if before is None else _with_data(known, before)
    return change_client(tx, wanted, now, by=by)


def _data_of(client: Client) -> dict[str, Any]:
    return {name: getattr(client, name) for name in _KEPT}


def _with_data(client: Client, data: Mapping[str, Any]) -> Client:
    return replace(client, **{**data, "plan": ClientPlan(data["plan"]), "status": ClientStatus(data["status"])})


def bind_channel(tx: Transaction, client_id: str, channel: ClientChannel, now: int) -> None:
    """Assign this channel to the customer, who pays for all later turns there."""
    tx.clients.bind(_known(tx, client_id).id, channel, now)


def unbind_channel(tx: Transaction, client_id: str, channel: ClientChannel) -> None:
    if not tx.clients.unbind(client_id, channel):
        raise NotFound(
            "This channel does not belong to this customer.",
            fix="`arvis clients show ID` lists the channels of the customer.",
        )


def _known(tx: Transaction, client_id: str) -> Client:
    client = tx.clients.get(client_id)
    if client is None:
        raise no_client()
    return client


def no_client() -> NotFound:
    return NotFound(
        "There is no such customer.",
        fix="`arvis clients list` and GET /api/clients list the customers.",
    )


def _taken(name: str) -> Conflict:
    return Conflict(f"There is a customer named {name} already.", fix="Choose another name.", code="name_taken")
