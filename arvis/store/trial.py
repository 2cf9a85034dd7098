"""A store for trials: its scripts run in one transaction, which is rolled back at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from arvis.ports.job_store import Claimer
from arvis.ports.store import Transaction
from arvis.store.sql.migrations import Candidate
from arvis.store.sql.session import Notices
from arvis.store.transaction import SqlTransaction, run_script

P = ParamSpec("P")
R = TypeVar("R")

_FAILED = "the work was stopped for the trial of an upgrade"


class TrialStore:
    """Implements `Store` in the open transaction of a candidate. Nothing is committed: the owner of the transaction
    rolls back everything that the scripts write, and blobs stay in memory.

    Within the transaction, the store first ends the work that waits in the database, so that only the work of the trial
    can run.
    """

    def __init__(self, candidate: Candidate, *, now: int) -> None:
        self._run = candidate.run
        self._session = candidate.session
        self._transaction = SqlTransaction(candidate.session)
        self._blobs: dict[str, bytes] = {}
        self.shared = candidate.session.locks_rows
        self._session.execute("fail_live_jobs", error=_FAILED, reason="trial", now=now)
        self._session.execute("empty_lanes")

    async def write(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        self._session.notices = Notices()
        self._run("SAVEPOINT trial_script")
        try:
            result = run_script(lambda tx: script(tx, *args, **kwargs), self._transaction)
        except BaseException:
            self._run("ROLLBACK TO SAVEPOINT trial_script")
            raise
        self._run("RELEASE SAVEPOINT trial_script")
        return result

    async def read(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.write(script, *args, **kwargs)

    def attend(self, claimer: Claimer | None) -> None:
        """Do nothing: the trial claims its job by itself."""

    async def wait_for_change(self, timeout: float) -> bool:  # noqa: ARG002 - the port's signature
        return False

    async def put_blob(self, data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        self._blobs[name] = data
        return name

    async def get_blob(self, sha256: str) -> bytes | None:
        return self._blobs.get(sha256)

    async def delete_blob(self, sha256: str) -> None:
        self._blobs.pop(sha256, None)

    async def overwrite_deleted(self) -> bool:
        """Do nothing: the transaction is rolled back."""
        return True
