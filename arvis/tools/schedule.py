"""Tool `schedule`: sets, lists and cancels reminders for the person who asks.

A reminder concerns only the asker and counts against a quota, so it needs no approval. There is one exception: a
repeating reminder needs an approval if text of other people may have led to it, because it would repeat that text again
and again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.tools import Risk, ToolDeclaration
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool

_ONCE = ("in ", "at ")

DECLARATION = ToolDeclaration(risk=Risk.WRITE, own_output=True, without_approval=True)


def create(services: ToolServices) -> Tool:
    async def schedule(
        action: Literal["create", "list", "cancel"],
        when: Annotated[
            str | None,
            Field(
                max_length=200,
                description="For create: `in 10 minutes`, `at 08:00`, `at 2027-01-15 08:00`, `every 2 h`, `@daily`, or a "
                "cron line such as `0 8 * * 1-5`, in the person's time zone",
            ),
        ] = None,
        prompt: Annotated[
            str | None,
            Field(max_length=2000, description="For create: your task at that time, such as `Remind Ann to call Bob.`"),
        ] = None,
        name: Annotated[
            str | None,
            Field(max_length=100, description="For create: a short name. For cancel: the name or id of the reminder"),
        ] = None,
        timezone: Annotated[str | None, Field(max_length=100, description="Such as Europe/Paris")] = None,
        *,
        caller: Caller,
    ) -> str:
        """Create, list or cancel reminders for the person in this chat. At each time of a reminder, you get its prompt as a
        task, and your answer is posted in this chat. Reminders are at least a minute apart and limited in number per
        person. Create them only in reply to a person's message; a reminder cannot create another."""
        reminders = services.reminders
        if reminders is None:
            raise ToolError("Reminders are not available here.")
        match action:
            case "create":
                if not (when or "").strip() or not (prompt or "").strip():
                    raise ToolError("To create a reminder, give `when` and your task in `prompt`.")
                return await reminders.create(
                    caller, prompt=prompt or "", schedule=when or "", name=name, timezone=timezone
                )
            case "list":
                return await reminders.list(caller)
            case "cancel":
                if not (name or "").strip():
                    raise ToolError("Give the name or id of the reminder in `name`.")
                return await reminders.cancel(caller, name or "")

    return WaryTool(schedule, DECLARATION)


class WaryTool(FunctionTool):
    """The tool `schedule`, which implements `Wary`."""

    def wary(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether the call creates a repeating reminder. A single reminder that other people's text may have
        caused is harmless, because the agent only repeats its text (`arvis/services/reminders.py`)."""
        when = str(arguments.get("when") or "").strip().lower()
        return arguments.get("action") == "create" and not when.startswith(_ONCE)
