"""The repositories of money in a transaction: the ledger of what models cost, and clients with their charges.

Amounts are micros (millionths of a US dollar), times integer milliseconds.
"""

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
        """Add to a pot; the first one makes it."""
        ...

    def reserved(self, pot: Pot, now: int, *, but: tuple[str, str]) -> int:
        """Return the unexpired reservations of a pot, without the reservation of this execution and visit."""
        ...

    def reserve(self, amounts: Mapping[Pot, int], execution_id: str, visit: str, expires_at: int) -> None:
        """Set aside so much in each pot, in the place of what this visit had set aside before."""
        ...

    def release(self, execution_id: str, visit: str) -> None: ...

    def release_all(self, execution_id: str) -> None:
        """Of every visit of an execution."""
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
        """The calls that are not ended of a job, of a visit (execution and visit), or that began before a time (ms)."""
        ...

    def prune(self, first_execution: str, day: str, now: int, limit: int) -> int:
        """Delete up to `limit` rows each of: turns before the first one to keep, days of agents and people before
        this day, expired reservations. Return their number. Sums of whole days and of clients are kept permanently."""
        ...


class Clients(Protocol):
    def get(self, client_id: str) -> Client | None: ...

    def by_name(self, name: str) -> Client | None: ...

    def at(self, platform: str, channel: str) -> Client | None:
        """The client whose people write in this channel, unless archived."""
        ...

    def newest(self, limit: int) -> Sequence[Client]: ...

    def add(self, client: Client) -> bool:
        """False when there is one of this name."""
        ...

    def update(self, client: Client) -> None:
        """Write back all but id, balance and the time of making."""
        ...

    def channels(self, client_id: str) -> Sequence[ClientChannel]: ...

    def bind(self, client_id: str, channel: ClientChannel, now: int) -> None:
        """Give a channel to a client, whosever it was."""
        ...

    def unbind(self, client_id: str, channel: ClientChannel) -> bool:
        """False when it is not theirs."""
        ...

    def charge(self, charge: Charge) -> bool:
        """Add a line and move the balance with it; False, and nothing changes, when its turn was charged before."""
        ...

    def set_charge_status(self, client_id: str, charge_id: str, status: ChargeStatus) -> bool:
        """False when there is no such charge of this client."""
        ...
