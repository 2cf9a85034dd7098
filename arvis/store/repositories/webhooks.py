"""Web hooks over SQL."""

from __future__ import annotations

from arvis.domain.webhooks import Preset, Webhook
from arvis.store.sql.session import Row, Session
from arvis.store.sql.unreadable import lenient


class SqlWebhooks:
    """`Webhooks` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, webhook_id: str) -> Webhook | None:
        row = self._session.one("get_webhook", id=webhook_id)
        return webhook_of(row) if row else None

    def by_path(self, path: str) -> Webhook | None:
        row = self._session.one("webhook_by_path", path=path)
        return webhook_of(row) if row else None

    def add(self, webhook: Webhook) -> None:
        fields = {name: getattr(webhook, name) for name in Webhook.__slots__}
        self._session.execute("add_webhook", **{**fields, "enabled": int(webhook.enabled)})

    def update(self, webhook: Webhook) -> None:
        names = set(Webhook.__slots__) - {"created_at", "last_triggered", "trigger_count"}
        fields = {name: getattr(webhook, name) for name in names}
        self._session.execute("update_webhook", **{**fields, "enabled": int(webhook.enabled)})

    def remove(self, webhook_id: str) -> bool:
        self._session.execute("forget_webhook_calls", webhook_id=webhook_id)
        return self._session.execute("remove_webhook", id=webhook_id) == 1

    def take(self, webhook_id: str, call_id: str, execution_id: str | None, now: int) -> bool:
        fields = {"webhook_id": webhook_id, "call_id": call_id, "execution_id": execution_id, "now": now}
        if self._session.execute("add_webhook_call", **fields) == 0:
            return False
        self._session.execute("count_webhook_call", id=webhook_id, now=now)
        return True

    def taken(self, webhook_id: str, call_id: str) -> str | None:
        row = self._session.one("get_webhook_call", webhook_id=webhook_id, call_id=call_id)
        return row["execution_id"] if row else None

    def note_run(self, webhook_id: str, call_id: str, execution_id: str) -> None:
        self._session.execute("note_webhook_run", webhook_id=webhook_id, call_id=call_id, execution_id=execution_id)

    def prune_calls(self, before: int, limit: int) -> int:
        return self._session.execute("prune_webhook_calls", before=before, limit=limit)


def webhook_of(row: Row) -> Webhook:
    """Return a web hook; one with an unreadable row is switched off."""
    return lenient("webhooks", "name", row, sound_webhook, _switched_off)


def _switched_off(row: Row) -> Webhook:
    fields = {name: row[name] for name in Webhook.__slots__}
    return Webhook(**{**fields, "preset": Preset.PLAIN, "enabled": False})


def sound_webhook(row: Row) -> Webhook:
    """Raises what `UNREADABLE` names."""
    fields = {name: row[name] for name in Webhook.__slots__}
    return Webhook(**{**fields, "preset": Preset(row["preset"]), "enabled": bool(row["enabled"])})
