"""Tool `browser_screenshot`: shows a picture of an open page to the model, and sends it with the reply if the model
requests this."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from arvis.domain.messages import OutgoingFile
from arvis.domain.tools import Need, Risk, ToolDeclaration
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.browser.action import PageId, pages_of
from arvis.tools.function import FunctionTool

DECLARATION = ToolDeclaration(risk=Risk.READ, needs=(Need.SANDBOX,))

_TYPE = "image/jpeg"


def create(services: ToolServices) -> Tool:
    pages, store = pages_of(services), services.store

    async def browser_screenshot(
        page: PageId,
        whole: Annotated[bool, Field(description="The whole page, not only the visible part")] = False,
        send: Annotated[bool, Field(description="Also send it to the person, with your reply")] = False,
        *,
        caller: Caller,
    ) -> str:
        """Look at an open page of your browser."""
        picture = await pages.picture(caller, page, whole=whole)
        sha256 = await store.put_blob(picture.data)
        caller.show((picture.name, _TYPE, sha256))
        if send:
            caller.attach(OutgoingFile(picture.name, _TYPE, len(picture.data), sha256))
        sent = " It will be sent with your reply." if send else ""
        return f"{picture.about}\nThe picture is attached to the newest message of the person.{sent}"

    return FunctionTool(browser_screenshot, DECLARATION)
