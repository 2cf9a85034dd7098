"""Repositories of money: the ledger of model costs, and clients with their charges. Amounts are micros (millionths of
a US dollar), times integer milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from arvis.domain.money import Charge, ChargeStatus, Client, ClientChannel, OpenCall, Pot, Spent


class Spending(Protocol):
    """The ledger. A script that changes pots or reservations first locks the pots, in order."""

    def get(self, pot: Pot) -> Spent: ...

    def hold(self, pots: Sequence[Pot]) -> Mapping[Pot, Spent]:
        """Return the amounts in these pots and lock the pots until this commit. The pots must be in order."""
        ...

    def book(self, pot: Pot, more: Spent) -> None:
        """Add to a pot, creating it if necessary."""
        ...

    def reserved(self, pot: Pot, now: int, *, but: tuple[str, str]) -> int:
        """Return the unexpired reservations of a pot, without the reservation of this execution and visit."""
        ...

    def reserve(self, amounts: Mapping[Pot, int], execution_id: str, visit: str, expires_at: int) -> None:
        """Reserve this amount in each pot, replacing the earlier reservation of this visit."""
        ...

    def release(self, execution_id: str, visit: str) -> None: ...

    def release_all(self, execution_id: str) -> None:
        """Release the reservations of every visit of an execution."""
        ...

    def begin_call(self, call: OpenCall) -> None:
        """Note a call before it is made."""
        ...

    def end_call(self, call_id: str) -> bool:
        """Close a call, whose receipts are stored or replace it; return False if it was not open any more."""
        ...

    def open_calls(
        self, *, job_id: str | None = None, visit: tuple[str, str] | None = None, before: int | None = None
    ) -> list[OpenCall]:
        """Return the open calls of a job, of a visit (execution and visit), or begun before a time (ms)."""
        ...

    def prune(self, first_execution: str, day: str, now: int, limit: int) -> int:
        """Delete up to `limit` rows each of: turns before the first one to keep, days of agents and people before
        this day, expired reservations. Return their number. Sums of whole days and of clients are kept permanently."""
        ...


class Clients(Protocol):
    def get(self, client_id: str) -> Client | None: ...

    def by_name(self, name: str) -> Client | None: ...

    def at(self, platform: str, channel: str) -> Client | None:
        """Return the client to whom this channel is assigned, unless archived."""
        ...

    def newest(self, limit: int) -> Sequence[Client]: ...

    def add(self, client: Client) -> bool:
        """Add a client; return False if the name exists."""
        ...

    def update(self, client: Client) -> None:
        """Update everything except id, balance and creation time."""
        ...

    def channels(self, client_id: str) -> Sequence[ClientChannel]: ...

    def bind(self, client_id: str, channel: ClientChannel, now: int) -> None:
        """Assign a channel to a client, replacing an earlier assignment."""
        ...

    def unbind(self, client_id: str, channel: ClientChannel) -> bool:
        """Remove a channel from a client; return False if it is not theirs."""
        ...

    def charge(self, charge: Charge) -> bool:
        """Add an account line and change the balance; return False and change nothing if its turn was charged before."""
        ...

    def set_charge_status(self, client_id: str, charge_id: str, status: ChargeStatus) -> bool:
        """Change a charge; return False if the client has no such charge."""
        ...
