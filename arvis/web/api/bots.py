"""Bots of chat platforms over HTTP: list, restart and test all bots, and add, change and remove those that are stored
in the database.

A request can contain a token; no response does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from arvis.bots.registry import BotSpec, Source, is_secret
from arvis.bots.service import BotChanges, BotService
from arvis.domain.errors import NotFound
from arvis.domain.platforms import BotState, BotStatus
from arvis.web.http.endpoints import Call, Endpoint, answer
from arvis.web.http.identity import OPERATE, OWN
from arvis.web.http.requests import Fields, unusable
from arvis.web.http.schema import BOOLEAN, OK, STRING, TIME, Schema, array, object_schema, one_of, optional, page_schema
from arvis.web.http.views import without_login

Json = dict[str, Any]

PLATFORM = re.compile(r"[a-z0-9_-]{1,32}", re.ASCII)
#: The names that new bots can have. Bots in the configuration can have other names (`ANY_NAME`).
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
ANY_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,100}")
PATH_NAMES: Mapping[str, Schema] = {
    "platform": {**STRING, "minLength": 1, "maxLength": 32},
    "name": {**STRING, "minLength": 1, "maxLength": 100},
}

_MOST_SETTINGS = 50
_MOST_SECRET = 4_096

_OBJECT: Schema = {"type": "object"}
_SECRETS: Schema = {
    **_OBJECT,
    "additionalProperties": {**STRING, "maxLength": _MOST_SECRET},
    "description": "Tokens by the names of their settings. They are encrypted in the database and never returned.",
}
BOT = object_schema(
    {
        "platform": STRING,
        "name": STRING,
        "enabled": BOOLEAN,
        "source": one_of(Source),
        "settings": {**_OBJECT, "description": "The settings as in the configuration, without secrets."},
        "secrets": {**array(STRING), "description": "The names of the secrets that are set."},
        "state": one_of(BotState),
        "error": optional(STRING),
        "since": optional(TIME),
        "userId": {**optional(STRING), "description": "Its name on the platform, once it has connected."},
        "userName": optional(STRING),
    }
)
_WRITTEN: dict[str, Schema] = {"settings": _OBJECT, "secrets": _SECRETS, "enabled": BOOLEAN}
NEW_BOT = object_schema(
    {
        "platform": {**STRING, "pattern": f"^{PLATFORM.pattern}$"},
        "name": {**STRING, "pattern": f"^{_NAME.pattern}$"},
        **_WRITTEN,
    },
    required=("platform", "name"),
)
CHANGED_BOT = {
    **object_schema(_WRITTEN, required=()),
    "description": "Omitted fields are unchanged; null removes a setting or a secret. A new address requires the secrets again.",
}
_FINDING = object_schema({"level": one_of(("ok", "warning", "error")), "text": STRING, "fix": optional(STRING)})
FINDINGS = object_schema({"findings": array(_FINDING)})


class BotRoutes:
    def __init__(self, *, service: BotService) -> None:
        self._service = service

    def endpoints(self) -> list[Endpoint]:
        all_, one = "/api/bots", "/api/bots/{platform}/{name}"
        listed, entered = {200: page_schema(BOT)}, {201: BOT}
        return [
            Endpoint("GET", all_, "List bots, those of the configuration first", OPERATE, self._list, listed),
            Endpoint("POST", all_, "Add a bot", OWN, self._add, entered, body=NEW_BOT),
            self._of_one("GET", one, "Show a bot", self._show, {200: BOT}, access=OPERATE),
            self._of_one("PATCH", one, "Change a bot of the product", self._change, {200: BOT}, body=CHANGED_BOT),
            self._of_one("DELETE", one, "Remove a bot of the product", self._remove, {200: OK}),
            self._of_one("POST", f"{one}/test", "Test a bot's setup on its platform", self._check, {200: FINDINGS}),
            self._of_one(
                "POST", f"{one}/restart", "Restart a bot in the process that runs it", self._restart, {200: BOT}
            ),
        ]

    def _of_one(
        self, method: str, path: str, summary: str, handler: Any, answers: Any, *, access: Any = OWN, body: Any = None
    ) -> Endpoint:
        return Endpoint(method, path, summary, access, handler, answers, body=body, names=PATH_NAMES)

    async def _list(self, _: Call) -> Response:
        statuses = await self._service.statuses()
        items = [_view(spec, statuses.get(spec.key)) for spec in self._service.registry.specs]
        return answer({"items": items, "nextCursor": None})

    async def _show(self, call: Call) -> Response:
        return await self._answer(self._service.spec(*bot_of(call)))

    async def _add(self, call: Call) -> Response:
        fields = await call.fields()
        platform, name = fields.required_text("platform"), fields.required_text("name")
        if not PLATFORM.fullmatch(platform):
            raise unusable("platform", "must be 1 to 32 lower-case letters, digits, - and _")
        if not _NAME.fullmatch(name):
            raise unusable("name", "must be 1 to 64 letters, digits, - and _")
        return await self._answer(await self._service.add(platform, name, written(fields)), 201)

    async def _change(self, call: Call) -> Response:
        return await self._answer(await self._service.change(*bot_of(call), written(await call.fields())))

    async def _remove(self, call: Call) -> Response:
        await self._service.remove(*bot_of(call))
        return answer({"ok": True})

    async def _check(self, call: Call) -> Response:
        found = await self._service.check(*bot_of(call))
        items = [{"level": one.level, "text": one.text, "fix": one.fix or None} for one in found]
        return answer({"findings": items})

    async def _restart(self, call: Call) -> Response:
        return await self._answer(await self._service.restart(*bot_of(call)))

    async def _answer(self, spec: BotSpec, status: int = 200) -> Response:
        return answer(_view(spec, (await self._service.statuses()).get(spec.key)), status)


def bot_of(call: Call) -> tuple[str, str]:
    platform, name = call.named("platform", PLATFORM), call.named("name", ANY_NAME)
    if platform is None or name is None:
        raise NotFound("There is no such bot.", fix="Look it up in the list of bots (GET /api/bots).")
    return platform, name


def _view(spec: BotSpec, status: BotStatus | None) -> Json:
    return {
        "platform": spec.platform,
        "name": spec.name,
        "enabled": spec.enabled,
        "source": spec.source,
        "settings": {key: without_login(value) for key, value in spec.values.items() if not is_secret(key)},
        "secrets": sorted(key for key in spec.values if is_secret(key)),
        "state": BotState.STOPPED if status is None else status.state,
        "error": spec.trouble or (status.error if status is not None else "") or None,
        "since": None if status is None else status.since,
        "userId": (status.user_id if status is not None else "") or None,
        "userName": (status.user_name if status is not None else "") or None,
    }


def written(fields: Fields) -> BotChanges:
    """Return the changes that the body describes. Null removes a setting or a secret."""
    settings, secrets = fields.mapping("settings") or {}, fields.mapping("secrets") or {}
    if len(settings) > _MOST_SETTINGS or len(secrets) > _MOST_SETTINGS:
        raise unusable("settings", f"and `secrets` may each contain at most {_MOST_SETTINGS} entries")
    for name, secret in secrets.items():
        if not is_secret(name):
            raise unusable(f"secrets.{name[:50]}", "is not a secret; send it in `settings`")
        if secret is not None and not (isinstance(secret, str) and 0 < len(secret) <= _MOST_SECRET):
            raise unusable(f"secrets.{name[:50]}", f"must be a string of at most {_MOST_SECRET} characters")
    enabled = fields.raw("enabled")
    if enabled is not None and not isinstance(enabled, bool):
        raise unusable("enabled", "must be true or false")
    return BotChanges(settings, secrets, enabled)
