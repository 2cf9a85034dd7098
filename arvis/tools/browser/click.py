"""Tool `browser_click`: clicks on an element of an open page, and returns the text of the page after that."""

from __future__ import annotations

from arvis.domain.tools import Need, Risk, ToolDeclaration
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.browser.action import PageAction, PageId, Reference, pages_of

DECLARATION = ToolDeclaration(risk=Risk.WRITE, repeatable=False, needs=(Need.NETWORK, Need.SANDBOX))


def create(services: ToolServices) -> Tool:
    pages = pages_of(services)

    async def browser_click(page: PageId, ref: Reference, *, caller: Caller) -> str:
        """Click on an element of an open page of your browser."""
        return await pages.click(caller, page, ref)

    return PageAction(browser_click, DECLARATION, pages=pages)
