"""Model accounts over HTTP: list all accounts, and add, change and remove those that are stored in the database.

A request can contain a key; no response does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field
from starlette.responses import Response

from arvis.domain.accounts import AccountStatus, StoredAccount
from arvis.domain.errors import ArvisError, NotFound
from arvis.domain.regex import regex
from arvis.domain.runs import APIS, Account, Cooldown
from arvis.llm.accounts import AccountService
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.web.http.endpoints import Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import OPERATE, OWN
from arvis.web.http.models import CLEARING, About, Body, OkView, Page, Says, Time, View, Whole
from arvis.web.http.requests import unusable
from arvis.web.http.schema import STRING, Schema, one_of
from arvis.web.http.views import holds_login, without_login

#: The names that new accounts can have. Accounts in the configuration can have other names (`_ANY_NAME`).
_NAME = regex(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_ANY_NAME = regex(r"[^\x00-\x1f\x7f]{1,100}")
NAMES: Mapping[str, Schema] = {"account": {**STRING, "minLength": 1, "maxLength": 100}}


_API = "For the providers openai and custom: the API that calls use. null: the API that the model needs."
_Api = Annotated[str, About(**one_of(APIS))]


class ModelHealthView(View):
    model: str
    cooldown_until: Time | None
    kind: str
    refusals: int


class AccountView(View):
    id: Annotated[str | None, About("null: from the configuration.")]
    name: str
    provider: str
    model: str
    models: list[str]
    base_url: str | None
    priority: int
    api: Annotated[_Api | None, About(_API)]
    status: AccountStatus
    source: Literal["configuration", "product"]
    has_key: bool
    problem: Annotated[str | None, About("Why the account is not used, and how to fix this.")]
    health: Annotated[list[ModelHealthView], About("Models with recent refusals, with the end of their cooldown.")]

    @classmethod
    def of_configured(cls, account: Account, health: list[ModelHealthView]) -> Self:
        return cls.showing(
            account,
            id=None,
            base_url=without_login(account.base_url),
            status=AccountStatus.ACTIVE,
            source="configuration",
            has_key=account.api_key is not None,
            problem=None,
            health=health,
        )

    @classmethod
    def of_stored(cls, stored: StoredAccount, trouble: ArvisError | None, health: list[ModelHealthView]) -> Self:
        return cls.showing(
            stored,
            base_url=without_login(stored.base_url),
            source="product",
            has_key=stored.sealed_key is not None,
            problem=None if trouble is None else f"{trouble.what}: {trouble.why} {trouble.fix}",
            health=health,
        )


_Models = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Says("must be a list of names")]


class ChangedAccount(Body):
    """Omitted fields are unchanged; "" clears a text. A new address requires the key again."""

    provider: str | None = None
    model: Annotated[str | None, About("Default: the provider's default model.")] = None
    models: Annotated[_Models | None, About("The models it serves; empty: all models of its vendor.")] = None
    api_key: Annotated[str | None, About("Encrypted in the database and never returned.")] = None
    base_url: str | None = None
    priority: Annotated[Whole | None, About("Accounts with lower numbers are used first.", maximum=10_000)] = None
    api: Annotated[_Api | None, CLEARING, About(_API)] = None
    status: Annotated[str | None, About(**one_of(AccountStatus))] = None

    def written(self) -> dict[str, Any]:
        """Return the fields of the body under their names in the configuration. An empty text becomes None."""
        if holds_login(self.base_url or ""):
            raise unusable("baseUrl", "must not contain a user name or password; send a key as `apiKey`")
        return {name: None if value == "" else value for name, value in self.sent().items() if name != "name"}


class TestedAccount(ChangedAccount):
    name: str | None = None
    provider: str


class NewAccount(TestedAccount):
    name: Annotated[str, Field(pattern=f"^{_NAME.pattern}$"), Says("must be 1 to 64 letters, digits, - and _")]


_ALL, _ONE = "/api/accounts", "/api/accounts/{account}"


class AccountRoutes(Routes):
    def __init__(self, *, insights: Insights, service: AccountService, clock: Clock) -> None:
        self._insights = insights
        self._service = service
        self._clock = clock

    @route("GET", _ALL, "List accounts, those of the configuration first", OPERATE, {200: Page[AccountView]})
    async def _list(self, _: Call) -> Response:
        rows, now = await self._insights.accounts(), self._clock.now()
        items = [
            AccountView.of_configured(account, _health(account.name, rows.rests, now))
            for account in self._service.book.configured
        ]
        items += [self._stored_view(stored, rows.rests, now) for stored in rows.accounts]
        return answer_page(items, None)

    @route("POST", _ALL, "Add an account", OWN, {201: AccountView}, body=NewAccount)
    async def _add(self, call: Call) -> Response:
        body = await call.read(NewAccount)
        added = await self._service.add({"name": body.name, **body.written()})
        return answer(self._stored_view(added, (), self._clock.now()), 201)

    @route(
        "PATCH", _ONE, "Change an account of the database", OWN, {200: AccountView}, body=ChangedAccount, names=NAMES
    )
    async def _change(self, call: Call) -> Response:
        body = await call.read(ChangedAccount)
        changed = await self._service.change(name_of(call), body.written())
        return answer(self._stored_view(changed, (), self._clock.now()))

    @route("DELETE", _ONE, "Remove an account of the database", OWN, {200: OkView}, names=NAMES)
    async def _remove(self, call: Call) -> Response:
        await self._service.remove(name_of(call))
        return done()

    def _stored_view(self, stored: StoredAccount, rests: Sequence[Cooldown], now: int) -> AccountView:
        return AccountView.of_stored(stored, self._service.book.trouble_of(stored), _health(stored.name, rests, now))


def _health(name: str, rests: Sequence[Cooldown], now: int) -> list[ModelHealthView]:
    return [
        ModelHealthView.showing(rest, cooldown_until=rest.until if rest.until > now else None)
        for rest in rests
        if rest.account == name and (rest.refusals or rest.until > now)
    ]


def name_of(call: Call) -> str:
    name = call.named("account", _ANY_NAME)
    if name is None:
        raise NotFound("There is no such account.", fix="GET /api/accounts lists the accounts.")
    return name
