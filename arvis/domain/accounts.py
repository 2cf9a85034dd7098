"""What people enter in the product: accounts of models, and variables that tools may ask for. Secrets are sealed here;
who may open them is told by `ports/secrets.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class AccountStatus(StrEnum):
    ACTIVE = "active"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class StoredAccount:
    """An account as it lies in the database. `sealed_key` is None where the vendor asks for none. Times in ms."""

    id: str
    name: str
    provider: str
    model: str
    models: tuple[str, ...] = ()
    sealed_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    priority: int = 100
    status: AccountStatus = AccountStatus.ACTIVE
    created_at: int = 0
    updated_at: int = 0


@dataclass(frozen=True, slots=True)
class Variable:
    """`value` is sealed when it is `secret`. `updated_at` in ms."""

    key: str
    value: str = field(repr=False)
    secret: bool = False
    updated_at: int = 0
