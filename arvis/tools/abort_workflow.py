"""Tool `abort_workflow`: ends a workflow run that the agent started in the same conversation, and no other run."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from arvis.domain.tools import Risk, ToolDeclaration
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool
from arvis.tools.start_workflow import workflow_starts

DECLARATION = ToolDeclaration(risk=Risk.WRITE, own_output=True, without_approval=True)


def create(services: ToolServices) -> Tool:
    async def abort_workflow(
        run: Annotated[str, Field(min_length=1, max_length=64, description="The id of the run")], *, caller: Caller
    ) -> str:
        """End a workflow run that you started in this conversation and that is not finished."""
        return await workflow_starts(services).abort(caller, run)

    return FunctionTool(abort_workflow, DECLARATION)
