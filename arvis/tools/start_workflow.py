"""Tool `start_workflow`: starts a workflow and ends the turn. The results begin the agent's next turn.

The authors of the workflow decided what it may do, so no approval is needed, unless text of other people may have led
to the call.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from arvis.domain.dataclass import replace
from arvis.domain.errors import ToolError
from arvis.domain.tools import Risk, ToolDeclaration
from arvis.ports.tool import Caller, Tool, ToolServices, WorkflowStarts
from arvis.tools.function import FunctionTool

DECLARATION = ToolDeclaration(risk=Risk.WRITE, own_output=True, without_approval=True)


def create(services: ToolServices) -> Tool:
    async def start_workflow(
        workflow: Annotated[str, Field(min_length=1, max_length=64, description="Name from the list")],
        input: Annotated[str, Field(max_length=16_000, description="Input of the workflow")] = "",  # noqa: A002 the model's word
        *,
        caller: Caller,
    ) -> str:
        """Start a workflow. This ends your turn; you get the results as the next message when the workflow ends.
        Start a workflow only if the person asks for the work that it does."""
        return await workflow_starts(services).start(caller, workflow=workflow, given=input)

    return StartTool(start_workflow, services)


class StartTool(FunctionTool):
    """The tool `start_workflow`, which implements `Wary`, `Current` and `EndsTurn`."""

    def __init__(self, function: Any, services: ToolServices) -> None:
        super().__init__(function, DECLARATION)
        self._services = services

    def wary(self, arguments: Mapping[str, Any]) -> bool:
        del arguments
        return True

    def ends_turn(self) -> bool:
        return True

    async def current(self) -> Tool:
        """Return the tool with the available workflows in its description."""
        if self._services.workflows is None:
            return self
        described = copy.copy(self)
        there = await self._services.workflows.listing()
        described.spec = replace(self.spec, description=f"{self.spec.description} Workflows:\n{there}")
        return described


def workflow_starts(services: ToolServices) -> WorkflowStarts:
    if services.workflows is None:
        raise ToolError("No workflows are available here.")
    return services.workflows
