"""Credentials, over SQL."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.credentials import Credential
from arvis.store.sql.session import Row, Session, dump
from arvis.store.sql.unreadable import lenient, texts_of


class SqlCredentials:
    """Implements the port `Credentials` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> Sequence[Credential]:
        return sorted(map(credential_of, self._session.rows("all_credentials")), key=lambda each: each.name)

    def get(self, name: str) -> Credential | None:
        row = self._session.one("get_credential", name=name)
        return credential_of(row) if row else None

    def put(self, credential: Credential, now: int) -> None:
        self._session.execute(
            "put_credential",
            name=credential.name,
            variable=credential.variable,
            hosts=dump(list(credential.hosts)),
            header=credential.header,
            template=credential.template,
            now=now,
        )

    def remove(self, name: str) -> bool:
        return self._session.execute("remove_credential", name=name) == 1


def credential_of(row: Row) -> Credential:
    """Return the credential of a row. If the row is unreadable, return a credential that applies to no host."""
    return lenient("credentials", "name", row, sound_credential, lambda row: _credential(row, ()))


def sound_credential(row: Row) -> Credential:
    """Return the credential of a row. Raise one of `UNREADABLE` if a value is malformed."""
    return _credential(row, texts_of(row["hosts"]))


def _credential(row: Row, hosts: tuple[str, ...]) -> Credential:
    return Credential(
        name=row["name"],
        variable=row["variable"],
        hosts=hosts,
        header=row["header"],
        template=row["template"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
