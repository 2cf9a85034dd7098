"""Credentials over HTTP: rules by which the daemon inserts secret variables into requests of agents. The values of the
variables are neither accepted nor returned here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from starlette.responses import Response

from arvis.domain.agents import Agent
from arvis.domain.credentials import BASE64, NAME, VALUE, Credential, normalised
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.services import credentials
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import OPERATE, OWN
from arvis.web.http.models import About, Body, OkView, Page, Texts, Time, View
from arvis.web.http.requests import unusable
from arvis.web.http.schema import STRING, Schema

_ALL, _ONE = "/api/credentials", "/api/credentials/{name}"
_NAMES: Mapping[str, Schema] = {"name": {**STRING, "pattern": f"^{NAME.pattern}$"}}
_HOSTS = "Hosts such as `api.example.com`, `api.example.com:8443` or `*.example.com`."
_TEMPLATE = f"The value of the header; `{VALUE}` or `{BASE64}` is the place of the secret."


class CredentialView(View):
    name: str
    variable: Annotated[str, About("The key of the secret variable.")]
    hosts: Annotated[list[str], About(_HOSTS)]
    header: str
    template: Annotated[str, About(_TEMPLATE)]
    agents: Annotated[list[str], About("Slugs of the agents that may use it.")]
    updated_at: Time

    @classmethod
    def of(cls, credential: Credential, agents: Sequence[Agent]) -> Self:
        users = [agent.slug for agent in agents if credential.name in agent.credentials]
        return cls.showing(credential, agents=users)


class NewCredential(Body):
    variable: Annotated[str, About("The key of an existing secret variable.")]
    hosts: Annotated[Texts, About(_HOSTS)]
    header: Annotated[str | None, About("Default: Authorization.")] = None
    template: Annotated[str | None, About(f"{_TEMPLATE} Default: `Bearer {VALUE}`.")] = None


class CredentialRoutes(Routes):
    def __init__(self, *, store: Store, gate: Authorizer, clock: Clock) -> None:
        self._store = store
        self._gate = gate
        self._clock = clock

    @route("GET", _ALL, "List credentials by name", OPERATE, {200: Page[CredentialView]})
    async def _list(self, _: Call) -> Response:
        return answer_page(await self._store.read(_all), None)

    @route("GET", _ONE, "Show a credential", OPERATE, {200: CredentialView}, names=_NAMES)
    async def _show(self, call: Call) -> Response:
        return answer(await self._store.read(_view, _known_name(call)))

    @route(
        "PUT",
        _ONE,
        "Create or change a credential",
        OWN,
        {200: CredentialView, 201: CredentialView},
        body=NewCredential,
        names=_NAMES,
    )
    async def _put(self, call: Call) -> Response:
        name = call.named("name", NAME)
        if name is None:
            raise unusable("name", "must be 1 to 64 lower-case letters, digits, - and _")
        fields: dict[str, Any] = (await call.read(NewCredential)).sent()
        fields = {key: value for key, value in fields.items() if value is not None}
        credential = Credential(name=name, **{**fields, "hosts": normalised(fields["hosts"])})
        by = await self._gate.principal_id(call.identity)
        made = await self._store.write(credentials.put, credential, by=by, now=self._clock.now())
        return answer(await self._store.read(_view, name), 201 if made.created_at == made.updated_at else 200)

    @route("DELETE", _ONE, "Delete a credential", OWN, {200: OkView}, names=_NAMES)
    async def _remove(self, call: Call) -> Response:
        by = await self._gate.principal_id(call.identity)
        await self._store.write(credentials.remove, _known_name(call), by=by, now=self._clock.now())
        return done()


def _known_name(call: Call) -> str:
    name = call.named("name", NAME)
    if name is None:
        raise credentials.no_credential()
    return name


def _all(tx: Transaction) -> list[CredentialView]:
    agents = tx.agents.all()
    return [CredentialView.of(each, agents) for each in tx.credentials.all()]


def _view(tx: Transaction, name: str) -> CredentialView:
    return CredentialView.of(credentials.present(tx, name), tx.agents.all())
