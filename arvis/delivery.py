"""Step 13: deliveries leave through their connector, one at a time and in order in each place.

A platform on which a resend shows twice gets a `sending` mark first, so that an interrupted send is known as
`unknown` and never blindly repeated; one on which it does not (`safe_resend`) needs no mark.
"""

from __future__ import annotations

from collections.abc import Mapping

from arvis.domain.errors import LeaseLost
from arvis.domain.jobs import Done, Failed, GiveUp, Job, NotBefore, Retry, Settled, Snooze, TryAgain, Verdict
from arvis.domain.messages import Delivery, DeliveryState
from arvis.ports.clock import Clock
from arvis.ports.connector import Connector, Receipt, SendError
from arvis.ports.store import Store, Transaction

#: Seconds; a platform that says "again at once" every time must not keep us busy.
SHORTEST_REST = 1.0


class Deliverer:
    """`Handler` for jobs of kind `deliver`. `connectors` by (platform, name)."""

    def __init__(self, *, store: Store, connectors: Mapping[tuple[str, str], Connector], clock: Clock) -> None:
        self._store = store
        self._connectors = connectors
        self._clock = clock

    async def run(self, job: Job) -> Verdict:
        if (delivery := job.delivery) is None:
            return GiveUp("no_delivery", "the delivery of this job does not exist")
        connector = self._connectors.get((delivery.address.platform, delivery.address.connector))
        if connector is None:
            return GiveUp(
                "no_connector", f"no connector {delivery.address.platform}/{delivery.address.connector} is set up"
            )
        if delivery.state is DeliveryState.SENDING:
            return GiveUp("interrupted", "the process died while this was being sent: it may have arrived")
        if not connector.capabilities.safe_resend:
            await self._store.write(_mark, job, delivery, DeliveryState.SENDING, self._clock.now())
        try:
            receipt = await connector.send(delivery)
        except SendError as error:
            return await self._after(error, connector, job, delivery)
        await self._store.write(_sent, job, delivery, receipt, self._clock.now())
        return Settled()

    def postponed(self, tx: Transaction, job: Job, outcome: Retry | Snooze | Failed, now: int) -> None:
        """A delivery that is given up says so; `unknown` when it may have arrived."""
        if isinstance(outcome, Failed) and job.delivery_id is not None:
            uncertain = outcome.reason in {"interrupted", "uncertain"}
            state = DeliveryState.UNKNOWN if uncertain else DeliveryState.FAILED
            tx.deliveries.set_state(job.delivery_id, state, now, error=outcome.error)

    async def announce(self, job: Job, outcome: Retry | Snooze | Failed) -> None:
        """Nobody waits for a delivery."""

    async def _after(self, error: SendError, connector: Connector, job: Job, delivery: Delivery) -> Verdict:
        if error.uncertain and not connector.capabilities.safe_resend:
            return GiveUp("uncertain", str(error))
        if not connector.capabilities.safe_resend:
            await self._store.write(_mark, job, delivery, DeliveryState.PENDING, self._clock.now())
        if error.permanent:
            return GiveUp("refused", str(error))
        if error.retry_after is not None:
            return NotBefore(max(error.retry_after, SHORTEST_REST), "rate_limit")
        return TryAgain(str(error))


def _mark(tx: Transaction, job: Job, delivery: Delivery, state: DeliveryState, now: int) -> None:
    if not tx.jobs.held(job):
        raise LeaseLost("The job was taken away while it ran")
    tx.deliveries.set_state(delivery.id, state, now)


def _sent(tx: Transaction, job: Job, delivery: Delivery, receipt: Receipt, now: int) -> None:
    if not tx.jobs.settle(job, Done(), now):
        raise LeaseLost("The job was taken away while it ran")
    tx.deliveries.set_state(delivery.id, DeliveryState.SENT, now, platform_id=receipt.platform_id)
