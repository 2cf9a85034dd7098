"""The configuration over HTTP: effective values, their sources, and the settings that can be changed here.

A secret is never returned; the response states only whether the secret is set. Changes are stored in the database.
They override the file, are overridden by the environment, and can be undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from arvis.config.catalog import Kind
from arvis.config.loading import OriginKind
from arvis.domain.agents import Agent
from arvis.ports.insights import Insights
from arvis.settings import Overview, SettingsService, Shown
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.identity import OPERATE, OWN
from arvis.web.http.requests import unusable
from arvis.web.http.schema import (
    ANYTHING,
    BOOLEAN,
    INTEGER,
    NUMBER,
    STRING,
    TIME,
    Schema,
    array,
    object_schema,
    one_of,
    optional,
    page_schema,
)
from arvis.web.http.views import without_login

_MOST_CHANGES = 100
_MOST_VERSIONS = 50

_VALUE: Schema = {
    **ANYTHING,
    "description": "The value as in the file; for a secret `set` or `not set`. A list may also be one of `choices`.",
}
SETTING = object_schema(
    {
        "key": {**STRING, "description": "Such as `budgets.daily_usd`."},
        "section": STRING,
        "kind": one_of(Kind),
        "choices": array(STRING),
        "minimum": optional(NUMBER),
        "maximum": optional(NUMBER),
        "nullable": {**BOOLEAN, "description": "It may be null: send the text `null`."},
        "value": {**_VALUE, "description": f"The effective value. {_VALUE['description']}"},
        "default": _VALUE,
        "description": STRING,
        "source": {**one_of(OriginKind), "description": "The source of `nextValue`."},
        "location": {**optional(STRING), "description": "The file and line, or the name of the environment variable."},
        "changeable": BOOLEAN,
        "reason": {**optional(STRING), "description": "Why it cannot be changed here."},
        "appliesImmediately": {
            **BOOLEAN,
            "description": "True: a change applies immediately; false: at the next start.",
        },
        "pending": {**BOOLEAN, "description": "The value becomes `nextValue` at the next start."},
        "nextValue": _VALUE,
        "problem": {**optional(STRING), "description": "Why the value that was set here is ignored."},
    }
)
_CONDUCTOR = object_schema({"id": STRING, "slug": STRING, "name": STRING})
SETTINGS = object_schema(
    {
        "items": {**array(SETTING), "description": "In the order of config.yaml."},
        "nextCursor": optional(STRING),
        "needsRestart": {**array(STRING), "description": "Keys whose value changes at the next start."},
        "file": {**optional(STRING), "description": "The path of config.yaml; null: no file."},
        "problem": {**optional(STRING), "description": "Why a start with the current file would fail."},
        "conductor": optional(_CONDUCTOR),
    }
)
CHANGES = object_schema(
    {
        "changes": {
            "type": "object",
            "description": "Values by key. null: back to the file or default; the text `null`: no value, no limit.",
        }
    }
)
VERSION = object_schema(
    {
        "version": INTEGER,
        "at": TIME,
        "by": optional(STRING),
        "values": {"type": "object", "description": "All values set here, by key."},
    }
)


class SettingRoutes:
    def __init__(self, *, service: SettingsService, insights: Insights, gate: Authorizer) -> None:
        self._service = service
        self._insights = insights
        self._gate = gate

    def endpoints(self) -> list[Endpoint]:
        path, shown = "/api/settings", {200: SETTINGS}
        return [
            Endpoint("GET", path, "Show the effective configuration and its sources", OPERATE, self._list, shown),
            Endpoint("PATCH", path, "Change settings", OWN, self._change, shown, body=CHANGES),
            Endpoint("POST", f"{path}/undo", "Undo the last change", OWN, self._undo, shown),
            Endpoint(
                "GET",
                f"{path}/versions",
                "List the changes made here, newest first",
                OPERATE,
                self._versions,
                {200: page_schema(VERSION)},
                query={"limit": {**PAGING["limit"], "description": f"{_MOST_VERSIONS} at most."}},
            ),
        ]

    async def _list(self, _: Call) -> Response:
        overview, agents = await self._service.overview(), await self._insights.agents()
        return answer(_view(overview, self._service.file, agents))

    async def _change(self, call: Call) -> Response:
        changes = (await call.fields()).mapping("changes")
        if changes is None:
            raise unusable("changes", "is missing")
        if len(changes) > _MOST_CHANGES:
            raise unusable("changes", f"may contain at most {_MOST_CHANGES} keys")
        await self._service.change(changes, by=await self._gate.principal_id(call.identity))
        return await self._list(call)

    async def _undo(self, call: Call) -> Response:
        await self._service.undo(by=await self._gate.principal_id(call.identity))
        return await self._list(call)

    async def _versions(self, call: Call) -> Response:
        versions = await self._service.versions(min(call.limit, _MOST_VERSIONS))
        items = [
            {"version": one.version, "at": one.at, "by": one.by_id, "values": dict(one.data or {})} for one in versions
        ]
        return answer({"items": items, "nextCursor": None})


def _view(overview: Overview, file: str | None, agents: Sequence[Agent]) -> dict[str, Any]:
    conductor = next((agent for agent in agents if agent.is_conductor and agent.active), None)
    return {
        "items": [_setting_view(shown) for shown in overview.shown],
        "nextCursor": None,
        "needsRestart": [shown.setting.key for shown in overview.shown if shown.pending],
        "file": file,
        "problem": overview.problem or None,
        "conductor": None
        if conductor is None
        else {"id": conductor.id, "slug": conductor.slug, "name": conductor.name},
    }


def _setting_view(shown: Shown) -> dict[str, Any]:
    setting = shown.setting
    by_environment = shown.origin.kind is OriginKind.ENVIRONMENT
    fixed = f"The environment variable {shown.origin.place} sets it." if by_environment else setting.fixed
    return {
        "key": setting.key,
        "section": setting.path[0],
        "kind": setting.kind,
        "choices": list(setting.choices),
        "minimum": setting.minimum,
        "maximum": setting.maximum,
        "nullable": setting.nullable,
        "value": without_login(shown.value),
        "default": setting.default,
        "description": setting.words,
        "source": shown.origin.kind,
        "location": shown.origin.place or None,
        "changeable": not fixed,
        "reason": fixed or None,
        "appliesImmediately": setting.at_once,
        "pending": shown.pending,
        "nextValue": without_login(shown.next_value),
        "problem": shown.problem or None,
    }
