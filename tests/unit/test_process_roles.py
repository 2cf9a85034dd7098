"""Supervised roles: their order, restarts with growing pauses, health, and an orderly end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from arvis.process.supervisor import Role, RoleState, Supervisor

Ready = Callable[[], None]


class StepClock:
    """A clock whose sleeps are recorded and end when the test calls `wake`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.sleeps: asyncio.Queue[float] = asyncio.Queue()
        self._wake = asyncio.Semaphore(0)

    def now(self) -> int:
        return int(self.seconds * 1000)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.sleeps.put_nowait(seconds)
        await self._wake.acquire()
        self.seconds += seconds

    def wake(self) -> None:
        self._wake.release()


class Script:
    """A role that dies in the given ways, one per start, and then runs until it is cancelled."""

    def __init__(
        self, *deaths: Callable[[Ready], Awaitable[None]], log: list[str] | None = None, name: str = "r"
    ) -> None:
        self._deaths = list(deaths)
        self._log = log if log is not None else []
        self._name = name
        self.up = asyncio.Event()

    async def __call__(self, ready: Ready) -> None:
        if self._deaths:
            await self._deaths.pop(0)(ready)
            return
        ready()
        self.up.set()
        self._log.append(f"{self._name} up")
        try:
            await asyncio.Event().wait()
        finally:
            self._log.append(f"{self._name} down")


async def at_once(ready: Ready) -> None:
    raise ConnectionError("token abc refused")


async def after_ready(ready: Ready) -> None:
    ready()
    raise ConnectionError("gone")


async def by_itself(ready: Ready) -> None:
    ready()


async def test_roles_start_in_order_and_stop_in_reverse() -> None:
    log: list[str] = []
    async with Supervisor(clock=StepClock()) as supervisor:
        for name in ("a", "b", "c"):
            await supervisor.start(Role(name, Script(log=log, name=name)))
        assert supervisor.ready
        assert [health.state for health in supervisor.health().values()] == [RoleState.UP] * 3

    assert log == ["a up", "b up", "c up", "c down", "b down", "a down"]
    assert {health.state for health in supervisor.health().values()} == {RoleState.STOPPED}
    assert not supervisor.ready


async def test_a_required_role_that_never_comes_up_ends_the_start() -> None:
    async with Supervisor(clock=StepClock()) as supervisor:
        with pytest.raises(ConnectionError, match="token abc refused"):
            await supervisor.start(Role("web", Script(at_once)))

        assert supervisor.health()["web"].state is RoleState.DOWN
        assert not supervisor.ready


async def test_an_optional_role_may_be_down_while_the_rest_is_ready() -> None:
    clock = StepClock()
    async with Supervisor(clock=clock) as supervisor:
        await supervisor.start(Role("web", Script()))
        await supervisor.start(Role("telegram", Script(at_once), required=False))
        assert await clock.sleeps.get() == 1

        health = supervisor.health()["telegram"]
        assert (health.state, health.error, health.required) == (RoleState.DOWN, "ConnectionError", False)
        assert supervisor.ready


async def test_the_pauses_double_up_to_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = StepClock()
    role = Script(*[at_once] * 9)
    async with Supervisor(clock=clock) as supervisor:
        await supervisor.start(Role("telegram", role, required=False))
        pauses = []
        for _ in range(9):
            pauses.append(await clock.sleeps.get())
            clock.wake()
        await role.up.wait()

        health = supervisor.health()["telegram"]
        assert (health.state, health.error, health.restarts) == (RoleState.UP, None, 9)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert caplog.messages[0] == "the role telegram failed and starts again in 1 seconds"
    assert {record.levelno for record in caplog.records} == {logging.ERROR}


async def test_after_a_minute_up_the_pauses_begin_again() -> None:
    clock = StepClock()

    async def after_a_minute(ready: Ready) -> None:
        ready()
        clock.seconds += 60
        raise ConnectionError

    role = Script(at_once, at_once, after_a_minute, after_ready)
    async with Supervisor(clock=clock) as supervisor:
        await supervisor.start(Role("telegram", role, required=False))
        pauses = []
        for _ in range(4):
            pauses.append(await clock.sleeps.get())
            clock.wake()
        await role.up.wait()

    assert pauses == [1, 2, 1, 2]


async def test_a_required_role_that_dies_later_comes_back() -> None:
    clock = StepClock()
    role = Script(by_itself)
    async with Supervisor(clock=clock) as supervisor:
        await supervisor.start(Role("workers", role))
        await clock.sleeps.get()
        assert supervisor.health()["workers"].error == "EndedByItself"
        assert not supervisor.ready

        clock.wake()
        await role.up.wait()
        assert supervisor.ready


async def test_one_role_can_be_stopped_alone_even_in_its_pause() -> None:
    clock = StepClock()
    async with Supervisor(clock=clock) as supervisor:
        await supervisor.start(Role("web", Script()))
        await supervisor.start(Role("telegram", Script(at_once), required=False))
        await clock.sleeps.get()

        await supervisor.stop("telegram")

        assert supervisor.health()["telegram"].state is RoleState.STOPPED
        assert supervisor.ready


async def test_a_role_that_fails_while_it_is_stopped_does_not_hold_up_the_others() -> None:
    log: list[str] = []

    async def stubborn(ready: Ready) -> None:
        ready()
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("cannot close")

    async with Supervisor(clock=StepClock()) as supervisor:
        await supervisor.start(Role("a", Script(log=log, name="a")))
        await supervisor.start(Role("b", stubborn))

    assert log == ["a up", "a down"]
