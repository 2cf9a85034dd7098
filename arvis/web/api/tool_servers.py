"""Servers of tools (Model Context Protocol) over HTTP, and the acceptance of their descriptions."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import Field
from starlette.responses import Response

from arvis.domain.errors import NotFound
from arvis.domain.regex import regex
from arvis.tools.mcp.servers import Acceptance, McpServers, ServerStatus, ToolStatus
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import Call, Routes, answer, answer_page, route
from arvis.web.http.identity import OPERATE, OWN
from arvis.web.http.models import About, Body, Page, Says, View

_NAME = regex(r"[a-z0-9_-]{1,32}", re.ASCII)
_DIGEST = regex(r"[0-9a-f]{64}", re.ASCII)
_MOST_TOOLS = 1_000
#: The maximum number of characters of a change. Two schemas of the permitted size and two descriptions, as models get
#: them, are shorter.
_LONGEST_CHANGE = 500_000


class ServerView(View):
    name: str
    connected: bool
    problem: Annotated[
        str | None, About("The reason why it is not connected; null before the first attempt has ended.")
    ]
    tools: int
    changed: Annotated[int, About("The tools with a change that no person has accepted.")]
    new: Annotated[int, About("The tools that were added after the first list, and that no person has accepted.")]

    @classmethod
    def of(cls, server: ServerStatus) -> Self:
        states = [tool.acceptance for tool in server.tools]
        return cls.showing(
            server,
            problem=server.trouble or None,
            tools=len(states),
            changed=states.count(Acceptance.CHANGED),
            new=states.count(Acceptance.NEW),
        )


class ServerToolView(View):
    name: Annotated[str, About("The server's name for the tool.")]
    description: Annotated[str, About("The description that models get.")]
    state: Acceptance
    change: Annotated[str | None, About("The whole change of description, schema and read-only claim, line by line.")]
    digest: Annotated[str, About("The SHA-256 of the present description.")]

    @classmethod
    def of(cls, tool: ToolStatus) -> Self:
        change = tool.change
        if len(change) > _LONGEST_CHANGE:
            change = f"{change[:_LONGEST_CHANGE]}\n[cut here: the change has {len(change):,} characters]"
        return cls.showing(tool, state=tool.acceptance, change=change or None)


class ServerDetailView(ServerView):
    items: Annotated[list[ServerToolView], About("Its tools by name; none while it is not connected.")]

    @classmethod
    def of(cls, server: ServerStatus) -> Self:
        return cls.showing(ServerView.of(server), items=[ServerToolView.of(tool) for tool in server.tools])


class AcceptedTool(Body):
    name: Annotated[str, Field(min_length=1, max_length=128), Says("must be the name of a tool")]
    digest: Annotated[
        Annotated[str, Field(pattern=f"^{_DIGEST.pattern}$"), Says("must be the digest of the tool")],
        About("The digest that the person has seen; 409 if the description has changed since."),
    ]


class AcceptedTools(Body):
    tools: Annotated[
        list[AcceptedTool], Field(min_length=1, max_length=_MOST_TOOLS), Says("must be a list of 1 to 1000 tools")
    ]


_ALL, _ONE = "/api/tool-servers", "/api/tool-servers/{server}"


class ToolServerRoutes(Routes):
    def __init__(self, *, servers: McpServers, gate: Authorizer) -> None:
        self._servers = servers
        self._gate = gate

    @route("GET", _ALL, "List the servers of tools", OPERATE, {200: Page[ServerView]})
    async def _list(self, _: Call) -> Response:
        return answer_page([ServerView.of(each) for each in await self._servers.statuses()], None)

    @route("GET", _ONE, "Show a server of tools with its tools", OPERATE, {200: ServerDetailView})
    async def _show(self, call: Call) -> Response:
        return answer(ServerDetailView.of(await self._servers.status(_server(call))))

    @route(
        "POST",
        f"{_ONE}/accept",
        "Accept the present descriptions of tools",
        OWN,
        {200: ServerDetailView},
        body=AcceptedTools,
    )
    async def _accept(self, call: Call) -> Response:
        name, body = _server(call), await call.read(AcceptedTools)
        by = await self._gate.principal_id(call.identity)
        await self._servers.accept(name, {each.name: each.digest for each in body.tools}, by)
        return answer(ServerDetailView.of(await self._servers.status(name)))


def _server(call: Call) -> str:
    name = call.named("server", _NAME)
    if name is None:
        raise NotFound("There is no such tool server.", fix="List the servers of `mcp.servers`: `arvis mcp list`.")
    return name
