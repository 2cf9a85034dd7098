"""Variables over SQL. A secret one is sealed before it comes here, and leaves as it lies."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.accounts import Variable
from arvis.store.session import Row, Session


class SqlVariables:
    """`Variables` in one transaction."""

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
