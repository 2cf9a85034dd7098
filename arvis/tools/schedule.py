"""Reminders for the person that an agent talks with: made, listed and cancelled (behaviour.md 1.12).

What it writes is the asker's alone and within a quota, so no person is asked, with one exception: a reminder that repeats is
shown to a person first when others' words may have led to it, for it would go on by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.tools import Risk
from arvis.ports.tool import Caller, Reminders, Tool, ToolServices
from arvis.tools.function import FunctionTool

_ONCE = ("in ", "at ")


def create(services: ToolServices) -> Tool:
    async def schedule(
        action: Literal["create", "list", "cancel"],
        when: Annotated[
            str | None,
            Field(
                max_length=200,
                description="Of create: `in 10 minutes`, `at 08:00`, `at 2027-01-15 08:00`, `every 2 h`, `@daily`, or a "
                "cron line such as `0 8 * * 1-5`. Times are the person's own.",
            ),
        ] = None,
        prompt: Annotated[
            str | None,
            Field(max_length=2000, description="Of create: what you shall do then, such as `Remind Ann to call Bob.`"),
        ] = None,
        name: Annotated[
            str | None, Field(max_length=100, description="A short name. Of cancel: the name or id.")
        ] = None,
        timezone: Annotated[str | None, Field(max_length=100, description="For example Europe/Paris")] = None,
        *,
        caller: Caller,
    ) -> str:
        """Create, list or cancel reminders for the person you talk with. At the given times you are asked to do what the
        prompt says, and your answer goes to this chat. Reminders come a minute apart at least; a person has a limited
        number of them. Only a person's message can lead to a new one: what a reminder itself sets going makes none."""
        desk = _desk(services)
        match action:
            case "create":
                if not (when or "").strip() or not (prompt or "").strip():
                    raise ToolError("To create a reminder say `when`, and in `prompt` what you shall do then.")
                return await desk.create(caller, prompt=prompt or "", schedule=when or "", name=name, timezone=timezone)
            case "list":
                return await desk.list(caller)
            case "cancel":
                if not (name or "").strip():
                    raise ToolError("Say in `name` which one to cancel, by its name or id.")
                return await desk.cancel(caller, name or "")

    return WaryTool(schedule, risk=Risk.WRITE)


class WaryTool(FunctionTool):
    """`Wary`."""

    def wary(self, arguments: Mapping[str, Any]) -> bool:
        """What comes once is read out and no more (`arvis/services/reminders.py`)."""
        when = str(arguments.get("when") or "").strip().lower()
        return arguments.get("action") == "create" and not when.startswith(_ONCE)


def _desk(services: ToolServices) -> Reminders:
    if services.reminders is None:
        raise ToolError("No reminders are kept here.")
    return services.reminders
