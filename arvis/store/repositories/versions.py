"""Versions of rows over SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from arvis.domain.versions import Version, Versioned
from arvis.store.sql.session import Row, Session, dump


class SqlVersions:
    """`Versions` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def keep(
        self,
        kind: Versioned,
        row_id: str,
        data: Mapping[str, Any] | None,
        by_id: str | None,
        now: int,
        *,
        before: Mapping[str, Any] | None,
    ) -> None:
        if not self.newest(kind, row_id, 1):
            self._add(kind, row_id, before, None, now)
        self._add(kind, row_id, data, by_id, now)

    def newest(self, kind: Versioned, row_id: str, limit: int) -> list[Version]:
        rows = self._session.rows("newest_versions", kind=kind, row_id=row_id, limit=limit)
        return [version_of(row) for row in rows]

    def _add(self, kind: Versioned, row_id: str, data: Mapping[str, Any] | None, by_id: str | None, now: int) -> None:
        self._session.execute("add_version", kind=kind, row_id=row_id, data=dump(data), by_id=by_id, at=now)


def version_of(row: Row) -> Version:
    return Version(row["version"], json.loads(row["data"]), by_id=row["by_id"], at=row["at"])
