"""Tool `browser_read`: returns the text of an open page again, or its next part."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from arvis.domain.tools import Need, Risk, ToolDeclaration
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.browser.action import PageId, pages_of
from arvis.tools.function import FunctionTool

DECLARATION = ToolDeclaration(risk=Risk.READ, needs=(Need.SANDBOX,))


def create(services: ToolServices) -> Tool:
    pages = pages_of(services)

    async def browser_read(
        page: PageId,
        offset: Annotated[int, Field(ge=0, description="Where to continue a long text")] = 0,
        *,
        caller: Caller,
    ) -> str:
        """Read an open page of your browser as it is now, or the next part of its text."""
        return await pages.read(caller, page, offset)

    return FunctionTool(browser_read, DECLARATION)
