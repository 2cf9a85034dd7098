"""Supervised roles: started in order, started again when they die, stopped in reverse.

A role is a coroutine that runs until it is cancelled. Its failure costs that role a pause, never the daemon;
only a required role that fails before it was ever up ends the start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self

from arvis.domain.errors import DatabaseAway
from arvis.ports.clock import Clock

_FIRST_DELAY = 1.0
_LONGEST_DELAY = 60.0
#: While the database is unavailable: a role is needed again as soon as the database is back.
_OUTAGE_DELAY = 2.0


class RoleState(StrEnum):
    STARTING = "starting"
    UP = "up"
    DOWN = "down"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Role:
    """`run` calls the function it is given once it is up, and runs until cancelled. A role that is not
    `required` (a chat platform) may be down while the daemon is ready."""

    name: str
    run: Callable[[Callable[[], None]], Awaitable[None]]
    required: bool = True


@dataclass(frozen=True, slots=True)
class RoleHealth:
    """Shown to anybody, so `error` is the kind of the failure and no text. `since` in ms."""

    state: RoleState
    since: int
    required: bool
    restarts: int = 0
    error: str | None = None


class EndedByItself(Exception):
    """A role returned without being stopped."""


class Supervisor:
    """Owns the tasks of the roles. As a context manager it stops them at the end of the block."""

    def __init__(self, *, clock: Clock, logger: logging.Logger | None = None) -> None:
        self._clock = clock
        self._logger = logger or logging.getLogger(__name__)
        self._running: dict[str, _Running] = {}

    async def start(self, role: Role) -> None:
        """Start a role; a required one is up when this returns. Raises what a required role died of before it
        was up."""
        running = _Running(role=role, clock=self._clock, logger=self._logger)
        self._running[role.name] = running
        running.task = asyncio.create_task(running.supervise(), name=f"role {role.name}")
        if role.required:
            await running.first_start

    async def stop(self, name: str | None = None) -> None:
        """Stop one role, or all of them, the last started first."""
        names = [name] if name is not None else list(reversed(self._running))
        for each in names:
            await self._running[each].stop()

    def health(self) -> Mapping[str, RoleHealth]:
        return {name: running.health for name, running in self._running.items()}

    @property
    def ready(self) -> bool:
        """Return true if every required role is up."""
        return all(health.state is RoleState.UP for health in self.health().values() if health.required)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


class _Running:
    """One role with its task, its health and its pauses."""

    def __init__(self, *, role: Role, clock: Clock, logger: logging.Logger) -> None:
        self._role = role
        self._clock = clock
        self._logger = logger
        self._up_at: float | None = None
        self._delay = _FIRST_DELAY
        self._stopping = False
        self.task: asyncio.Task[None] | None = None
        self.first_start: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.health = RoleHealth(RoleState.STARTING, clock.now(), role.required)

    async def supervise(self) -> None:
        while True:
            failure = await self._run_once()
            if self._stopping:
                # It answered its cancellation with an error: that is an end, too, and no reason to start again.
                self._logger.error("the role %s failed while it was stopped", self._role.name, exc_info=failure)
                return
            self._note(RoleState.DOWN, error=type(failure).__name__)
            first = self._role.required and not self.first_start.done()
            if first and not isinstance(failure, DatabaseAway):
                self.first_start.set_exception(failure)
                return
            await self._pause(failure)
            self._note(RoleState.STARTING, restarts=self.health.restarts + 1)

    async def stop(self) -> None:
        if self.task is None:
            return
        self._stopping = True
        self.task.cancel()
        # Gathering waits for the end of the task without mistaking its cancellation for our own.
        await asyncio.gather(self.task, return_exceptions=True)
        self._note(RoleState.STOPPED)
        if not self.first_start.done():
            self.first_start.cancel()

    async def _run_once(self) -> Exception:
        """Run the role to its end; what it died of."""
        self._up_at = None
        try:
            await self._role.run(self._is_up)
        except Exception as error:  # noqa: BLE001 - named place: one platform's failure must not end the daemon
            return error
        return EndedByItself(f"the role {self._role.name} ended by itself")

    def _is_up(self) -> None:
        self._up_at = self._clock.monotonic()
        self._note(RoleState.UP)
        if not self.first_start.done():
            self.first_start.set_result(None)

    async def _pause(self, failure: Exception) -> None:
        """1, 2, 4 … 60 seconds, 2 at most for an outage of the database; a role that was up for a minute begins
        again at 1."""
        if self._up_at is not None and self._clock.monotonic() - self._up_at >= _LONGEST_DELAY:
            self._delay = _FIRST_DELAY
        delay, self._delay = self._delay, min(self._delay * 2, _LONGEST_DELAY)
        if isinstance(failure, DatabaseAway):  # an outage, which has no stack worth reading
            delay = self._delay = min(delay, _OUTAGE_DELAY)
            text = "the role %s lost the database and starts again in %d seconds: %s"
            self._logger.warning(text, self._role.name, delay, failure.why)
        else:
            text = "the role %s died and starts again in %d seconds"
            self._logger.error(text, self._role.name, delay, exc_info=failure)
        await self._clock.sleep(delay)

    def _note(self, state: RoleState, *, error: str | None = None, restarts: int | None = None) -> None:
        count = self.health.restarts if restarts is None else restarts
        self.health = RoleHealth(state, self._clock.now(), self._role.required, count, error)
