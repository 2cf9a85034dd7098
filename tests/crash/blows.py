"""What is done to the processes of an episode, and when: one blow after the other, each at its moment.

An aimed blow falls by itself, in the very moment it is aimed at; a random one is drawn from the seed.
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

#: Share of the random blows that fall while a process starts, and the instants they are drawn from, in seconds.
DURING_START = 0.15
START = 1.2
#: An aimed blow that finds nothing to hit becomes an ordinary one after so many seconds, and a sleeper in whose
#: place nobody asks wakes after so many.
AIM_WITHIN = 5.0
REPLACED_WITHIN = 15.0
#: After an answer of the model its turn is committed within this time, in seconds, unless something is broken.
COMMITTED = 0.25
#: Restarts come in rows of so many, each killed while it starts or this soon after ready (seconds); then one life
#: may work. A row must stay short of the fifth crash of a job: its rest of 30 s after the fourth sees to that.
ROW = 7
SOON = 0.3
#: How long a process sleeps, in leases; one that is aimed at the model sleeps until another asks in its place.
SLEEP = (0.5, 3.0)


class Blow(StrEnum):
    """SIGKILL, SIGTERM, or SIGSTOP and later SIGCONT: a sleep that may be longer than a lease."""

    KILL = "kill"
    STOP = "stop"
    SLEEP = "sleep"


class Aim(StrEnum):
    """When a blow falls: at a random instant; in rows of fast restarts; right behind an acknowledgement, which
    its client hears or does not; while the model thinks; a moment after it answered; when a reply is shown."""

    RANDOM = "random"
    RESTARTS = "restarts"
    ACKNOWLEDGED = "acknowledged"
    UNHEARD = "unheard"
    AT_THE_MODEL = "at the model"
    ANSWERED = "answered"
    SHOWN = "shown"


class Striker:
    """Deals blows to the processes of a cluster. `window` bounds the random ones, in seconds after ready; aimed ones
    wait for their moment from `aimed_after` seconds on; `lease` is that of the daemon's configuration, in seconds."""

    def __init__(
        self,
        *,
        rng: Random,
        cluster: Cluster,
        moments: Moments,
        blow: Blow,
        aim: Aim,
        window: float,
        aimed_after: float,
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
        """Start what does not run, deal one blow, and wait until it is over."""
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
        """Return whether this blow is for those that just start."""
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
        """Hit at the next such moment, or `after` so many seconds, whom it concerns."""
        struck: asyncio.Future[Sequence[Daemon]] = asyncio.get_running_loop().create_future()

        def fall(sight: Sight) -> None:
            if struck.done():  # it came too late: the blow has fallen on somebody else
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
        """At once, without a turn of the event loop in between."""
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
