"""Repositories of money: the ledger of model costs, and customers (`Client`) with their accounts. Amounts are micros
(millionths of a US dollar), times integer milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from arvis.domain.money import Charge, ChargeStatus, Client, ClientChannel, OpenCall, Pot, Spent


class Spending(Protocol):
    """The ledger of model costs. It consists of pots: each pot is the sum that counts towards one limit, such as the
    costs of one agent on one day. A script that changes pots or their reservations first locks the pots with `hold`."""

    def get(self, pot: Pot) -> Spent: ...

    def hold(self, pots: Sequence[Pot], needed: Sequence[Pot] | None = None) -> Mapping[Pot, Spent]:
        """Lock these pots until this commit. Return the values of at least the pots in `needed` (None: of all pots).
        The pots must be in sort order, so that no two scripts wait for each other."""
        ...

    def book(self, pots: Sequence[Pot], more: Spent) -> None:
        """Add the values `more` to each of these pots; create missing pots."""
        ...

    def reserved(self, pot: Pot, now: int, *, but: tuple[str, str]) -> int:
        """Return the sum of the reservations of a pot that have not expired. `but` is an (execution, visit) whose
        reservation is not counted."""
        ...

    def reserve(self, amounts: Mapping[Pot, int], execution_id: str, visit: str, expires_at: int) -> None:
        """Reserve an amount in each pot, and replace earlier reservations of this visit."""
        ...

    def release(self, execution_id: str, visit: str) -> None: ...

    def release_all(self, execution_id: str) -> None:
        """Release the reservations of every visit of an execution."""
        ...

    def begin_call(self, call: OpenCall) -> None:
        """Store a model call before it is made, so that its cost can be estimated if the process dies during the
        call."""
        ...

    def end_call(self, call_id: str) -> bool:
        """Delete an open call, because its receipt is stored now. Return False if the call was no longer open."""
        ...

    def open_calls(
        self, *, job_id: str | None = None, visit: tuple[str, str] | None = None, before: int | None = None
    ) -> list[OpenCall]:
        """Return the open calls of a job, the open calls of a `visit` (execution, visit), and the open calls that began
        before `before` (ms). An argument of None selects no calls."""
        ...

    def prune(self, first_execution: str, day: str, now: int, limit: int) -> int:
        """Delete up to `limit` rows of each kind: pots of turns before `first_execution`, pots of agents and people for
        days before `day`, and expired reservations. Return the number of deleted rows. The pots of the daily budget and
        of customers are kept permanently."""
        ...


class Clients(Protocol):
    def get(self, client_id: str) -> Client | None: ...

    def by_name(self, name: str) -> Client | None: ...

    def at(self, platform: str, channel: str) -> Client | None:
        """Return the customer to whom this channel is assigned; None if there is none, or if the customer is
        archived."""
        ...

    def newest(self, limit: int) -> Sequence[Client]: ...

    def add(self, client: Client) -> bool:
        """Add a customer; return False if the name exists."""
        ...

    def update(self, client: Client) -> None:
        """Store the changed values of a customer, but not id, balance and creation time."""
        ...

    def channels(self, client_id: str) -> Sequence[ClientChannel]: ...

    def bind(self, client_id: str, channel: ClientChannel, now: int) -> None:
        """Assign a channel to a customer; an earlier assignment of the channel ends."""
        ...

    def unbind(self, client_id: str, channel: ClientChannel) -> bool:
        """Remove a channel from a customer; return False if it is not assigned to this customer."""
        ...

    def charge(self, charge: Charge) -> bool:
        """Add an entry and change the balance. Return False and change nothing if the same turn was charged before."""
        ...

    def set_charge_status(self, client_id: str, charge_id: str, status: ChargeStatus) -> bool:
        """Set the status of an entry; return False if the customer has no entry with this id."""
        ...
