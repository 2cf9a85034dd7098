"""Scripts on their way to a thread of the store, and their answers on the way back."""

from __future__ import annotations

import asyncio
import contextlib
import queue
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from arvis.domain.errors import StoreLost
from arvis.ports.store import Transaction
from arvis.store.scripts import run_script


@dataclass(slots=True, eq=False)
class Submission:
    """A script that waits for its commit, and whom to tell."""

    script: Callable[[Transaction], Any] = field(repr=False)
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    def run(self, transaction: Transaction) -> None:
        self.result = self.error = None
        self.result = run_script(self.script, transaction)

    def resolve(self) -> None:
        """On the event loop. A waiter that was cancelled must not strand the others."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


def refuse_all(error: StoreLost, group: list[Submission], waiting: queue.SimpleQueue[Submission | None]) -> None:
    """Answer these, and everybody who comes until the end, with the error: nobody may wait for a thread that died."""
    following: Submission | None
    for submission in group:
        submission.error = error
    wake_waiters(group)
    while (following := waiting.get()) is not None:
        following.error = error
        wake_waiters([following])


def wake_waiters(group: list[Submission]) -> None:
    """Wake each event loop once for all of its submissions."""
    for loop in {submission.loop for submission in group}:
        mine = [submission for submission in group if submission.loop is loop]
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_resolve_all, mine)


def _resolve_all(submissions: list[Submission]) -> None:
    for submission in submissions:
        submission.resolve()
