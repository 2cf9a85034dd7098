"""The read positions of bots. A position is the last event that a bot has read from its queue or from the history of a
channel."""

from __future__ import annotations

from collections.abc import Callable

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address, FeedPosition
from arvis.ports.store import Store, Transaction

#: The maximum number of feeds whose read positions are loaded for a bot. A bot has one feed for each channel that it
#: reads.
_MOST_FEEDS = 1_000

Fence = Callable[[Transaction], None]


def unfenced(_tx: Transaction) -> None:
    """Do nothing. Without a fence, no commit is checked, because no other process can receive the same events."""


@dataclass(frozen=True, slots=True)
class EventSource:
    """The bot that received an event, and its read position after this event."""

    fence: Fence
    address: Address
    #: None: this event does not change the read position.
    position: FeedPosition | None

    def advance(self, tx: Transaction) -> None:
        """Check the fence and store the read position, in the same commit as the results of the event."""
        self.fence(tx)
        if self.position is not None:
            tx.events.advance(self.address.platform, self.address.connector, self.position)


class FeedPositions:
    """The methods of `Inbox` that only read or store positions. Every commit calls `fence`."""

    def __init__(self, *, store: Store, fence: Fence = unfenced) -> None:
        self._store = store
        self._fence = fence

    async def passed(self, platform: str, connector: str, position: FeedPosition) -> None:
        await self._store.write(store_position, EventSource(self._fence, Address(platform, connector, ""), position))

    async def position(self, platform: str, connector: str, feed: str) -> int | None:
        return await self._store.read(lambda tx: tx.events.position(platform, connector, feed))

    async def feeds(self, platform: str, connector: str) -> dict[str, int]:
        return await self._store.read(lambda tx: dict(tx.events.feeds(platform, connector, _MOST_FEEDS)))


def store_position(tx: Transaction, source: EventSource) -> None:
    """Store the read position after events that change no other row."""
    source.advance(tx)
