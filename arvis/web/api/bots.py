"""Bots of chat platforms over HTTP: list, restart and test all bots, and add, change and remove those that are stored
in the database.

A request can contain a token; no response does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field
from starlette.responses import Response

from arvis.bots.registry import BotSpec, Source, is_secret
from arvis.bots.service import BotChanges, BotService
from arvis.domain.errors import NotFound
from arvis.domain.platforms import BotState, BotStatus
from arvis.domain.regex import regex
from arvis.ports.connector import SetupFinding
from arvis.web.http.endpoints import Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import OPERATE, OWN
from arvis.web.http.models import About, AnyObject, Body, OkView, Page, Says, Time, View
from arvis.web.http.requests import unusable
from arvis.web.http.schema import STRING, Schema
from arvis.web.http.views import without_login

PLATFORM = regex(r"[a-z0-9_-]{1,32}", re.ASCII)
#: The names that new bots can have. Bots in the configuration can have other names (`ANY_NAME`).
_NAME = regex(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
ANY_NAME = regex(r"[^\x00-\x1f\x7f]{1,100}")
PATH_NAMES: Mapping[str, Schema] = {
    "platform": {**STRING, "minLength": 1, "maxLength": 32},
    "name": {**STRING, "minLength": 1, "maxLength": 100},
}

_Name = Annotated[str, Field(pattern=f"^{_NAME.pattern}$"), Says("must be 1 to 64 letters, digits, - and _")]
_MOST_SETTINGS = 50
_MOST_SECRET = 4_096


class BotView(View):
    platform: str
    name: str
    enabled: bool
    source: Source
    settings: Annotated[AnyObject, About("The settings as in the configuration, without secrets.")]
    secrets: Annotated[list[str], About("The names of the secrets that are set.")]
    state: BotState
    error: str | None
    since: Time | None
    user_id: Annotated[str | None, About("Its name on the platform, once it has connected.")]
    user_name: str | None

    @classmethod
    def of(cls, spec: BotSpec, status: BotStatus | None) -> Self:
        return cls.showing(
            spec,
            settings={key: without_login(value) for key, value in spec.values.items() if not is_secret(key)},
            secrets=sorted(key for key in spec.values if is_secret(key)),
            state=BotState.STOPPED if status is None else status.state,
            error=spec.trouble or (status.error if status is not None else "") or None,
            since=None if status is None else status.since,
            user_id=(status.user_id if status is not None else "") or None,
            user_name=(status.user_name if status is not None else "") or None,
        )


class FindingView(View):
    level: Literal["error", "ok", "warning"]
    text: str
    fix: str | None


class FindingsView(View):
    findings: list[FindingView]

    @classmethod
    def of(cls, found: Sequence[SetupFinding]) -> Self:
        return cls(findings=[FindingView.showing(each, fix=each.fix or None) for each in found])


_SECRETS = "Tokens by the names of their settings. They are encrypted in the database and never returned."


class ChangedBot(Body):
    """Omitted fields are unchanged; null removes a setting or a secret. A new address requires the secrets again."""

    settings: AnyObject | None = None
    secrets: Annotated[
        AnyObject | None, About(_SECRETS, additionalProperties={"type": "string", "maxLength": _MOST_SECRET})
    ] = None
    enabled: bool | None = None

    def written(self) -> BotChanges:
        """Return the changes that the body describes. Null removes a setting or a secret."""
        settings, secrets = self.settings or {}, self.secrets or {}
        if len(settings) > _MOST_SETTINGS or len(secrets) > _MOST_SETTINGS:
            raise unusable("settings", f"and `secrets` may each contain at most {_MOST_SETTINGS} entries")
        for name, secret in secrets.items():
            if not is_secret(name):
                raise unusable(f"secrets.{name[:50]}", "is not a secret; send it in `settings`")
            if secret is not None and not (isinstance(secret, str) and 0 < len(secret) <= _MOST_SECRET):
                raise unusable(f"secrets.{name[:50]}", f"must be a string of at most {_MOST_SECRET} characters")
        return BotChanges(settings, secrets, self.enabled)


class TestedBot(ChangedBot):
    """The fields of a new bot."""

    platform: Annotated[
        str, Field(pattern=f"^{PLATFORM.pattern}$"), Says("must be 1 to 32 lower-case letters, digits, - and _")
    ]
    name: _Name | None = None


class NewBot(TestedBot):
    name: _Name


_ALL, _ONE = "/api/bots", "/api/bots/{platform}/{name}"


class BotRoutes(Routes):
    def __init__(self, *, service: BotService) -> None:
        self._service = service

    @route("GET", _ALL, "List bots, those of the configuration first", OPERATE, {200: Page[BotView]})
    async def _list(self, _: Call) -> Response:
        statuses = await self._service.statuses()
        return answer_page([BotView.of(spec, statuses.get(spec.key)) for spec in self._service.registry.specs], None)

    @route("POST", _ALL, "Add a bot", OWN, {201: BotView}, body=NewBot)
    async def _add(self, call: Call) -> Response:
        body = await call.read(NewBot)
        return await self._answer(await self._service.add(body.platform, body.name, body.written()), 201)

    @route("GET", _ONE, "Show a bot", OPERATE, {200: BotView}, names=PATH_NAMES)
    async def _show(self, call: Call) -> Response:
        return await self._answer(self._service.spec(*bot_of(call)))

    @route("PATCH", _ONE, "Change a bot of the database", OWN, {200: BotView}, body=ChangedBot, names=PATH_NAMES)
    async def _change(self, call: Call) -> Response:
        body = await call.read(ChangedBot)
        return await self._answer(await self._service.change(*bot_of(call), body.written()))

    @route("DELETE", _ONE, "Remove a bot of the database", OWN, {200: OkView}, names=PATH_NAMES)
    async def _remove(self, call: Call) -> Response:
        await self._service.remove(*bot_of(call))
        return done()

    @route("POST", f"{_ONE}/test", "Test a bot's setup on its platform", OWN, {200: FindingsView}, names=PATH_NAMES)
    async def _check(self, call: Call) -> Response:
        return answer(FindingsView.of(await self._service.check(*bot_of(call))))

    @route(
        "POST", f"{_ONE}/restart", "Restart a bot in the process that runs it", OWN, {200: BotView}, names=PATH_NAMES
    )
    async def _restart(self, call: Call) -> Response:
        return await self._answer(await self._service.restart(*bot_of(call)))

    async def _answer(self, spec: BotSpec, status: int = 200) -> Response:
        return answer(BotView.of(spec, (await self._service.statuses()).get(spec.key)), status)


def bot_of(call: Call) -> tuple[str, str]:
    platform, name = call.named("platform", PLATFORM), call.named("name", ANY_NAME)
    if platform is None or name is None:
        raise NotFound("There is no such bot.", fix="GET /api/bots lists the bots.")
    return platform, name
