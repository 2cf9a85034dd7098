"""Variables over HTTP: values that tools request by name. A secret value is accepted here and never returned."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from arvis.domain.accounts import Variable
from arvis.domain.errors import NotFound
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store, Transaction
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.identity import OPERATE, OWN
from arvis.web.http.requests import unusable
from arvis.web.http.schema import BOOLEAN, OK, STRING, TIME, Schema, object_schema, page_schema

#: A key must not consist only of dots, because HTTP clients remove such a path segment.
_KEY = re.compile(r"(?!\.+$)[A-Za-z0-9_.-]{1,100}", re.ASCII)
_NAMES: Mapping[str, Schema] = {"key": {**STRING, "pattern": f"^{_KEY.pattern}$"}}

#: Shown in place of every secret value, independent of its length.
DOTS = "••••••••"

VARIABLE = object_schema(
    {"key": STRING, "value": {**STRING, "description": "Dots if it is secret."}, "secret": BOOLEAN, "updatedAt": TIME}
)
NEW_VALUE = object_schema(
    {"value": STRING, "secret": {**BOOLEAN, "description": "Default: unchanged; false for a new variable."}},
    required=("value",),
)


class VariableRoutes:
    def __init__(self, *, insights: Insights, store: Store, secrets: SecretBox, clock: Clock) -> None:
        self._insights = insights
        self._store = store
        self._secrets = secrets
        self._clock = clock

    def endpoints(self) -> list[Endpoint]:
        all_, one = "/api/variables", "/api/variables/{key}"
        return [
            Endpoint(
                "GET", all_, "List variables by key", OPERATE, self._list, {200: page_schema(VARIABLE)}, query=PAGING
            ),
            Endpoint("GET", one, "Show a variable", OPERATE, self._show, {200: VARIABLE}, names=_NAMES),
            Endpoint(
                "PUT",
                one,
                "Set a variable; a secret value is encrypted",
                OWN,
                self._put,
                {200: VARIABLE, 201: VARIABLE},
                body=NEW_VALUE,
                names=_NAMES,
            ),
            Endpoint("DELETE", one, "Delete a variable", OWN, self._remove, {200: OK}, names=_NAMES),
        ]

    async def _list(self, call: Call) -> Response:
        page = await self._insights.variables(limit=call.limit, cursor=call.query("cursor"))
        return answer({"items": [_view(variable) for variable in page.items], "nextCursor": page.next_cursor})

    async def _show(self, call: Call) -> Response:
        variable = await self._store.read(_get, _known_key(call))
        if variable is None:
            raise _no_variable()
        return answer(_view(variable))

    async def _put(self, call: Call) -> Response:
        key = call.named("key", _KEY)
        if key is None:
            raise unusable("key", "must be 1 to 100 letters, digits, dots, - and _, and not only dots")
        fields = await call.fields()
        value, secret = fields.required_text("value"), fields.raw("secret")
        if secret is not None and not isinstance(secret, bool):
            raise unusable("secret", "must be true or false")
        before = await self._store.read(_get, key)
        variable = Variable(key, value, secret=before.secret if secret is None and before else bool(secret))
        stored = await self._store.write(_put, await self._sealed(variable), self._clock.now())
        return answer(_view(stored), 201 if before is None else 200)

    async def _remove(self, call: Call) -> Response:
        if not await self._store.write(_remove, _known_key(call)):
            raise _no_variable()
        return answer({"ok": True})

    async def _sealed(self, variable: Variable) -> Variable:
        """Encrypt the value of a secret in a thread, because the very first encryption writes a new key to the disk."""
        if not variable.secret:
            return variable
        return replace(variable, value=await asyncio.to_thread(self._secrets.seal, variable.value))


def _view(variable: Variable) -> dict[str, Any]:
    return {
        "key": variable.key,
        "value": DOTS if variable.secret else variable.value,
        "secret": variable.secret,
        "updatedAt": variable.updated_at,
    }


def _known_key(call: Call) -> str:
    key = call.named("key", _KEY)
    if key is None:
        raise _no_variable()
    return key


def _no_variable() -> NotFound:
    return NotFound(
        "There is no such variable.",
        fix="Look it up in the list of variables (`arvis variables list`, GET /api/variables).",
    )


def _get(tx: Transaction, key: str) -> Variable | None:
    return tx.variables.get(key)


def _put(tx: Transaction, variable: Variable, now: int) -> Variable:
    tx.variables.put(variable, now)
    return replace(variable, updated_at=now)


def _remove(tx: Transaction, key: str) -> bool:
    return tx.variables.remove(key)
