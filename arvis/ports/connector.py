"""The interface of a chat platform (`Connector`), and its optional features, one Protocol each.

A connector passes events to the inbox and sends deliveries. It makes no decisions about messages, stores nothing and
calls no model. An entry point in the group `arvis.connectors` names the function `create(settings, services)` that
creates the connector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar, cast, runtime_checkable

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address, Button, Delivery
from arvis.domain.platforms import Draft, Part, Piece
from arvis.ports.clock import Clock
from arvis.ports.inbox import Inbox

T = TypeVar("T")


class Guarantee(StrEnum):
    """The guarantee of a platform for the parts that are sent. It decides how an interrupted send is continued."""

    #: The part is sent again with the same key, and the platform shows it once.
    IDEMPOTENT = "idempotent"
    #: The connector first finds out whether the part arrived (`FindsParts`).
    RECONCILED = "reconciled"
    #: The part is sent again, and may appear twice.
    AT_LEAST_ONCE = "at_least_once"
    #: The part is not sent again, and its state is reported as unknown.
    AT_MOST_ONCE = "at_most_once"
    #: A placeholder is sent first. The part is an edit of the placeholder, which can be repeated.
    RESERVE_THEN_FILL = "reserve_then_fill"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Properties of a connector."""

    guarantee: Guarantee = Guarantee.IDEMPOTENT
    #: True if a delivery is sent in one part, and is not stored as `sending` before it is sent. Requires the guarantee
    #: `idempotent`.
    whole: bool = False
    #: The time (ms) after which a reply of this bot is late. If None, the daemon's setting applies.
    late_after: int | None = None
    #: The handling of late replies of this bot. If None, the daemon's setting applies.
    late: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of a send: the platform's id of the message."""

    platform_id: str


