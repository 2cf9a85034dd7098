"""The installation over HTTP: the progress of its first setup, the findings of `arvis doctor`, and its backups."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from arvis.bots.service import BotService
from arvis.domain.errors import Conflict, StoreError, ToolError, Unavailable
from arvis.domain.messages import Role
from arvis.llm.accounts import AccountService
from arvis.ports.backups import Backups
from arvis.ports.browsing import ConversationFilter
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.web.http.endpoints import FLAG, Call, Endpoint, answer
from arvis.web.http.identity import OPERATE, OWN, PLATFORM
from arvis.web.http.schema import BACKUP, BOOLEAN, OK, STRING, TIME, array, object_schema, one_of, optional, page_schema
from arvis.web.http.views import backup_view, page_view

# The progress of the first setup. It is derived from existing rows; only the fact that a person dismissed the setup is
# stored.

_DISMISSED = "setup.dismissed"
_DEMO = "demo"
#: The names of agents that exist from the first start on.
_GIVEN_AGENTS = frozenset({"helper", "conductor"})
#: The search for a first reply reads this many of the newest conversations of the dashboard and the API, and this many
#: of the newest messages in each of these conversations.
_LOOK = 20

SETUP = object_schema(
    {
        "hasPassword": BOOLEAN,
        "hasAccount": {**BOOLEAN, "description": "An account other than the demo."},
        "hasOwnAgent": {
            **BOOLEAN,
            "description": "An agent besides `helper` and the conductor, or one of these was changed.",
        },
        "hasBot": BOOLEAN,
        "hasReply": {**BOOLEAN, "description": "An agent has replied to a message on the dashboard or the API."},
        "dismissed": BOOLEAN,
        "done": {**BOOLEAN, "description": "All steps are done, or the setup was dismissed."},
    }
)


class SetupRoutes:
    """Routes of the setup. `password`: the configuration has a password."""

    def __init__(
        self,
        *,
        insights: Insights,
        store: Store,
        accounts: AccountService,
        bots: BotService,
        clock: Clock,
        password: bool,
    ) -> None:
        self._insights = insights
        self._store = store
        self._accounts = accounts
        self._bots = bots
        self._clock = clock
        self._password = password

    def endpoints(self) -> list[Endpoint]:
        path = "/api/setup"
        return [
            Endpoint("GET", path, "Show the progress of the first setup", OWN, self._show, {200: SETUP}),
            Endpoint("POST", f"{path}/dismiss", "Dismiss the first setup", OWN, self._dismiss, {200: OK}),
        ]

    async def _show(self, _: Call) -> Response:
        has_password, dismissed, own_agent = await self._store.read(_read_progress)
        registry = self._accounts.book
        usable = (*registry.configured, *registry.usable)
        found = {
            "hasPassword": self._password or has_password,
            "hasAccount": any(account.provider != _DEMO for account in usable),
            "hasOwnAgent": own_agent,
            "hasBot": any(spec.platform != "console" for spec in self._bots.registry.specs),
            "hasReply": await self._has_reply(),
        }
        return answer({**found, "dismissed": dismissed, "done": dismissed or all(found.values())})

    async def _dismiss(self, _: Call) -> Response:
        await self._store.write(_set_dismissed, self._clock.now())
        return answer({"ok": True})

    async def _has_reply(self) -> bool:
        page = await self._insights.talks(ConversationFilter(platform=PLATFORM), limit=_LOOK, cursor=None)
        for conversation in page.items:
            messages = await self._insights.conversation_messages(conversation.id, limit=_LOOK, cursor=None)
            if any(message.role is Role.ASSISTANT for message in messages.items):
                return True
        return False


def _read_progress(tx: Transaction) -> tuple[bool, bool, bool]:
    agents = tx.agents.all()
    own = any(agent.slug not in _GIVEN_AGENTS and not agent.is_conductor for agent in agents)
    changed = any(len(tx.agents.versions(agent.id, 2)) > 1 for agent in agents)
    return tx.users.any_password(), tx.settings.get(_DISMISSED) is not None, own or changed


def _set_dismissed(tx: Transaction, now: int) -> None:
    tx.settings.put(_DISMISSED, str(now), now)


# The findings of `arvis doctor`, which runs as a separate program. The composition root provides the function that
# starts it. One examination runs at a time, and its findings are cached for `_KEEP` seconds.

#: Seconds for which findings are cached.
_KEEP = 5.0

#: Returns the output of `arvis doctor --json`. If the argument is True, only the security checks run.
Examine = Callable[[bool], Awaitable[str]]

FINDING = object_schema(
    {
        "id": {**STRING, "description": "Stable identifier for programs."},
        "group": STRING,
        "status": one_of(("ok", "warn", "fail")),
        "what": STRING,
        "why": optional(STRING),
        "fix": optional(STRING),
    }
)
FINDINGS = object_schema(
    {
        "ok": {**BOOLEAN, "description": "No check has failed."},
        "at": TIME,
        "items": array(FINDING),
        "nextCursor": optional(STRING),
    }
)


@dataclass(frozen=True, slots=True)
class _Report:
    at: int
    ticks: float
    ok: bool
    items: Sequence[Mapping[str, Any]]


class DoctorRoutes:
    def __init__(self, *, examine: Examine, clock: Clock) -> None:
        self._examine = examine
        self._clock = clock
        self._examining = asyncio.Lock()
        self._reports: dict[bool, _Report] = {}

    def endpoints(self) -> list[Endpoint]:
        query = {"security": {**FLAG, "description": "Only the security checks."}}
        return [Endpoint("GET", "/api/doctor", "Run `arvis doctor`", OPERATE, self._show, {200: FINDINGS}, query=query)]

    async def _show(self, call: Call) -> Response:
        report = await self._report(call.flag("security", default=False))
        return answer({"ok": report.ok, "at": report.at, "items": list(report.items), "nextCursor": None})

    async def _report(self, security: bool) -> _Report:
        async with self._examining:
            known = self._reports.get(security)
            if known is None or self._clock.monotonic() - known.ticks > _KEEP:
                ok, items = await self._findings(security)
                known = _Report(self._clock.now(), self._clock.monotonic(), ok, items)
                self._reports[security] = known
            return known

    async def _findings(self, security: bool) -> tuple[bool, Sequence[Mapping[str, Any]]]:
        try:
            found = json.loads(await self._examine(security))
            return bool(found["ok"]), [_item(check) for check in found["checks"]]
        except ToolError as error:
            why = error.what
        except (ValueError, KeyError, TypeError):
            why = "It printed no findings."
        fix = "Run `arvis doctor` on the machine."
        raise Unavailable("The checks did not finish.", why=why, fix=fix)


def _item(check: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return one finding from the program's output. Raise `KeyError` or `TypeError` for unexpected output."""
    shown = {name: str(check[name]) for name in ("id", "group", "status", "what")}
    return {**shown, "why": check["why"] or None, "fix": check["fix"] or None}


class BackupRoutes:
    def __init__(self, *, backups: Backups) -> None:
        self._backups = backups

    def endpoints(self) -> list[Endpoint]:
        path = "/api/backups"
        return [
            Endpoint(
                "GET",
                path,
                "List the backups in the data folder, newest first",
                OWN,
                self._list,
                {200: page_schema(BACKUP)},
            ),
            Endpoint("POST", path, "Create a backup; may take minutes", OWN, self._make, {201: BACKUP}),
        ]

    async def _list(self, _: Call) -> Response:
        return answer(page_view([backup_view(backup) for backup in await self._backups.all()], None))

    async def _make(self, _: Call) -> Response:
        try:
            made = await self._backups.make()
        except Unavailable:
            raise
        except StoreError as error:
            # As a `Conflict`, the error is shown to the owner who requested the backup. A `StoreError` would count as a
            # defect of the daemon.
            raise Conflict(error.what, why=error.why, fix=error.fix, code=error.code) from error
        return answer(backup_view(made), 201)
