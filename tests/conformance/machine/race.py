"""Two transactions at once on PostgreSQL: the first pauses after some statements while the second runs to its end or
to a lock, then both continue. This is as deterministic as a server allows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.rows import DictRow

from arvis.ports.job_store import Claimer
from arvis.store.postgres.errors import AGAIN
from arvis.store.postgres.session import PostgresSession
from tests.conformance.machine.backends import Attempt, Outcome, PostgresBackend, Script

#: In seconds. Only a defect makes a wait this long.
PATIENCE = 30.0
ATTEMPTS = 20


@dataclass(slots=True)
class Race:
    """The results of two transactions."""

    outcomes: list[Outcome]  # of the first and of the second transaction
    first_won: bool  # whether the first was committed first
    deadlocks: int
    met: bool  # whether the first had enough statements to pause


class PausingSession(PostgresSession):
    """A session that pauses after this number of statements, or before its commit, until `go` is set."""

    def __init__(self, backend: PostgresBackend, pause: int) -> None:
        connection = backend.sessions[0].connection
        new_id = backend.sessions[0].new_id
        super().__init__(connection=connection, queries=backend.queries, new_id=new_id, name=new_id())
        self._left = pause
        self.still = threading.Event()
        self.go = threading.Event()

    def _run(self, query: str, parameters: Mapping[str, Any]) -> psycopg.Cursor[DictRow]:
        self._stand_still()
        return super()._run(query, parameters)

    def commit(self) -> None:
        self._stand_still()
        super().commit()

    def _stand_still(self) -> None:
        if self._left == 0:
            self.still.set()
            self.go.wait(PATIENCE)
        self._left -= 1


@dataclass(slots=True)
class Runner:
    """One of the two transactions in its own thread.

    After a deadlock or a lost race for a unique key it runs again, as in the store.
    """

    session: PostgresSession
    script: Script
    claimer: Claimer | None
    finish: list[Runner]
    outcome: Outcome = field(default_factory=Outcome)
    deadlocks: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        connection = self.session.connection
        try:
            for _ in range(ATTEMPTS):
                try:
                    self.outcome = Attempt(self.session, self._commit, connection.rollback).run(
                        self.script, self.claimer
                    )
                except AGAIN as error:
                    self.deadlocks += isinstance(error, psycopg.errors.DeadlockDetected)
                else:
                    return
        finally:
            self.ended.set()

    def _commit(self) -> None:
        self.session.commit()
        self.finish.append(self)


def raced(
    backend: PostgresBackend,
    first: tuple[Script, Claimer | None],
    second: tuple[Script, Claimer | None],
    *,
    pause: int,
    heard: Callable[[Outcome], None],
) -> Race:
    """Race the two transactions.

    `heard` receives the second one's result: immediately if the first still pauses, so that later work may read data
    from before the first one's commit.
    """
    finish: list[Runner] = []
    pausing = PausingSession(backend, pause)
    leader = Runner(pausing, *first, finish)
    follower = Runner(backend.sessions[1], *second, finish)
    threads = [threading.Thread(target=leader.run)]
    threads[0].start()
    _until(lambda: pausing.still.is_set() or leader.ended.is_set())
    threads.append(threading.Thread(target=follower.run))
    threads[1].start()
    pid = follower.session.connection.info.backend_pid
    _until(lambda: follower.ended.is_set() or backend.is_blocked(pid))
    early = follower.ended.is_set()
    if early:
        heard(follower.outcome)
    pausing.go.set()
    for thread in threads:
        thread.join(PATIENCE)
    if not early:
        heard(follower.outcome)
    return Race(
        [leader.outcome, follower.outcome],
        finish.index(leader) < finish.index(follower) if len(finish) == 2 else True,
        leader.deadlocks + follower.deadlocks,
        pausing.still.is_set(),
    )


def _until(condition: Callable[[], bool]) -> None:
    """Poll the condition; the server reports a lock only on request."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("a transaction neither ends nor waits")
        time.sleep(0.0005)
