"""`arvis doctor` over HTTP, with the same findings.

The examination runs as a separate program, which the composition root provides. One runs at a time, and its findings
are cached for a few seconds.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from arvis.domain.errors import ToolError, Unavailable
from arvis.ports.clock import Clock
from arvis.web.http.endpoints import FLAG, Call, Endpoint, answer
from arvis.web.http.identity import OPERATE
from arvis.web.http.schema import BOOLEAN, STRING, TIME, array, object_schema, one_of, optional

#: Seconds for which findings are cached.
_KEEP = 5.0

#: Returns the output of `arvis doctor --json`. The argument limits the examination to the security checks.
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
        "ok": {**BOOLEAN, "description": "Nothing fails."},
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
        raise Unavailable("The examination did not finish.", why=why, fix=fix)


def _item(check: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a finding. Raises `KeyError` and `TypeError` for unexpected output."""
    shown = {name: str(check[name]) for name in ("id", "group", "status", "what")}
    return {**shown, "why": check["why"] or None, "fix": check["fix"] or None}
