"""Model accounts over HTTP: list all accounts, and add, change and remove those that are stored in the database.

A request can contain a key; no response does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from arvis.domain.accounts import AccountStatus, StoredAccount
from arvis.domain.errors import NotFound
from arvis.domain.runs import Account, Cooldown
from arvis.llm.accounts import AccountService
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.web.http.endpoints import Call, Endpoint, answer
from arvis.web.http.identity import OPERATE, OWN
from arvis.web.http.requests import Fields, unusable
from arvis.web.http.schema import (
    BOOLEAN,
    INTEGER,
    OK,
    STRING,
    TIME,
    Schema,
    array,
    object_schema,
    one_of,
    optional,
    page_schema,
)
from arvis.web.http.views import holds_login, without_login

Json = dict[str, Any]

_MAX_MODEL = 200

#: The names that new accounts can have. Accounts in the configuration can have other names (`_ANY_NAME`).
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_ANY_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,100}")
NAMES: Mapping[str, Schema] = {"account": {**STRING, "minLength": 1, "maxLength": 100}}

_PRIORITY: Schema = {
    **INTEGER,
    "minimum": 0,
    "maximum": 10_000,
    "description": "Accounts with lower numbers are used first.",
}
_HEALTH = object_schema({"model": STRING, "cooldownUntil": optional(TIME), "kind": STRING, "refusals": INTEGER})
ACCOUNT = object_schema(
    {
        "id": {**optional(STRING), "description": "null: from the configuration."},
        "name": STRING,
        "provider": STRING,
        "model": STRING,
        "models": array(STRING),
        "baseUrl": optional(STRING),
        "priority": INTEGER,
        "status": one_of(AccountStatus),
        "source": one_of(("configuration", "product")),
        "hasKey": BOOLEAN,
        "problem": {**optional(STRING), "description": "Why the account is not used, and how to fix this."},
        "health": {**array(_HEALTH), "description": "Models with recent refusals, with the end of their cooldown."},
    }
)
WRITTEN: dict[str, Schema] = {
    "provider": STRING,
    "model": {**STRING, "description": "Default: the provider's default model."},
    "models": {**array(STRING), "description": "The models it serves; empty: all models of its vendor."},
    "apiKey": {**STRING, "description": "Encrypted in the database and never returned."},
    "baseUrl": STRING,
    "priority": _PRIORITY,
    "status": one_of(AccountStatus),
}
NEW_ACCOUNT = object_schema(
    {"name": {**STRING, "pattern": f"^{_NAME.pattern}$"}, **WRITTEN},
    required=("name", "provider"),
)
CHANGED_ACCOUNT = {
    **object_schema(WRITTEN, required=()),
    "description": 'Omitted fields are unchanged; "" clears a text. A new address requires the key again.',
}


class AccountRoutes:
    def __init__(self, *, insights: Insights, service: AccountService, clock: Clock) -> None:
        self._insights = insights
        self._service = service
        self._clock = clock

    def endpoints(self) -> list[Endpoint]:
        all_, one = "/api/accounts", "/api/accounts/{account}"
        return [
            Endpoint(
                "GET",
                all_,
                "List accounts, those of the configuration first",
                OPERATE,
                self._list,
                {200: page_schema(ACCOUNT)},
            ),
            Endpoint("POST", all_, "Add an account", OWN, self._add, {201: ACCOUNT}, body=NEW_ACCOUNT),
            Endpoint(
                "PATCH",
                one,
                "Change an account of the product",
                OWN,
                self._change,
                {200: ACCOUNT},
                body=CHANGED_ACCOUNT,
                names=NAMES,
            ),
            Endpoint("DELETE", one, "Remove an account of the product", OWN, self._remove, {200: OK}, names=NAMES),
        ]

    async def _list(self, _: Call) -> Response:
        rows, now = await self._insights.accounts(), self._clock.now()
        items = [_configured_view(account, rows.rests, now) for account in self._service.book.configured]
        items += [self._stored_view(stored, rows.rests, now) for stored in rows.accounts]
        return answer({"items": items, "nextCursor": None})

    async def _add(self, call: Call) -> Response:
        fields = await call.fields()
        name = fields.required_text("name")
        if not _NAME.fullmatch(name):
            raise unusable("name", "must be 1 to 64 letters, digits, - and _")
        if fields.text("provider") is None:
            raise unusable("provider", "is missing")
        added = await self._service.add({"name": name, **written(fields)})
        return answer(self._stored_view(added, (), self._clock.now()), 201)

    async def _change(self, call: Call) -> Response:
        changed = await self._service.change(name_of(call), written(await call.fields()))
        return answer(self._stored_view(changed, (), self._clock.now()))

    async def _remove(self, call: Call) -> Response:
        await self._service.remove(name_of(call))
        return answer({"ok": True})

    def _stored_view(self, stored: StoredAccount, rests: Sequence[Cooldown], now: int) -> Json:
        trouble = self._service.book.trouble_of(stored)
        return {
            "id": stored.id,
            "name": stored.name,
            "provider": stored.provider,
            "model": stored.model,
            "models": list(stored.models),
            "baseUrl": without_login(stored.base_url),
            "priority": stored.priority,
            "status": stored.status,
            "source": "product",
            "hasKey": stored.sealed_key is not None,
            "problem": None if trouble is None else f"{trouble.what}: {trouble.why} {trouble.fix}",
            "health": _health(stored.name, rests, now),
        }


def _configured_view(account: Account, rests: Sequence[Cooldown], now: int) -> Json:
    return {
        "id": None,
        "name": account.name,
        "provider": account.provider,
        "model": account.model,
        "models": list(account.models),
        "baseUrl": without_login(account.base_url),
        "priority": account.priority,
        "status": AccountStatus.ACTIVE,
        "source": "configuration",
        "hasKey": account.api_key is not None,
        "problem": None,
        "health": _health(account.name, rests, now),
    }


def _health(name: str, rests: Sequence[Cooldown], now: int) -> list[Json]:
    return [
        {
            "model": rest.model,
            "cooldownUntil": rest.until if rest.until > now else None,
            "kind": rest.kind,
            "refusals": rest.refusals,
        }
        for rest in rests
        if rest.account == name and (rest.refusals or rest.until > now)
    ]


def name_of(call: Call) -> str:
    name = call.named("account", _ANY_NAME)
    if name is None:
        raise NotFound("There is no such account.", fix="Look it up in the list of accounts (GET /api/accounts).")
    return name


def written(fields: Fields) -> Json:
    """Return the fields of the body under their names in the configuration. An empty text becomes None."""
    names = {"provider": "provider", "model": "model", "api_key": "apiKey", "base_url": "baseUrl", "status": "status"}
    texts = {name: fields.text(sent) for name, sent in names.items()}
    if holds_login(texts["base_url"] or ""):
        raise unusable("baseUrl", "must not contain a user name or password; send a key as `apiKey`")
    found: Json = {name: text or None for name, text in texts.items() if text is not None}
    if (models := fields.raw("models")) is not None:
        if not isinstance(models, list) or not all(
            isinstance(model, str) and 0 < len(model) <= _MAX_MODEL for model in models
        ):
            raise unusable("models", "must be a list of names")
        found["models"] = models
    if (priority := fields.whole("priority")) is not None:
        found["priority"] = priority
    return found
