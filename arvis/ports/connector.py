"""The interface of a chat platform (`Connector`), and its optional features, one Protocol each.

A connector passes events to the inbox and sends deliveries; it decides nothing, stores nothing and calls no model. A
function `create(settings, services)`, registered under `arvis.connectors`, creates it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from arvis.domain.messages import Address, Button, Delivery
from arvis.domain.platforms import Draft, Part, Piece
from arvis.ports.clock import Clock
from arvis.ports.inbox import Inbox


class Guarantee(StrEnum):
    """The guarantee for an interrupted send (reliability.md §3). `idempotent`: sending again shows it once.
    `reconciled`: the connector can find out whether it arrived (`FindsParts`). `at_least_once`: it is sent again.
    `at_most_once`: it is not sent again, and its state is reported as unknown. `reserve_then_fill`: a placeholder is
    sent, and then edited."""

    IDEMPOTENT = "idempotent"
    RECONCILED = "reconciled"
    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"
    RESERVE_THEN_FILL = "reserve_then_fill"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Options of a connector. `whole`: a delivery is never divided, and no note is stored before it is sent (then the
    guarantee is `idempotent`). `late_after` (ms) and `late` are this bot's own rules for late replies (None: the
    daemon's)."""

    guarantee: Guarantee = Guarantee.IDEMPOTENT
    whole: bool = False
    late_after: int | None = None
    late: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of a send: the platform's id of the message."""

    platform_id: str


class SendError(Exception):
    """A send that failed. `permanent`: the platform will never accept this. `gone` (always with `permanent`): the
    platform accepts nothing for this channel any more (kicked, blocked, deleted). `retry_after` is in seconds.
    `uncertain`: it may have arrived. `acknowledged` (always with `uncertain`): the platform confirmed that it
    arrived, but not under which id. `moved_to`: the channel was replaced by another one."""

    def __init__(
        self,
        text: str,
        *,
        permanent: bool = False,
        gone: bool = False,
        retry_after: float | None = None,
        uncertain: bool = False,
        acknowledged: bool = False,
        moved_to: str | None = None,
    ) -> None:
        super().__init__(text)
        self.permanent = permanent or gone
        self.gone = gone
        self.retry_after = retry_after
        self.uncertain = uncertain or acknowledged
        self.acknowledged = acknowledged
        self.moved_to = moved_to


