"""What a chat platform must offer. Whatever it can do more is a further Protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from arvis.domain.messages import Address, Delivery
from arvis.ports.inbox import Inbox


@dataclass(frozen=True, slots=True)
class Capabilities:
    """`text_limit` is in the platform's unit (None: no limit). `safe_resend`: sending the same delivery twice
    shows it once, so an interrupted send is simply repeated."""

    text_limit: int | None = None
    safe_resend: bool = False


@dataclass(frozen=True, slots=True)
class Receipt:
    """The platform's id of what was sent."""

    platform_id: str


class SendError(Exception):
    """A send that failed. `permanent`: the platform will never take it; `retry_after` in seconds;
    `uncertain`: it may have arrived."""

    def __init__(
        self, text: str, *, permanent: bool = False, retry_after: float | None = None, uncertain: bool = False
    ) -> None:
        super().__init__(text)
        self.permanent = permanent
        self.retry_after = retry_after
        self.uncertain = uncertain


class Connector(Protocol):
    @property
    def platform(self) -> str: ...

    @property
    def name(self) -> str:
        """Which bot of the platform this is."""
        ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def run(self, inbox: Inbox) -> None:
        """Bring events to the inbox until cancelled."""
        ...

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one part or raise `SendError`."""
        ...


class ShowsTyping(Protocol):
    async def typing(self, address: Address) -> None: ...
