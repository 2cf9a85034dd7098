"""Accounts that people added, the cooldowns of all accounts, and variables. The caller seals the values of secret
variables; this module stores them unchanged."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from arvis.domain.accounts import AccountStatus, StoredAccount, Variable
from arvis.domain.runs import Cooldown
from arvis.store.sql.session import Row, Session, dump, each
from arvis.store.sql.unreadable import lenient, texts_of


class SqlVariables:
    """Implements the port `Variables` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, key: str) -> Variable | None:
        row = self._session.one("get_variable", key=key)
        return variable_of(row) if row else None

    def after(self, key: str, limit: int) -> Sequence[Variable]:
        return [variable_of(row) for row in self._session.rows("variables_after", after=key, limit=limit)]

    def put(self, variable: Variable, now: int) -> None:
        self._session.execute(
            "put_variable", key=variable.key, value=variable.value, secret=int(variable.secret), now=now
        )

    def remove(self, key: str) -> bool:
        return self._session.execute("remove_variable", key=key) == 1


def variable_of(row: Row) -> Variable:
    return Variable(row["key"], row["value"], bool(row["secret"]), row["updated_at"])


class SqlAccounts:
    """Implements the port `Accounts` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> list[StoredAccount]:
        return sorted(map(account_of, self._session.rows("all_accounts")), key=lambda account: account.name)

    def by_name(self, name: str) -> StoredAccount | None:
        row = self._session.one("account_by_name", name=name)
        return account_of(row) if row else None

    def add(self, account: StoredAccount, now: int) -> bool:
        return self._session.execute("add_account", name=account.name, **_columns_of(account), now=now) == 1

    def update(self, account: StoredAccount, now: int) -> None:
        self._session.execute("update_account", **_columns_of(account), now=now)

    def remove(self, name: str) -> bool:
        return self._session.execute("remove_account", name=name) == 1


class SqlCooldowns:
    """Implements the port `Cooldowns` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> Sequence[Cooldown]:
        return self._session.held("all_cooldowns", _COOLDOWNS)

    def put(self, cooldown: Cooldown) -> None:
        self._session.execute("put_cooldown", **dataclasses.asdict(cooldown))


def account_of(row: Row) -> StoredAccount:
    """Return the account of a row. If the row is unreadable, return a disabled account."""
    disabled: Callable[[Row], StoredAccount] = lambda row: _account(row, lambda _: (), lambda _: AccountStatus.DISABLED)  # noqa: E731
    return lenient("accounts", "name", row, sound_account, disabled)


def sound_account(row: Row) -> StoredAccount:
    """Return the account of a row. Raise one of `UNREADABLE` if a value is malformed."""
    return _account(row, texts_of, AccountStatus)


def _account(
    row: Row, texts: Callable[[str], tuple[str, ...]], status: Callable[[str], AccountStatus]
) -> StoredAccount:
    return StoredAccount(
        id=row["id"],
        name=row["name"],
        provider=row["provider"],
        model=row["model"],
        models=texts(row["models"]),
        sealed_key=row["sealed_key"],
        base_url=row["base_url"],
        priority=row["priority"],
        api=row["api"],
        status=status(row["status"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def cooldown_of(row: Row) -> Cooldown:
    return Cooldown(**{name: row[name] for name in Cooldown.__slots__})


def _columns_of(account: StoredAccount) -> dict[str, object]:
    return {
        "id": account.id,
        "provider": account.provider,
        "model": account.model,
        "models": dump(list(account.models)),
        "sealed_key": account.sealed_key,
        "base_url": account.base_url,
        "priority": account.priority,
        "api": account.api,
        "status": account.status,
    }


_COOLDOWNS = each(cooldown_of)
