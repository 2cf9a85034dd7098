"""What people have used of their limits, over SQL."""

from __future__ import annotations

from arvis.ports.allowances import Allowance
from arvis.store.session import Session


class SqlAllowances:
    """`Allowances` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, principal_id: str, kind: str) -> Allowance | None:
        row = self._session.one("allowance", principal_id=principal_id, kind=kind)
        return None if row is None else Allowance(row["since"], row["used"], row["told_at"])

    def put(self, principal_id: str, kind: str, allowance: Allowance) -> None:
        self._session.execute(
            "put_allowance",
            principal_id=principal_id,
            kind=kind,
            since=allowance.since,
            used=allowance.used,
            told_at=allowance.told_at,
        )

    def prune(self, before: int) -> None:
        self._session.execute("prune_allowances", before=before)
