"""Tool `browser_open`: opens a public web page in the agent's browser, and returns its text with references to
elements.

The browser sends the cookies of the agent's profile, so the page may contain data of an account.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from arvis.domain.tools import Need, Risk, ToolDeclaration
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.browser.action import pages_of
from arvis.tools.function import FunctionTool

DECLARATION = ToolDeclaration(risk=Risk.EGRESS, only_to_addresses=True, needs=(Need.NETWORK, Need.SANDBOX))


def create(services: ToolServices) -> Tool:
    pages = pages_of(services)

    async def browser_open(
        url: Annotated[str, Field(max_length=8000, description="A public http or https address")],
        *,
        caller: Caller,
    ) -> str:
        """Open a web page in your browser. Returns its text; [ref=…] marks elements for the other browser tools. Use
        http_fetch instead if you only need to read a public page."""
        return await pages.open(caller, url)

    return FunctionTool(browser_open, DECLARATION)
