"""The configuration over HTTP: effective values, their sources, and the settings that can be changed here.

A secret is never returned; the response states only whether the secret is set. Changes are stored in the database.
They override the file, are overridden by the environment, and can be undone.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from starlette.responses import Response

from arvis.config.catalog import Kind
from arvis.config.loading import OriginKind
from arvis.domain.versions import Version
from arvis.ports.insights import Insights
from arvis.settings import SettingsService, Shown
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, route
from arvis.web.http.identity import OPERATE, OWN
from arvis.web.http.models import About, AnyObject, Body, Page, Time, View
from arvis.web.http.requests import unusable
from arvis.web.http.views import without_login

_MOST_CHANGES = 100
_MOST_VERSIONS = 50

_VALUE = "The value as in the file; for a secret `set` or `not set`. A list may also be one of `choices`."


class SettingView(View):
    key: Annotated[str, About("Such as `budgets.daily_usd`.")]
    section: str
    kind: Kind
    choices: list[str]
    minimum: float | None
    maximum: float | None
    nullable: Annotated[bool, About("It may be null: send the text `null`.")]
    value: Annotated[Any, About(f"The effective value. {_VALUE}")]
    default: Annotated[Any, About(_VALUE)]
    description: str
    source: Annotated[OriginKind, About("The source of `nextValue`.")]
    location: Annotated[str | None, About("The file and line, or the name of the environment variable.")]
    changeable: bool
    reason: Annotated[str | None, About("Why it cannot be changed here.")]
    applies_immediately: Annotated[bool, About("True: a change applies immediately; false: at the next start.")]
    pending: Annotated[bool, About("The value becomes `nextValue` at the next start.")]
    next_value: Annotated[Any, About(_VALUE)]
    problem: Annotated[str | None, About("Why the value that was set here is ignored.")]

    @classmethod
    def of(cls, shown: Shown) -> Self:
        setting = shown.setting
        by_environment = shown.origin.kind is OriginKind.ENVIRONMENT
        fixed = f"The environment variable {shown.origin.place} sets it." if by_environment else setting.fixed
        return cls.showing(
            setting,
            section=setting.path[0],
            value=without_login(shown.value),
            description=setting.words,
            source=shown.origin.kind,
            location=shown.origin.place or None,
            changeable=not fixed,
            reason=fixed or None,
            applies_immediately=setting.at_once,
            pending=shown.pending,
            next_value=without_login(shown.next_value),
            problem=shown.problem or None,
        )


class ConductorView(View):
    id: str
    slug: str
    name: str


class SettingsView(View):
    items: Annotated[list[SettingView], About("In the order of config.yaml.")]
    next_cursor: str | None
    needs_restart: Annotated[list[str], About("Keys whose value changes at the next start.")]
    file: Annotated[str | None, About("The path of config.yaml; null: no file.")]
    problem: Annotated[str | None, About("Why a start with the current file would fail.")]
    conductor: ConductorView | None


class SettingsVersionView(View):
    version: int
    at: Time
    by: str | None
    values: Annotated[AnyObject, About("All values set here, by key.")]

    @classmethod
    def of(cls, version: Version) -> Self:
        return cls.showing(version, by=version.by_id, values=dict(version.data or {}))


class ChangedSettings(Body):
    changes: Annotated[
        AnyObject,
        About("Values by key. null: the file or default applies again; the text `null`: no value or no limit."),
    ]


_PATH = "/api/settings"


class SettingRoutes(Routes):
    def __init__(self, *, service: SettingsService, insights: Insights, gate: Authorizer) -> None:
        self._service = service
        self._insights = insights
        self._gate = gate

    @route("GET", _PATH, "Show the effective configuration and its sources", OPERATE, {200: SettingsView})
    async def _list(self, _: Call) -> Response:
        overview, agents = await self._service.overview(), await self._insights.agents()
        conductor = next((agent for agent in agents if agent.is_conductor and agent.active), None)
        return answer(
            SettingsView(
                items=[SettingView.of(shown) for shown in overview.shown],
                next_cursor=None,
                needs_restart=[shown.setting.key for shown in overview.shown if shown.pending],
                file=self._service.file,
                problem=overview.problem or None,
                conductor=None if conductor is None else ConductorView.showing(conductor),
            )
        )

    @route("PATCH", _PATH, "Change settings", OWN, {200: SettingsView}, body=ChangedSettings)
    async def _change(self, call: Call) -> Response:
        changes = (await call.read(ChangedSettings)).changes
        if len(changes) > _MOST_CHANGES:
            raise unusable("changes", f"may contain at most {_MOST_CHANGES} keys")
        await self._service.change(changes, by=await self._gate.principal_id(call.identity))
        return await self._list(call)

    @route("POST", f"{_PATH}/undo", "Undo the last change", OWN, {200: SettingsView})
    async def _undo(self, call: Call) -> Response:
        await self._service.undo(by=await self._gate.principal_id(call.identity))
        return await self._list(call)

    @route(
        "GET",
        f"{_PATH}/versions",
        "List the changes made here, newest first",
        OPERATE,
        {200: Page[SettingsVersionView]},
        query={"limit": {**PAGING["limit"], "description": f"{_MOST_VERSIONS} at most."}},
    )
    async def _versions(self, call: Call) -> Response:
        versions = await self._service.versions(min(call.limit, _MOST_VERSIONS))
        return answer_page([SettingsVersionView.of(version) for version in versions], None)
