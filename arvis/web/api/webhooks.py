"""Webhooks over HTTP: create, change and remove them, and rotate their secrets. A secret is shown once, at its
creation."""

from __future__ import annotations

import asyncio
import secrets as randomness
from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response

from arvis.domain.agents import Agent
from arvis.domain.webhooks import Preset, Webhook
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store, Transaction
from arvis.services import webhooks
from arvis.services.agents import slugs
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.identity import OPERATE
from arvis.web.http.requests import Fields, unusable
from arvis.web.http.schema import (
    BOOLEAN,
    INTEGER,
    LABEL,
    OK,
    STRING,
    TIME,
    Schema,
    object_schema,
    one_of,
    optional,
    page_schema,
)
from arvis.web.http.views import page_view

_SECRET_BYTES = 24
_SHORTEST, _LONGEST = 8, 200
_END = 4

_WRITABLE: dict[str, Schema] = {
    "path": {**LABEL, "description": "`ci/deploy` is called at `/hooks/ci/deploy`."},
    "name": LABEL,
    "agent": LABEL,
    "preset": {**one_of(Preset), "description": "The signature scheme of the caller; default `plain`."},
    "template": {
        **STRING,
        "description": "The prompt for the agent, with `{{payload}}`, `{{payload.a.b}}`, `{{headers.x}}`.",
    },
    "platform": LABEL,
    "connector": {**STRING, "description": "The name of the bot that posts the answers."},
    "channelId": LABEL,
    "thread": STRING,
    "graph": {
        **optional(LABEL),
        "description": "`workflow:SLUG` runs a workflow with the filled template; null: the agent.",
    },
    "enabled": BOOLEAN,
}
_SECRET: Schema = {**STRING, "minLength": _SHORTEST, "maxLength": _LONGEST}
WEBHOOK = object_schema(
    {
        "id": STRING,
        **_WRITABLE,
        "url": {**STRING, "description": "Its path on this server."},
        "secret": {
            **STRING,
            "description": "Dots and the last four characters; complete only when it is created or rotated.",
        },
        "lastTriggered": optional(TIME),
        "triggerCount": INTEGER,
        "createdAt": TIME,
        "updatedAt": TIME,
    }
)
NEW_WEBHOOK = object_schema(
    {**_WRITABLE, "secret": {**_SECRET, "description": "Default: a new secret is generated."}},
    required=("path", "agent", "template", "platform", "channelId"),
)
CHANGED_WEBHOOK = object_schema({**_WRITABLE, "secret": _SECRET}, required=())

#: The fields of the body, and the fields of `Webhook` to which they belong.
_TEXTS = {
    "path": "path", "name": "name", "agent": "agent_id", "template": "template", "platform": "platform",
    "connector": "connector", "channelId": "channel", "thread": "thread",
}  # fmt: skip


