"""Variables over HTTP: values that tools request by name. A secret value is accepted here and never returned."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated, Self

from starlette.responses import Response

from arvis.domain.accounts import Variable
from arvis.domain.dataclass import replace
from arvis.domain.errors import NotFound
from arvis.domain.regex import regex
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store, Transaction
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import OPERATE, OWN
from arvis.web.http.models import About, Body, OkView, Page, Time, View
from arvis.web.http.requests import unusable
from arvis.web.http.schema import STRING, Schema

_ALL, _ONE = "/api/variables", "/api/variables/{key}"
#: A key must not consist only of dots, because HTTP clients remove such a path segment.
_KEY = regex(r"(?!\.+$)[A-Za-z0-9_.-]{1,100}", re.ASCII)
_NAMES: Mapping[str, Schema] = {"key": {**STRING, "pattern": f"^{_KEY.pattern}$"}}

#: Shown in place of every secret value, independent of its length.
DOTS = "••••••••"


class VariableView(View):
    key: str
    value: Annotated[str, About("Dots if it is secret.")]
    secret: bool
    updated_at: Time

    @classmethod
    def of(cls, variable: Variable) -> Self:
        return cls.showing(variable, value=DOTS if variable.secret else variable.value)


class NewVariable(Body):
    value: str
    secret: Annotated[bool | None, About("Default: unchanged; false for a new variable.")] = None


class VariableRoutes(Routes):
    def __init__(self, *, insights: Insights, store: Store, secrets: SecretBox, clock: Clock) -> None:
        self._insights = insights
        self._store = store
        self._secrets = secrets
        self._clock = clock

    @route("GET", _ALL, "List variables by key", OPERATE, {200: Page[VariableView]}, query=PAGING)
    async def _list(self, call: Call) -> Response:
        page = await self._insights.variables(limit=call.limit, cursor=call.query("cursor"))
        return answer_page([VariableView.of(variable) for variable in page.items], page.next_cursor)

    @route("GET", _ONE, "Show a variable", OPERATE, {200: VariableView}, names=_NAMES)
    async def _show(self, call: Call) -> Response:
        variable = await self._store.read(_get, _known_key(call))
        if variable is None:
            raise _no_variable()
        return answer(VariableView.of(variable))

    @route(
        "PUT",
        _ONE,
        "Set a variable; a secret value is encrypted",
        OWN,
        {200: VariableView, 201: VariableView},
        body=NewVariable,
        names=_NAMES,
    )
    async def _put(self, call: Call) -> Response:
        key = call.named("key", _KEY)
        if key is None:
            raise unusable("key", "must be 1 to 100 letters, digits, dots, - and _, and not only dots")
        body = await call.read(NewVariable)
        before = await self._store.read(_get, key)
        secret = before.secret if body.secret is None and before else bool(body.secret)
        sealed = await self._sealed(Variable(key, body.value, secret=secret))
        stored = await self._store.write(_put, sealed, self._clock.now())
        return answer(VariableView.of(stored), 201 if before is None else 200)

    @route("DELETE", _ONE, "Delete a variable", OWN, {200: OkView}, names=_NAMES)
    async def _remove(self, call: Call) -> Response:
        if not await self._store.write(_remove, _known_key(call)):
            raise _no_variable()
        return done()

    async def _sealed(self, variable: Variable) -> Variable:
        """Encrypt the value of a secret in a thread, because the very first encryption writes a new key to the disk."""
        if not variable.secret:
            return variable
        return replace(variable, value=await asyncio.to_thread(self._secrets.seal, variable.value))


def _known_key(call: Call) -> str:
    key = call.named("key", _KEY)
    if key is None:
        raise _no_variable()
    return key


def _no_variable() -> NotFound:
    return NotFound(
        "There is no such variable.",
        fix="`arvis variables list` and GET /api/variables list the variables.",
    )


def _get(tx: Transaction, key: str) -> Variable | None:
    return tx.variables.get(key)


def _put(tx: Transaction, variable: Variable, now: int) -> Variable:
    tx.variables.put(variable, now)
    return replace(variable, updated_at=now)


def _remove(tx: Transaction, key: str) -> bool:
    return tx.variables.remove(key)