class SendError(Exception):
    """The failure of a send.

    - `permanent`: the platform will never accept this content.
    - `gone` (implies `permanent`): the platform accepts no more messages for this channel, because the bot was removed
      or blocked, or the channel was deleted.
    - `retry_after`: the seconds until another attempt.
    - `uncertain`: the message may have arrived.
    - `acknowledged` (implies `uncertain`): the platform confirmed the message, but did not report its id.
    - `moved_to`: the id of the channel that replaced this one.
    """

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
    """The failure to fetch a file. `permanent`: the file was deleted, or is too large. `retry_after`: seconds until
    another attempt."""

    def __init__(self, text: str, *, permanent: bool = False, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.permanent = permanent
        self.retry_after = retry_after


class TokenRefused(Exception):
    """The error of `Connector.run` if the platform rejects the bot's token or the permissions that the bot requests. A
    retry is useless until a person changes them. The text names the fix, and contains no secret."""


class BadSetting(Exception):
    """The error of `create` for an invalid setting of the bot. `key` is the name of the setting; `fix` describes a
    valid value."""

    def __init__(self, key: str, text: str, *, fix: str = "") -> None:
        super().__init__(text)
        self.key = key
        self.text = text
        self.fix = fix


@dataclass(frozen=True, slots=True)
class BotUp:
    """The bot's own id and name on its platform."""

    user_id: str
    user_name: str


@runtime_checkable
class Connector(Protocol):
    @property
    def platform(self) -> str: ...

    @property
    def name(self) -> str:
        """The name of the bot, unique among the bots of its platform in this installation."""
        ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def run(self, inbox: Inbox, up: Callable[[BotUp], None]) -> None:
        """Pass events to the inbox until cancelled. Call `up` as soon as events can arrive, and again after each outage
        of the platform. Raise `TokenRefused` if the platform rejects the bot. After any other exception, which counts
        as a temporary outage, the caller runs the connector again."""
        ...

    def plan(self, delivery: Delivery) -> Sequence[Piece]:
        """Divide a delivery into one or more pieces that can each be sent in one request. The same delivery always
        gives the same pieces."""
        ...

    async def send(self, part: Part) -> Receipt:
        """Send one part. If `part.platform_id` is set, edit the message with that id instead; such an edit may be
        repeated. This must also work in a process that does not call `run`. Raise only `SendError`."""
        ...

    async def close(self) -> None:
        """Release the resources that `send` opened."""
        ...


@runtime_checkable
class FindsParts(Protocol):
    async def find(self, part: Part) -> Receipt | None:
        """Return the receipt of a part that an earlier attempt has sent. Return None if the part can safely be sent
        again: it certainly did not arrive, or the platform does not show a repeated part twice. Raise `SendError`: a
        `permanent` error means that the connector can never find out whether the part arrived; after any other error
        the caller may try again."""
        ...


@runtime_checkable
class Reserves(Protocol):
    async def reserve(self, part: Part) -> Receipt:
        """Send a placeholder, which `send` will fill. Raise `SendError` if this fails."""
        ...


@runtime_checkable
class ShowsStored(Protocol):
    """A connector whose deliveries count as sent when they are stored."""

    def show(self, delivery: Delivery) -> None:
        """Show a stored delivery to the clients that are connected now."""
        ...


class Ability(Generic[T]):
    """A test for one of the optional protocols of connectors. `test` returns the connector if it implements the
    protocol. The result is cached for each class, because Python's test of a protocol takes longer than all other work
    for an event."""

    def __init__(self, test: Callable[[object], T | None]) -> None:
        self._test = test
        self._known: dict[type[object], bool] = {}

    def of(self, connector: Connector | None) -> T | None:
        """Return the connector if it implements the protocol, otherwise None."""
        known = self._known.get(type(connector))
        if known is None:
            known = self._known[type(connector)] = self._test(connector) is not None
        return cast(T, connector) if known else None


@runtime_checkable
class ShowsTyping(Protocol):
    @property
    def typing_seconds(self) -> float:
        """The seconds for which the platform shows that the bot is typing."""
        ...

    async def typing(self, address: Address) -> None:
        """Show that the bot is working. Raise `SendError` if this fails; the caller ignores the error."""
        ...


@runtime_checkable
class ShowsDrafts(Protocol):
    @property
    def draft_seconds(self) -> float:
        """The minimum number of seconds between two changes of a draft."""
        ...

    async def show_draft(self, address: Address, key: str, text: str, buttons: Sequence[Button]) -> str | None:
        """Show a draft in the chat. Return the platform's id of the draft, or None if the draft disappears by itself.
        Raise `SendError` if this fails."""
        ...

    async def change_draft(self, address: Address, platform_id: str, text: str, buttons: Sequence[Button]) -> None:
        """Replace the text of a draft. Raise `SendError` if this fails."""
        ...

    async def remove_draft(self, address: Address, platform_id: str) -> None:
        """Remove the draft; a draft that does not exist counts as removed. Raise `SendError` if this fails."""
        ...


@runtime_checkable
class FindsDrafts(Protocol):
    async def find_draft(self, draft: Draft) -> str | None:
        """Return the platform's id of a draft that a dead process may have left in the chat. Return None if the chat
        shows no such draft, or if the connector cannot find out. On a platform that shows one message for each key, a
        connector may send the draft again to get its id; the caller then replaces or removes the draft. Raise
        `SendError` if this fails."""
        ...


@runtime_checkable
class FetchesFiles(Protocol):
    async def fetch(self, source: str, max_bytes: int) -> bytes:
        """Return the bytes of the file with this `FileRef.source`. Raise `FetchError` if the file cannot be fetched or
        has more than `max_bytes`."""
        ...


@dataclass(frozen=True, slots=True)
class SetupFinding:
    """One result of the check of a bot by `arvis doctor`; `level` is `ok`, `warning` or `error`."""

    level: str
    text: str
    fix: str = ""


@runtime_checkable
class ChecksSetup(Protocol):
    async def check(self) -> Sequence[SetupFinding]:
        """Ask the platform whether the bot's token, scopes and intents are sufficient. Changes nothing."""
        ...


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    status: int
    body: bytes = b""
    content_type: str = "text/plain"


@runtime_checkable
class TakesWebhooks(Protocol):
    async def webhook(self, headers: Mapping[str, str], body: bytes, inbox: Inbox) -> WebhookAnswer:
        """Handle a request to `/hooks/PLATFORM/NAME`. Anyone can send such a request, so check its signature first. The
        names of `headers` are in lower case."""
        ...


@dataclass(frozen=True, slots=True)
class BotSettings:
    """The configuration of a bot: its name, and all other settings in `values`, with readable secrets."""

    name: str
    values: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class CommandHint:
    """A text command, for platforms that show a list of commands."""

    name: str
    about: str


@dataclass(frozen=True, slots=True)
class ConnectorServices:
    """The services and settings of the daemon that `create` passes to a connector."""

    clock: Clock
    commands: Sequence[CommandHint]
    #: The maximum number of parts of a reply. A longer reply is sent as a file.
    max_parts: int = 5
    #: The configured guarantee, for platforms that can give several guarantees.
    guarantee: Guarantee = Guarantee.AT_LEAST_ONCE
    #: The public address of this daemon.
    public_url: str | None = None


class CreateConnector(Protocol):
    def __call__(self, settings: BotSettings, services: ConnectorServices) -> Connector:
        """Check the settings and create a connector without contacting the platform. Raise `BadSetting` if a setting is
        not valid."""
        ...