class FetchError(Exception):
    """A file could not be fetched. `permanent`: it was deleted, or is too large; `retry_after` in seconds."""

    def __init__(self, text: str, *, permanent: bool = False, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.permanent = permanent
        self.retry_after = retry_after


class TokenRefused(Exception):
    """Raised by `Connector.run`: the platform rejects the bot's token or its requested permissions. A retry is
    useless until a person changes them. The text explains what to do and contains no secret."""


class BadSetting(Exception):
    """Raised by `create`: a setting of the bot is wrong. `key` names it; `fix` describes a valid value."""

    def __init__(self, key: str, text: str, *, fix: str = "") -> None:
        super().__init__(text)
        self.key = key
        self.text = text
        self.fix = fix


@dataclass(frozen=True, slots=True)
class BotUp:
    """Reports the bot's identity on its platform."""

    user_id: str
    user_name: str


@runtime_checkable
class Connector(Protocol):
    @property
    def platform(self) -> str: ...

    @property
    def name(self) -> str:
        """The name of the bot on its platform."""
        ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def run(self, inbox: Inbox, up: Callable[[BotUp], None]) -> None:
        """Pass events to the inbox until cancelled. Call `up` when events arrive, and again after each time that the
        platform was unreachable. Raises `TokenRefused`; any other exception counts as a temporary outage, and the
        connector is run again."""
        ...

    def plan(self, delivery: Delivery) -> Sequence[Piece]:
        """Divide a delivery into pieces that can each be sent in one request; at least one piece. The same delivery
        gives the same pieces."""
        ...

    async def send(self, part: Part) -> Receipt:
        """Send one part, or replace the content of `part.platform_id` if it is set (an edit, which may be repeated).
        Works whether or not `run` does. Raises only `SendError`."""
        ...

    async def close(self) -> None:
        """Release the resources that `send` opened."""
        ...


@runtime_checkable
class FindsParts(Protocol):
    async def find(self, part: Part) -> Receipt | None:
        """Return the part if an earlier try delivered it; None if it certainly did not arrive, or if sending it again
        shows it once. Raises `SendError`: `permanent` if this cannot be found out, otherwise the call may be
        repeated."""
        ...


@runtime_checkable
class Reserves(Protocol):
    async def reserve(self, part: Part) -> Receipt:
        """Send a placeholder, which `send` will fill. Raises `SendError`."""
        ...


@runtime_checkable
class ShowsTyping(Protocol):
    @property
    def typing_seconds(self) -> float:
        """The time for which the platform shows it."""
        ...

    async def typing(self, address: Address) -> None:
        """Show that the bot is working. Raises `SendError`, which the caller ignores."""
        ...


@runtime_checkable
class ShowsDrafts(Protocol):
    @property
    def draft_seconds(self) -> float:
        """The least time between two changes of a draft."""
        ...

    async def show_draft(self, address: Address, key: str, text: str, buttons: Sequence[Button]) -> str | None:
        """Show text that will change; return the platform's id of it, or None if it needs no removal. Raises
        `SendError`."""
        ...

    async def change_draft(self, address: Address, platform_id: str, text: str, buttons: Sequence[Button]) -> None:
        """Raises `SendError`."""
        ...

    async def remove_draft(self, address: Address, platform_id: str) -> None:
        """Remove the draft; a draft that does not exist counts as removed. Raises `SendError`."""
        ...


@runtime_checkable
class FindsDrafts(Protocol):
    async def find_draft(self, draft: Draft) -> str | None:
        """Return the id of a draft that an earlier process may have left in its chat; None if there is none, or if
        this cannot be found out. Where the platform shows a key once, this may send the draft now: the answer
        replaces it, or it is removed. Raises `SendError`."""
        ...


@runtime_checkable
class FetchesFiles(Protocol):
    async def fetch(self, source: str, max_bytes: int) -> bytes:
        """Return the bytes of a file by its `FileRef.source`. Raises `FetchError`, also for a larger file."""
        ...


@dataclass(frozen=True, slots=True)
class SetupFinding:
    """A result of a bot check for `arvis doctor`; `level` is `ok`, `warning` or `error`."""

    level: str
    text: str
    fix: str = ""


@runtime_checkable
class ChecksSetup(Protocol):
    async def check(self) -> Sequence[SetupFinding]:
        """Check with the platform whether token, scopes and intents match the bot's needs. Changes nothing."""
        ...


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    status: int
    body: bytes = b""
    content_type: str = "text/plain"


@runtime_checkable
class TakesWebhooks(Protocol):
    async def webhook(self, headers: Mapping[str, str], body: bytes, inbox: Inbox) -> WebhookAnswer:
        """Handle a request at `/hooks/PLATFORM/NAME` from any sender: check the signature first. `headers` have
        lower-case names."""
        ...


@dataclass(frozen=True, slots=True)
class BotSettings:
    """The configuration of a bot: everything besides its name is in `values`, with secrets resolved."""

    name: str
    values: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class CommandHint:
    """A text command, for platforms that show a list of them."""

    name: str
    about: str


@dataclass(frozen=True, slots=True)
class ConnectorServices:
    """Services for connectors."""

    clock: Clock
    commands: Sequence[CommandHint]
    #: A reply that needs more parts becomes a file.
    max_parts: int = 5
    #: The guarantee that the configuration requests from platforms with a choice.
    guarantee: Guarantee = Guarantee.AT_LEAST_ONCE
    #: The public address of this daemon.
    public_url: str | None = None


class CreateConnector(Protocol):
    def __call__(self, settings: BotSettings, services: ConnectorServices) -> Connector:
        """Check the settings and create a connector without contacting the platform. Raises `BadSetting`."""
        ...
