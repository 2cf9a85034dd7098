"""Tool `browser_type`: fills a field of an open page or chooses an option, and returns the text of the page after that."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from arvis.domain.tools import Need, Risk, ToolDeclaration
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.browser.action import PageAction, PageId, Reference, pages_of

DECLARATION = ToolDeclaration(risk=Risk.WRITE, repeatable=False, needs=(Need.NETWORK, Need.SANDBOX))


def create(services: ToolServices) -> Tool:
    pages = pages_of(services)

    async def browser_type(
        page: PageId,
        ref: Reference,
        text: Annotated[str, Field(max_length=5_000, description="The new content, or the name of an option")],
        submit: Annotated[bool, Field(description="Then press Enter")] = False,
        *,
        caller: Caller,
    ) -> str:
        """Fill a field of an open page of your browser, or choose an option of a list."""
        return await pages.type(caller, page, ref, text, submit=submit)

    return PageAction(browser_type, DECLARATION, pages=pages)