class WebhookRoutes:
    """Routes of webhooks. `random_hex` returns the given number of random bytes in hex."""

    def __init__(
        self,
        *,
        insights: Insights,
        store: Store,
        gate: Authorizer,
        secrets: SecretBox,
        clock: Clock,
        random_hex: Callable[[int], str] = randomness.token_hex,
    ) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._secrets = secrets
        self._clock = clock
        self._random_hex = random_hex

    def endpoints(self) -> list[Endpoint]:
        all_, one = "/api/webhooks", "/api/webhooks/{webhook}"
        listed, shown, made = {200: page_schema(WEBHOOK)}, {200: WEBHOOK}, {201: WEBHOOK}
        query = {**PAGING, "agent": LABEL}
        return [
            Endpoint("GET", all_, "List webhooks, newest first", OPERATE, self._list, listed, query=query),
            Endpoint(
                "POST", all_, "Create a webhook; its secret is shown once", OPERATE, self._add, made, body=NEW_WEBHOOK
            ),
            Endpoint("GET", one, "Show a webhook", OPERATE, self._show, shown),
            Endpoint("PATCH", one, "Change the fields in the body", OPERATE, self._change, shown, body=CHANGED_WEBHOOK),
            Endpoint("DELETE", one, "Delete a webhook", OPERATE, self._remove, {200: OK}),
            Endpoint(
                "POST", f"{one}/rotate", "Rotate the secret; the new one is shown once", OPERATE, self._rotate, shown
            ),
        ]

    async def _list(self, call: Call) -> Response:
        page = await self._insights.webhooks(agent=call.query("agent"), limit=call.limit, cursor=call.query("cursor"))
        agents = await self._store.read(slugs)
        return answer(page_view([_view(webhook, agents) for webhook in page.items], page.next_cursor))

    async def _add(self, call: Call) -> Response:
        fields, by = await call.fields(), await self._gate.principal_id(call.identity)
        for name in ("path", "agent", "template", "platform", "channelId"):
            fields.required_text(name)
        changes = _changes(fields)
        secret = _secret(fields) or self._random_hex(_SECRET_BYTES)
        blank = {
            "id": "", "name": "", "preset": Preset.PLAIN, "connector": "", "thread": "", "enabled": True,
            "last_triggered": None, "trigger_count": 0, "created_at": 0, "updated_at": 0,
        }  # fmt: skip
        wanted = Webhook(**{**blank, **changes, **await self._sealed(secret), "principal_id": by})
        made = await self._store.write(webhooks.add_webhook, wanted, self._clock.now())
        return await self._shown(made.id, status=201, secret=secret)

    async def _show(self, call: Call) -> Response:
        return await self._shown(call.id("webhook"))

    async def _change(self, call: Call) -> Response:
        fields = await call.fields()
        changes, secret = _changes(fields), _secret(fields)
        if secret is not None:
            changes |= await self._sealed(secret)
        return await self._written(call, changes)

    async def _rotate(self, call: Call) -> Response:
        secret = self._random_hex(_SECRET_BYTES)
        return await self._written(call, await self._sealed(secret), secret=secret)

    async def _remove(self, call: Call) -> Response:
        await self._store.write(webhooks.remove_webhook, call.id("webhook"))
        return answer({"ok": True})

    async def _written(self, call: Call, changes: Mapping[str, Any], secret: str | None = None) -> Response:
        by, webhook_id = await self._gate.principal_id(call.identity), call.id("webhook")
        await self._store.write(webhooks.change_webhook, webhook_id, changes, self._clock.now(), by=by)
        return await self._shown(webhook_id, secret=secret)

    async def _sealed(self, secret: str) -> dict[str, str]:
        """Encrypt the secret in a thread, because the very first encryption writes a new key to the disk."""
        return {"secret": await asyncio.to_thread(self._secrets.seal, secret), "secret_end": secret[-_END:]}

    async def _shown(self, webhook_id: str, *, status: int = 200, secret: str | None = None) -> Response:
        webhook, agent = await self._store.read(_look, webhook_id)
        view = _view(webhook, {agent.id: agent.slug} if agent is not None else {})
        return answer(view if secret is None else {**view, "secret": secret}, status)


def _changes(fields: Fields) -> dict[str, Any]:
    """Return the fields that the body sets, named as in `Webhook`."""
    changes: dict[str, Any] = {}
    for name, field in _TEXTS.items():
        if (text := fields.text(name)) is not None:
            changes[field] = text
    if (preset := fields.text("preset")) is not None:
        if preset not in set(Preset):
            raise unusable("preset", f"must be one of {', '.join(Preset)}")
        changes["preset"] = Preset(preset)
    if fields.has("graph"):
        changes["graph"] = fields.text("graph") or None
    if (enabled := fields.raw("enabled")) is not None:
        if not isinstance(enabled, bool):
            raise unusable("enabled", "must be true or false")
        changes["enabled"] = enabled
    return changes


def _secret(fields: Fields) -> str | None:
    secret = fields.text("secret")
    if secret is not None and not (
        _SHORTEST <= len(secret) <= _LONGEST and secret.isprintable() and secret.strip() == secret
    ):
        raise unusable(
            "secret", f"must be {_SHORTEST} to {_LONGEST} printable characters without leading or trailing blanks"
        )
    return secret


def _look(tx: Transaction, webhook_id: str) -> tuple[Webhook, Agent | None]:
    webhook = webhooks.find_webhook(tx, webhook_id)
    return webhook, tx.agents.get(webhook.agent_id)


def _view(webhook: Webhook, agents: Mapping[str, str]) -> dict[str, Any]:
    """Return a webhook. A deleted agent is shown by its id."""
    return {
        "id": webhook.id,
        "path": webhook.path,
        "url": f"/hooks{webhook.path}",
        "name": webhook.name,
        "agent": agents.get(webhook.agent_id, webhook.agent_id),
        "preset": webhook.preset,
        "template": webhook.template,
        "platform": webhook.platform,
        "connector": webhook.connector,
        "channelId": webhook.channel,
        "thread": webhook.thread,
        "graph": webhook.graph,
        "secret": f"••••{webhook.secret_end}",
        "enabled": webhook.enabled,
        "lastTriggered": webhook.last_triggered,
        "triggerCount": webhook.trigger_count,
        "createdAt": webhook.created_at,
        "updatedAt": webhook.updated_at,
    }
