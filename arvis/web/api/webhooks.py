"""Webhooks over HTTP: create, change and remove them, and rotate their secrets. A secret is shown once, at its
creation."""

from __future__ import annotations

import asyncio
import secrets as randomness
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field
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
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import OPERATE
from arvis.web.http.models import CLEARING, MEMBER, About, Body, OkView, Page, Says, Time, View
from arvis.web.http.schema import LABEL

_SECRET_BYTES = 24
_SHORTEST, _LONGEST = 8, 200
_END = 4


def _as_typed(text: str) -> str:
    """Refuse a text with blanks at its ends, or with characters that cannot be seen."""
    if not text.isprintable() or text.strip() != text:
        raise ValueError
    return text


_PATH = "`ci/deploy` is called at `/hooks/ci/deploy`."
_PRESET = "The signature scheme of the caller; default `plain`."
_TEMPLATE = "The prompt for the agent, with `{{payload}}`, `{{payload.a.b}}`, `{{headers.x}}`."
_CONNECTOR = "The name of the bot that posts the answers."
_GRAPH = "`workflow:SLUG` runs a workflow with the filled template; null: the agent."
_Name = Annotated[str, About(minLength=1, maxLength=200)]


class WebhookView(View):
    id: str
    path: Annotated[_Name, About(_PATH)]
    name: _Name
    agent: _Name
    preset: Annotated[Preset, About(_PRESET)]
    template: Annotated[str, About(_TEMPLATE)]
    platform: _Name
    connector: Annotated[str, About(_CONNECTOR)]
    channel_id: _Name
    thread: str
    graph: Annotated[_Name | None, About(_GRAPH)]
    enabled: bool
    url: Annotated[str, About("Its path on this server.")]
    secret: Annotated[str, About("Dots and the last four characters; complete only when it is created or rotated.")]
    last_triggered: Time | None
    trigger_count: int
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, webhook: Webhook, agents: Mapping[str, str], secret: str | None = None) -> Self:
        """Return a webhook. A deleted agent is shown by its id. A new `secret` is shown completely."""
        return cls.showing(
            webhook,
            url=f"/hooks{webhook.path}",
            agent=agents.get(webhook.agent_id, webhook.agent_id),
            channel_id=webhook.channel,
            secret=f"••••{webhook.secret_end}" if secret is None else secret,
        )


_Secret = Annotated[
    str,
    Field(min_length=_SHORTEST, max_length=_LONGEST),
    AfterValidator(_as_typed),
    Says(f"must be {_SHORTEST} to {_LONGEST} printable characters without leading or trailing blanks"),
]


class ChangedWebhook(Body):
    path: Annotated[_Name | None, About(_PATH)] = None
    name: _Name | None = None
    agent: _Name | None = None
    preset: Annotated[Preset | None, MEMBER, About(_PRESET)] = None
    template: Annotated[str | None, About(_TEMPLATE)] = None
    platform: _Name | None = None
    connector: Annotated[str | None, About(_CONNECTOR)] = None
    channel_id: _Name | None = None
    thread: str | None = None
    graph: Annotated[_Name | None, CLEARING, About(_GRAPH)] = None
    enabled: bool | None = None
    secret: _Secret | None = None

    def written(self) -> dict[str, Any]:
        """Return the fields that the body sets, named as in `Webhook`, without the secret."""
        changes = {_OTHERS.get(name, name): value for name, value in self.sent().items() if name != "secret"}
        return {**changes, "graph": changes["graph"] or None} if "graph" in changes else changes


class NewWebhook(ChangedWebhook):
    path: Annotated[_Name, About(_PATH)]
    agent: _Name
    template: Annotated[str, About(_TEMPLATE)]
    platform: _Name
    channel_id: _Name
    secret: Annotated[_Secret | None, About("Default: a new secret is generated.")] = None


#: The fields of the body that have another name in `Webhook`.
_OTHERS = {"agent": "agent_id", "channel_id": "channel"}
_ALL, _ONE = "/api/webhooks", "/api/webhooks/{webhook}"


class WebhookRoutes(Routes):
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

    @route(
        "GET", _ALL, "List webhooks, newest first", OPERATE, {200: Page[WebhookView]}, query={**PAGING, "agent": LABEL}
    )
    async def _list(self, call: Call) -> Response:
        page = await self._insights.webhooks(agent=call.query("agent"), limit=call.limit, cursor=call.query("cursor"))
        agents = await self._store.read(slugs)
        return answer_page([WebhookView.of(webhook, agents) for webhook in page.items], page.next_cursor)

    @route("POST", _ALL, "Create a webhook; its secret is shown once", OPERATE, {201: WebhookView}, body=NewWebhook)
    async def _add(self, call: Call) -> Response:
        body, by = await call.read(NewWebhook), await self._gate.principal_id(call.identity)
        secret = body.secret or self._random_hex(_SECRET_BYTES)
        blank = {
            "id": "", "name": "", "preset": Preset.PLAIN, "connector": "", "thread": "", "enabled": True,
            "last_triggered": None, "trigger_count": 0, "created_at": 0, "updated_at": 0,
        }  # fmt: skip
        wanted = Webhook(**{**blank, **body.written(), **await self._sealed(secret), "principal_id": by})
        made = await self._store.write(webhooks.add_webhook, wanted, self._clock.now())
        return await self._shown(made.id, status=201, secret=secret)

    @route("GET", _ONE, "Show a webhook", OPERATE, {200: WebhookView})
    async def _show(self, call: Call) -> Response:
        return await self._shown(call.id("webhook"))

    @route("PATCH", _ONE, "Change the fields in the body", OPERATE, {200: WebhookView}, body=ChangedWebhook)
    async def _change(self, call: Call) -> Response:
        body = await call.read(ChangedWebhook)
        sealed = {} if body.secret is None else await self._sealed(body.secret)
        return await self._written(call, {**body.written(), **sealed})

    @route("POST", f"{_ONE}/rotate", "Rotate the secret; the new one is shown once", OPERATE, {200: WebhookView})
    async def _rotate(self, call: Call) -> Response:
        secret = self._random_hex(_SECRET_BYTES)
        return await self._written(call, await self._sealed(secret), secret=secret)

    @route("DELETE", _ONE, "Delete a webhook", OPERATE, {200: OkView})
    async def _remove(self, call: Call) -> Response:
        await self._store.write(webhooks.remove_webhook, call.id("webhook"))
        return done()

    async def _written(self, call: Call, changes: Mapping[str, Any], secret: str | None = None) -> Response:
        by, webhook_id = await self._gate.principal_id(call.identity), call.id("webhook")
        await self._store.write(webhooks.change_webhook, webhook_id, changes, self._clock.now(), by=by)
        return await self._shown(webhook_id, secret=secret)

    async def _sealed(self, secret: str) -> dict[str, str]:
        """Encrypt the secret in a thread, because the very first encryption writes a new key to the disk."""
        return {"secret": await asyncio.to_thread(self._secrets.seal, secret), "secret_end": secret[-_END:]}

    async def _shown(self, webhook_id: str, *, status: int = 200, secret: str | None = None) -> Response:
        webhook, agent = await self._store.read(_look, webhook_id)
        agents = {agent.id: agent.slug} if agent is not None else {}
        return answer(WebhookView.of(webhook, agents, secret), status)


def _look(tx: Transaction, webhook_id: str) -> tuple[Webhook, Agent | None]:
    webhook = webhooks.find_webhook(tx, webhook_id)
    return webhook, tx.agents.get(webhook.agent_id)
