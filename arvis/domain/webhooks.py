"""Web hooks: addresses that other programs call, and the prompts that calls become (behaviour.md 1.18)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from arvis.domain.messages import Address


class Preset(StrEnum):
    """The service whose method of signing and identifying calls is expected."""

    PLAIN = "plain"
    GITHUB = "github"
    STRIPE = "stripe"


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that another program calls. Times in ms."""

    id: str
    #: Begins with a slash.
    path: str
    name: str
    agent_id: str
    preset: Preset
    #: The prompt, with placeholders such as `{{payload.a.b}}`.
    template: str
    #: The answer goes to this platform, connector, channel and thread.
    platform: str
    connector: str
    channel: str
    thread: str
    #: Sealed; empty: calls are not signed.
    secret: str
    #: The last four characters of the secret.
    secret_end: str
    enabled: bool
    #: The person for whom it acts.
    principal_id: str | None
    last_triggered: int | None
    trigger_count: int
    created_at: int
    updated_at: int
    #: A workflow (`workflow:SLUG`) that handles the calls instead of the agent; None: the agent.
    graph: str | None = None
    #: The principal who wrote the template; None: `principal_id`.
    author_id: str | None = None

    @property
    def author(self) -> str | None:
        """The principal who wrote the text that is executed."""
        return self.author_id or self.principal_id

    @property
    def address(self) -> Address:
        return Address(self.platform, self.connector, self.channel, self.thread)

    @property
    def source(self) -> str:
        """The mark of messages that this web hook caused."""
        return f"webhook:{self.id}"
