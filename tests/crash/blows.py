"""The blows (kills, stops and sleeps) to the processes of an episode, and their moments.

An aimed blow falls at a certain moment, such as an acknowledgement; the instant of a random one comes from the seed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial
from random import Random

from tests.crash.cluster import Cluster
from tests.crash.daemon import Daemon
from tests.crash.trigger import Moments, Sight, Trigger

#: Share of the random blows that fall while a process starts, and their latest instant after the start (seconds).
DURING_START = 0.15
START = 1.2
#: An aimed blow whose moment does not come falls anyway after this time (seconds).
AIM_WITHIN = 5.0
#: A process that sleeps during a model call wakes after this time, even if no other one has made the call (seconds).
REPLACED_WITHIN = 15.0
#: A healthy daemon commits a turn within this time after the model's answer (seconds).
COMMITTED = 0.25
#: Number of fast restarts in a row; after a row, one life may work. A row must end before the fifth crash of a job. The
#: pause of 30 s after the fourth crash ensures this.
ROW = 7
#: Latest instant after ready at which a fast restart is killed (seconds).
SOON = 0.3
#: Length of a sleep in leases. A process that sleeps during a model call sleeps until another one makes the call.
SLEEP = (0.5, 3.0)


class Blow(StrEnum):
    """A disturbance of a process. A sleep is SIGSTOP and later SIGCONT, and may be longer than a lease."""

    KILL = "kill"
    STOP = "stop"
    SLEEP = "sleep"


class Aim(StrEnum):
    """The moment of a blow."""

    #: A random instant.
    RANDOM = "random"
    #: Rows of fast restarts.
    RESTARTS = "restarts"
    #: Immediately after an acknowledgement.
    ACKNOWLEDGED = "acknowledged"
    #: Immediately after an acknowledgement that its client does not receive.
    UNHEARD = "unheard"
    #: During a model call.
    AT_THE_MODEL = "at the model"
    #: Shortly after the model's answer.
    ANSWERED = "answered"
    #: When a client receives a reply.
    SHOWN = "shown"


class Striker:
    """Deals blows to the processes of a cluster."""

    def __init__(
        self,
        *,
        rng: Random,
        cluster: Cluster,
        moments: Moments,
        blow: Blow,
        aim: Aim,
        #: Maximum seconds from ready to a random blow.
        window: float,
        #: Seconds from ready until an aimed blow begins to wait for its moment.
        aimed_after: float,
        #: The lease in the daemon's configuration (seconds).
        lease: float,
    ) -> None:
        self._rng = rng
        self._cluster = cluster
        self._moments = moments
        self._blow = blow
        self._aim = aim
        self._window = window
        self._aimed_after = aimed_after
        self._lease = lease
        self._rounds = 0
        self._replaced = asyncio.Event()

    async def strike(self) -> None:
        """Start all processes that are not running, deal one blow, and wait until its effect is over."""
        self._rounds += 1
        started = await self._cluster.start()
        if started and self._falls_early():
            await asyncio.sleep(self._rng.uniform(0, START))
            struck = self._hit(started)
        else:
            await self._cluster.ready()
            struck = await self._strike_living()
        await asyncio.gather(*(self._over(daemon) for daemon in struck))

    def _falls_early(self) -> bool:
        """Return whether this blow hits processes during their start."""
        if self._aim is Aim.RESTARTS:
            return self._in_row and self._rng.random() < 0.5
        return self._aim is Aim.RANDOM and self._rng.random() < DURING_START

    @property
    def _in_row(self) -> bool:
        return self._rounds % (ROW + 1) != 0

    async def _strike_living(self) -> Sequence[Daemon]:
        match self._aim:
            case Aim.RANDOM:
                await asyncio.sleep(self._rng.uniform(0, self._window))
            case Aim.RESTARTS if self._in_row:
                await asyncio.sleep(self._rng.uniform(0, SOON))
            case Aim.RESTARTS:
                await self._rng.choice(self._cluster.daemons).intrude()
            case Aim.ACKNOWLEDGED:
                return await self._strike_at(self._moments.acknowledged)
            case Aim.UNHEARD:
                return await self._strike_at(self._moments.unheard)
            case Aim.AT_THE_MODEL:
                return await self._strike_at(self._moments.asked)
            case Aim.ANSWERED:
                return await self._strike_at(self._moments.answered, after=COMMITTED)
            case Aim.SHOWN:
                return await self._strike_at(self._moments.shown)
        return self._hit(self._cluster.some(self._rng))

    async def _strike_at(self, trigger: Trigger, after: float = 0.0) -> Sequence[Daemon]:
        """Hit the process concerned at the next firing of the trigger, or `after` seconds later."""
        struck: asyncio.Future[Sequence[Daemon]] = asyncio.get_running_loop().create_future()

        def fall(sight: Sight) -> None:
            if struck.done():  # too late: the blow has hit another process
                return
            place = sight.place
            struck.set_result(self._hit([self._cluster.named(place)] if place else self._cluster.some(self._rng)))
            if self._blow is Blow.SLEEP and sight.tokens:
                self._replaced.clear()
                self._moments.asked.arm(lambda _: self._replaced.set(), token=sight.tokens[0])

        def wait(sight: Sight) -> None:
            asyncio.get_running_loop().call_later(after, partial(fall, sight))

        await asyncio.sleep(self._aimed_after)
        trigger.arm(wait if after else fall)
        with suppress(TimeoutError):
            return await asyncio.wait_for(struck, AIM_WITHIN)
        trigger.disarm()
        return self._hit(self._cluster.some(self._rng))

    def _hit(self, victims: Sequence[Daemon]) -> Sequence[Daemon]:
        """Hit all victims immediately, before the event loop runs other tasks."""
        for daemon in victims:
            match self._blow:
                case Blow.KILL:
                    daemon.kill()
                case Blow.STOP:
                    daemon.tell()
                case Blow.SLEEP:
                    daemon.sleep()
        return victims

    async def _over(self, daemon: Daemon) -> None:
        match self._blow:
            case Blow.KILL:
                await daemon.dead()
            case Blow.STOP:
                await daemon.stopped()
            case Blow.SLEEP:
                with suppress(TimeoutError):
                    if self._aim is Aim.AT_THE_MODEL:
                        await asyncio.wait_for(self._replaced.wait(), REPLACED_WITHIN)
                    else:
                        await asyncio.sleep(self._rng.uniform(*SLEEP) * self._lease)
                daemon.wake()
