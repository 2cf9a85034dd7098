"""The repository of web hooks and of accepted calls."""

from __future__ import annotations

from typing import Protocol

from arvis.domain.webhooks import Webhook
from arvis.ports.pages import Page


class Webhooks(Protocol):
    def get(self, webhook_id: str) -> Webhook | None: ...

    def by_path(self, path: str) -> Webhook | None: ...

    def add(self, webhook: Webhook) -> None: ...

    def update(self, webhook: Webhook) -> None: ...

    def remove(self, webhook_id: str) -> bool: ...

    def take(self, webhook_id: str, call_id: str, execution_id: str | None, now: int) -> bool:
        """Note a call (times in ms) and count it; return False if it was accepted before."""
        ...

    def taken(self, webhook_id: str, call_id: str) -> str | None:
        """Return the run that this call has started; None if the call was never accepted."""
        ...

    def note_run(self, webhook_id: str, call_id: str, execution_id: str) -> None:
        """Note the run that an accepted call has started."""
        ...

    def prune_calls(self, before: int, limit: int) -> int:
        """Delete up to `limit` calls that were accepted before this time; return their number."""
        ...


class WebhookInsights(Protocol):
    async def webhooks(self, *, agent: str | None, limit: int, cursor: str | None) -> Page[Webhook]:
        """Return web hooks, newest first. `agent` is an id or a slug."""
        ...
