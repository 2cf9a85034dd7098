"""Supervised roles: started in order, restarted when they fail, and stopped in reverse order.

A role is a coroutine that runs until it is cancelled. If it fails, only this role pauses, and the daemon continues. The
start of the daemon fails only if a required role fails before it has been up once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from types import TracebackType
from typing import Self

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import DatabaseAway
from arvis.ports.clock import Clock

_FIRST_DELAY = 1.0
_LONGEST_DELAY = 60.0
#: The maximum pause in seconds while the database is unavailable, so that roles resume soon after the database is
#: available again.
_OUTAGE_DELAY = 2.0


class RoleState(StrEnum):
    STARTING = "starting"
    UP = "up"
    DOWN = "down"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Role:
    """A role. `run` gets a function and calls it as soon as the role is up. `run` then continues until it is cancelled.
    If a role is not `required`, such as a chat platform, the daemon is ready without it."""

    name: str
    run: Callable[[Callable[[], None]], Awaitable[None]]
    required: bool = True


@dataclass(frozen=True, slots=True)
class RoleHealth:
    """The state of a role. Everyone can see it, so `error` is only the class of the failure, without its text. `since`
    is the time (ms) of the last change."""

    state: RoleState
    since: int
    required: bool
    restarts: int = 0
    error: str | None = None


class EndedByItself(Exception):
    """The error of a role whose `run` returned although it was not cancelled."""


class Supervisor:
    """The supervisor of the roles, which runs their tasks. Leaving its context stops the roles."""

    def __init__(self, *, clock: Clock, logger: logging.Logger | None = None) -> None:
        self._clock = clock
        self._logger = logger or logging.getLogger(__name__)
        self._running: dict[str, _Running] = {}

    async def start(self, role: Role) -> None:
        """Start a role. For a required role, wait until it is up, and raise its error if it fails before that."""
        running = _Running(role=role, clock=self._clock, logger=self._logger)
        self._running[role.name] = running
        running.task = asyncio.create_task(running.supervise(), name=f"role {role.name}")
        if role.required:
            await running.first_start

    async def stop(self, name: str | None = None) -> None:
        """Stop one role; without a name, stop all roles in the reverse order of their starts."""
        names = [name] if name is not None else list(reversed(self._running))
        for each in names:
            await self._running[each].stop()

    def health(self) -> Mapping[str, RoleHealth]:
        return {name: running.health for name, running in self._running.items()}

    @property
    def ready(self) -> bool:
        """True if every required role is up."""
        return all(health.state is RoleState.UP for health in self.health().values() if health.required)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


class _Running:
    """A role with its task, its health and the delay before its next restart."""

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
                # The role raised an error when it was cancelled. It has ended nevertheless, and is not restarted.
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
        # `gather` waits for the end of the task, and does not treat the task's cancellation as a cancellation of the
        # caller.
        await asyncio.gather(self.task, return_exceptions=True)
        self._note(RoleState.STOPPED)
        if not self.first_start.done():
            self.first_start.cancel()

    async def _run_once(self) -> Exception:
        """Run the role until it ends, and return its error."""
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
        """Wait before the restart: 1, 2, 4 … 60 seconds, but at most 2 seconds during an outage of the database. After
        a minute of being up, the delays begin again at 1 second."""
        if self._up_at is not None and self._clock.monotonic() - self._up_at >= _LONGEST_DELAY:
            self._delay = _FIRST_DELAY
        delay, self._delay = self._delay, min(self._delay * 2, _LONGEST_DELAY)
        if isinstance(failure, DatabaseAway):  # logged without the stack, which would not help
            delay = self._delay = min(delay, _OUTAGE_DELAY)
            text = "the role %s lost the database and starts again in %d seconds: %s"
            self._logger.warning(text, self._role.name, delay, failure.why)
        else:
            text = "the role %s failed and starts again in %d seconds"
            self._logger.error(text, self._role.name, delay, exc_info=failure)
        await self._clock.sleep(delay)

    def _note(self, state: RoleState, *, error: str | None = None, restarts: int | None = None) -> None:
        count = self.health.restarts if restarts is None else restarts
        self.health = RoleHealth(state, self._clock.now(), self._role.required, count, error)
