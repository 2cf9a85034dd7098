"""The origin of an event: each script of the inbox begins with `EventSource.advance`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arvis.domain.messages import Address, FeedPosition
from arvis.ports.store import Transaction

#: Raises when another process brings the events of this bot now.
Fence = Callable[[Transaction], None]


def unfenced(_tx: Transaction) -> None:
    """The fence where no other process can bring the same events."""


@dataclass(frozen=True, slots=True)
class EventSource:
    """The bot that brought an event, and how far it has read with this event."""

    fence: Fence
    address: Address
    #: None: this event moves no position.
    position: FeedPosition | None

    def advance(self, tx: Transaction) -> None:
        """Check the fence and store the position, in the commit of the event's results."""
        self.fence(tx)
        if self.position is not None:
            tx.events.advance(self.address.platform, self.address.connector, self.position)
