"""Model accounts, and variables for tools, that people add while the daemon runs. These types contain secrets only in
sealed form. A `SecretBox` (`ports/secrets.py`) opens them."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from arvis.domain.dataclass import dataclass


class AccountStatus(StrEnum):
    ACTIVE = "active"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class StoredAccount:
    """An account as stored. Times in ms."""

    id: str
    name: str
    provider: str
    model: str
    models: tuple[str, ...] = ()
    #: The sealed API key; None if the vendor needs no key.
    sealed_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    priority: int = 100
    status: AccountStatus = AccountStatus.ACTIVE
    #: The API to use with providers of OpenAI's format: `chat` or `responses`. None: the API that the model needs.
    api: str | None = None
    created_at: int = 0
    updated_at: int = 0


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that tools may read. `updated_at` in ms."""

    key: str
    #: The value; sealed if `secret` is True.
    value: str = field(repr=False)
    secret: bool = False
    updated_at: int = 0
