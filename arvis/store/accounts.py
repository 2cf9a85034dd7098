"""What is known of the accounts, over SQL."""

from __future__ import annotations

import dataclasses

from arvis.domain.runs import Rest
from arvis.store.session import Session


class SqlRests:
    """`Rests` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> list[Rest]:
        return [Rest(**dict(row)) for row in self._session.rows("all_rests")]

    def put(self, rest: Rest) -> None:
        self._session.execute("put_rest", **dataclasses.asdict(rest))
