"""Tool `generate_image`: generates a picture from a description, and sends it with the reply.

Each call costs money that budgets do not count, because services charge pictures in different ways. So a person must
approve it, unless a rule in `approvals.policy` permits it.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.tools import Need, Risk, ToolDeclaration
from arvis.ports.images import SIZE
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool
from arvis.tools.result_files import Media, text_with_files

_SECONDS = 60.0
_MAX_BYTES = 25_000_000

DECLARATION = ToolDeclaration(risk=Risk.MONEY, needs=(Need.NETWORK,))


def create(services: ToolServices) -> Tool:
    async def given() -> ToolServices:
        return services

    async def generate_image(
        prompt: Annotated[str, Field(min_length=1, max_length=4_000, description="What the picture shows")],
        size: Annotated[str, Field(max_length=9, description="Such as 1024x1024; empty: the usual size")] = "",
        *,
        caller: Caller,
    ) -> str:
        """Generate a picture from a description. It is sent with your reply."""
        if services.images is None:
            raise ToolError("No image service is configured. An owner must set `images.model`.")
        if size and not SIZE.fullmatch(size):
            raise ToolError("The size must be WIDTHxHEIGHT, such as 1024x1024, or empty.")
        made = await services.images.generate(prompt, size)
        data = made.data
        if made.url:
            answer = await services.fetcher.fetch(made.url, max_bytes=_MAX_BYTES, timeout=_SECONDS)
            if answer.status != HTTPStatus.OK or answer.truncated:
                why = "it is too large" if answer.truncated else f"its address answers with status {answer.status}"
                raise ToolError(f"The picture was generated, but it cannot be fetched: {why}.")
            data = answer.body
        parts: list[str | Media] = [Media(data, "picture", "")]
        if made.prompt:
            parts.append(f"The service used this description: {made.prompt}")
        return await text_with_files(parts, tool="picture", services=given, send=True, caller=caller)

    return FunctionTool(generate_image, DECLARATION)
