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
    """`path` begins with a slash. `template` is the prompt, with places such as `{{payload.a.b}}`; the answer goes to the
    channel (platform, connector, channel, thread). `secret` is sealed (empty: calls are not signed), `secret_end` its last
    four characters; `principal_id` is whom it acts for; `graph` is a workflow that takes the calls instead of the agent
    (`workflow:SLUG`; None: the agent); `author_id` is who wrote the template (None: `principal_id`). Times in ms."""

    id: str
    path: str
    name: str
    agent_id: str
    preset: Preset
    template: str
    platform: str
    connector: str
    channel: str
    thread: str
    secret: str
    secret_end: str
    enabled: bool
    principal_id: str | None
    last_triggered: int | None
    trigger_count: int
    created_at: int
    updated_at: int
    graph: str | None = None
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
