"""Code that the tools `browser_…` share: the class of tools whose question shows an element of a page, and the types of
arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.tools import ToolDeclaration
from arvis.ports.tool import BrowserPages, Caller, ToolServices
from arvis.tools.function import FunctionTool

PageId = Annotated[str, Field(max_length=40, description="Id of the page, as in `Page: 3f9a01`")]
Reference = Annotated[str, Field(max_length=40, description="Element, as in [ref=e12]")]


class PageAction(FunctionTool):
    """A tool that uses an element of a page. The question about a call shows the element and the address of the page."""

    def __init__(
        self, function: Callable[..., Awaitable[str]], declaration: ToolDeclaration, *, pages: BrowserPages
    ) -> None:
        super().__init__(function, declaration)
        self._pages = pages

    async def explain(self, arguments: Mapping[str, Any], caller: Caller) -> str:
        return await self._pages.element(caller, str(arguments["page"]), str(arguments["ref"]))


def pages_of(services: ToolServices) -> BrowserPages:
    """Return the pages of the browser. Raise `ToolError` if this process has no browser."""
    if services.browser is None:
        raise ToolError("This process has no browser.")
    return services.browser
