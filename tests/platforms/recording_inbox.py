"""An inbox with the rules of the daemon's own: repeated events count once, and positions only grow."""

from __future__ import annotations

import asyncio

from arvis.domain.messages import FeedPosition, IncomingMessage, MessageStatus
from arvis.domain.platforms import Click
from arvis.ports.inbox import Clicked, Received
from arvis.testing.conformance.connector_stage import RememberingInbox


class RecordingInbox(RememberingInbox):
    """An inbox that records what it receives.

    `messages` has each message once; `brought` counts how often each event came. The inbox fails `refusals` times.
    `outcome` is the result for each message, `click_done` the result for a click. Messages and clicks wait while `gate`
    is not set.
    """

    def __init__(
        self,
        *,
        refusals: int = 0,
        positions: dict[str, int] | None = None,
        outcome: MessageStatus = MessageStatus.QUEUED,
        click_done: bool = True,
    ) -> None:
        super().__init__(refusals=refusals)
        self.brought: dict[str, int] = {}
        self.reached: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self._positions.update(positions or {})
        self._outcome = outcome
        self._click_done = click_done

    @property
    def positions(self) -> dict[str, int]:
        return dict(self._positions)

    @property
    def contents(self) -> list[str]:
        return [message.content for message in self.messages]

    def refuse(self, times: int) -> None:
        """Be unavailable for the next `times` calls."""
        self._refusals = times

    async def receive(self, message: IncomingMessage) -> Received:
        await self.gate.wait()
        await self._take(message.event_id, message.position)
        self.brought[message.event_id] = self.brought.get(message.event_id, 0) + 1
        duplicate = self.brought[message.event_id] > 1
        if not duplicate:
            await self._keep(self.messages, message)
        return Received(message.event_id, self._outcome, "test", duplicate=duplicate)

    async def click(self, click: Click) -> Clicked:
        await self.gate.wait()
        await super().click(click)
        return Clicked("Noted.", done=self._click_done)

    async def _take(self, event: str, position: FeedPosition | None) -> None:
        await super()._take(event, position)
        await self._keep(self.reached, event)
