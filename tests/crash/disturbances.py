"""The disturbances (kills, stops and suspensions) to the processes of an episode, and their instants.

An instant is an event, such as an acknowledgement, or a random time from the seed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from random import Random

from tests.crash.cluster import Cluster
from tests.crash.daemon import Daemon
from tests.crash.triggers import Observation, Trigger, Triggers

#: Share of the random disturbances during the start of a process, and their latest time after it (seconds).
DURING_START = 0.15
START = 1.2
#: If the event of an instant does not happen in this time, the disturbance happens anyway (seconds).
EVENT_WITHIN = 5.0
#: A process that is suspended during a model call is resumed after this time, even if no other one made the call (seconds).
REPLACED_WITHIN = 15.0
#: A healthy daemon commits a turn within this time after the model's answer (seconds).
COMMITTED = 0.25
#: A rewind is committed and answered within this time after its request (seconds).
REWINDING = 0.03
#: Number of fast restarts in a row; after a row, one boot may work. A row must end before the fifth crash of a job. The
#: pause of 30 s after the fourth crash ensures this.
ROW = 7
#: Latest time after ready at which a fast restart is killed (seconds).
SOON = 0.3
#: Length of a suspension in leases. During a model call, it lasts until another process makes the call.
SUSPENDED = (0.5, 3.0)


class Disturbance(StrEnum):
    """A disturbance of a process. A suspension is SIGSTOP and later SIGCONT, and may be longer than a lease."""

    KILL = "kill"
    STOP = "stop"
    SUSPEND = "suspend"


class Instant(StrEnum):
    """The instant of a disturbance."""

    #: A random time.
    RANDOM = "random"
    #: Rows of fast restarts.
    RESTARTS = "restarts"
    #: Immediately after an acknowledgement.
    ACKNOWLEDGED = "acknowledged"
    #: Immediately after an acknowledgement that its client does not receive.
    ACK_LOST = "ack lost"
    #: During a model call.
    MODEL_CALL = "model call"
    #: Shortly after the model's answer.
    ANSWERED = "answered"
    #: When a client receives a reply.
    SHOWN = "shown"
    #: While a rewind, a switch of versions or a branch is carried out.
    REWOUND = "rewound"


@dataclass(slots=True, kw_only=True)
class Disturber:
    """Disturbs the processes of a cluster."""

    rng: Random
    cluster: Cluster
    triggers: Triggers
    disturbance: Disturbance
    instant: Instant
    #: Maximum seconds from ready to a random disturbance.
    window: float
    #: Seconds from ready until the wait for the event begins.
    wait_before: float
    #: The lease in the daemon's configuration (seconds).
    lease: float
    _rounds: int = 0
    _replaced: asyncio.Event = field(default_factory=asyncio.Event)

    async def disturb(self) -> None:
        """Start all processes that are not running, disturb some of them once, and wait until its effect is over."""
        self._rounds += 1
        started = await self.cluster.start()
        if started and self._during_start():
            await asyncio.sleep(self.rng.uniform(0, START))
            disturbed = self._disturb_now(started)
        else:
            await self.cluster.ready()
            disturbed = await self._disturb_running()
        await asyncio.gather(*(self._wait_for_end(daemon) for daemon in disturbed))

    def _during_start(self) -> bool:
        """Return whether this disturbance comes during the start of processes."""
        if self.instant is Instant.RESTARTS:
            return self._in_row and self.rng.random() < 0.5
        return self.instant is Instant.RANDOM and self.rng.random() < DURING_START

    @property
    def _in_row(self) -> bool:
        return self._rounds % (ROW + 1) != 0

    async def _disturb_running(self) -> Sequence[Daemon]:
        match self.instant:
            case Instant.RANDOM:
                await asyncio.sleep(self.rng.uniform(0, self.window))
            case Instant.RESTARTS if self._in_row:
                await asyncio.sleep(self.rng.uniform(0, SOON))
            case Instant.RESTARTS:
                await self.rng.choice(self.cluster.daemons).start_second()
            case Instant.ACKNOWLEDGED:
                return await self._disturb_at(self.triggers.acknowledged)
            case Instant.ACK_LOST:
                return await self._disturb_at(self.triggers.ack_lost)
            case Instant.MODEL_CALL:
                return await self._disturb_at(self.triggers.asked)
            case Instant.ANSWERED:
                return await self._disturb_at(self.triggers.answered, after=COMMITTED)
            case Instant.SHOWN:
                return await self._disturb_at(self.triggers.shown)
            case Instant.REWOUND:
                return await self._disturb_at(self.triggers.rewound, after=self.rng.uniform(0, REWINDING))
        return self._disturb_now(self.cluster.some(self.rng))

    async def _disturb_at(self, trigger: Trigger, after: float = 0.0) -> Sequence[Daemon]:
        """Disturb the process concerned at the next firing of the trigger, or `after` seconds later."""
        disturbed: asyncio.Future[Sequence[Daemon]] = asyncio.get_running_loop().create_future()

        def disturb(observation: Observation) -> None:
            if disturbed.done():  # too late: another process has been disturbed
                return
            place = observation.place
            disturbed.set_result(
                self._disturb_now([self.cluster.named(place)] if place else self.cluster.some(self.rng))
            )
            if self.disturbance is Disturbance.SUSPEND and observation.tokens:
                self._replaced.clear()
                self.triggers.asked.arm(lambda _: self._replaced.set(), token=observation.tokens[0])

        def wait(observation: Observation) -> None:
            asyncio.get_running_loop().call_later(after, partial(disturb, observation))

        await asyncio.sleep(self.wait_before)
        trigger.arm(wait if after else disturb)
        with suppress(TimeoutError):
            return await asyncio.wait_for(disturbed, EVENT_WITHIN)
        trigger.disarm()
        return self._disturb_now(self.cluster.some(self.rng))

    def _disturb_now(self, daemons: Sequence[Daemon]) -> Sequence[Daemon]:
        """Disturb these processes immediately, before the event loop runs other tasks."""
        for daemon in daemons:
            match self.disturbance:
                case Disturbance.KILL:
                    daemon.kill()
                case Disturbance.STOP:
                    daemon.request_stop()
                case Disturbance.SUSPEND:
                    daemon.suspend()
        return daemons

    async def _wait_for_end(self, daemon: Daemon) -> None:
        match self.disturbance:
            case Disturbance.KILL:
                await daemon.killed()
            case Disturbance.STOP:
                await daemon.stopped()
            case Disturbance.SUSPEND:
                with suppress(TimeoutError):
                    if self.instant is Instant.MODEL_CALL:
                        await asyncio.wait_for(self._replaced.wait(), REPLACED_WITHIN)
                    else:
                        await asyncio.sleep(self.rng.uniform(*SUSPENDED) * self.lease)
                daemon.resume()
