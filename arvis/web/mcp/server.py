"""The server of the package `mcp`, which offers the tools of `ArvisTools`. This module is imported only at the first
request, because the package may be missing."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from arvis import __version__
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import NotFound, Unprocessable
from arvis.web.http.errors import Failure, attempt
from arvis.web.http.identity import SEND, Identity
from arvis.web.http.requests import unusable
from arvis.web.mcp.routes import IDENTITY, BufferedExchange
from arvis.web.mcp.tools import ArvisTools, ToolDescription

_ABOUT = "Arvis runs AI agents. Send a message to one and read its answer, and search earlier messages."
_JSON = "application/json"

#: The addresses of the resources (the list of agents, and each conversation), and the name of the prompt. The prompt
#: asks the model of the program to forward a message to an agent.
AGENTS = "arvis://agents"
CONVERSATION = "arvis://conversations/{id}"
ASK_AGENT = "ask_agent"
_PREFIX = CONVERSATION.partition("{")[0]
_LONGEST_TEXT = 100_000
#: The maximum number of values in a completion, as the protocol requires.
_MOST_VALUES = 100

Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class ArvisResources:
    """The resources and the prompt for a credential. They use the tools, so the access rules are the same. The methods
    raise `ArvisError`."""

    tools: ArvisTools

    async def read(self, identity: Identity, uri: str) -> str:
        """Return the content of a resource as JSON. Raise `NotFound` if no resource has this address."""
        if uri == AGENTS:
            found = await self.tools.call(identity, "list_agents", {})
        elif (conversation := uri.removeprefix(_PREFIX)) not in {uri, ""}:
            found = await self.tools.call(identity, "read_conversation", {"id": conversation})
        else:
            raise NotFound("There is no such resource.", fix="List the resources and their templates.")
        return json.dumps(found.data, ensure_ascii=False)

    async def complete(self, identity: Identity, place: str, argument: str, value: str) -> list[str]:
        """Return the possible values of an argument of the prompt or of a template (`place`) that begin with `value`.
        For an argument that accepts any text, return an empty list. Raise `NotFound` if the credential may use no
        prompt or template of this name."""
        if place == ASK_AGENT and self.may_prompt(identity):
            found = await self.tools.call(identity, "list_agents", {})
            known = [str(agent["slug"]) for agent in found.data["agents"]] if argument == "agent" else []
        elif place == CONVERSATION:
            known = [*await self.tools.recent_conversations(identity, _MOST_VALUES)] if argument == "id" else []
        else:
            raise NotFound("There is no such prompt or template.", fix="List the prompts and the templates.")
        return [each for each in known if each.casefold().startswith(value.casefold())]

    def may_prompt(self, identity: Identity) -> bool:
        """Return whether this credential may use the prompt, which requires the right to send messages."""
        return identity.role in SEND

    def prompt(self, arguments: Mapping[str, Any]) -> str:
        """Return the text of the prompt. Raise `Unprocessable` if an argument is missing or too long."""
        text, agent = arguments.get("text", ""), arguments.get("agent", "")
        if not text.strip() or len(text) > _LONGEST_TEXT or len(agent) > _LONGEST_TEXT:
            raise unusable("text", f"must have from 1 to {_LONGEST_TEXT:,} characters")
        whom = f"the agent {json.dumps(agent, ensure_ascii=False)}" if agent.strip() else "the default agent"
        return f"Call the tool send_message with {whom} and this text, and show me the answer:\n\n{text}"


async def serve(tools: ArvisTools) -> Serving:
    serving = Serving(tools)
    await serving.begin()
    return serving


class Serving:
    """The request manager of the package `mcp`. One task opens and closes it, because the package requires this."""

    def __init__(self, tools: ArvisTools) -> None:
        server: Server[Any] = Server(
            "arvis",
            version=__version__,
            instructions=_ABOUT,
            on_list_tools=_Lister(tools).list,
            on_call_tool=_Caller(tools).call,
            on_list_resources=_Reader.list,
            on_list_resource_templates=_Reader.templates,
            on_read_resource=_Reader(ArvisResources(tools)).read,
            on_list_prompts=_Prompter(ArvisResources(tools)).list,
            on_get_prompt=_Prompter(ArvisResources(tools)).get,
            on_completion=_Completer(ArvisResources(tools)).complete,
        )
        self._manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        # The package would log every request, including whole messages of clients.
        logging.getLogger("mcp").setLevel(logging.CRITICAL)
        up = asyncio.Event()
        self._task = asyncio.create_task(self._run(up), name="mcp")
        await up.wait()

    async def _run(self, up: asyncio.Event) -> None:
        async with self._manager.run():
            up.set()
            await self._closing.wait()

    async def answer(self, scope: Scope, body: bytes) -> Response:
        collected = BufferedExchange(body)
        await self._manager.handle_request(scope, collected.receive, collected.send)
        return collected.response()

    async def close(self) -> None:
        self._closing.set()
        if self._task is not None:
            await self._task


class _Lister:
    def __init__(self, tools: ArvisTools) -> None:
        self._tools = tools

    async def list(self, context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_tool(each) for each in self._tools.offered(_identity(context))])


class _Caller:
    def __init__(self, tools: ArvisTools) -> None:
        self._tools = tools

    async def call(self, context: Context, asked: CallToolRequestParams) -> CallToolResult:
        identity = _identity(context)
        if asked.name not in {each.name for each in self._tools.offered(identity)}:
            raise MCPError(INVALID_PARAMS, f"There is no tool {asked.name[:100]} for this key.")
        found = await attempt(self._tools.call(identity, asked.name, asked.arguments or {}))
        if isinstance(found, Failure):
            return CallToolResult(
                content=[TextContent(type="text", text=f"{found.message} {found.fix}".strip())], is_error=True
            )
        text = found.text or json.dumps(found.data, ensure_ascii=False)
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=dict(found.data))


class _Reader:
    def __init__(self, resources: ArvisResources) -> None:
        self._resources = resources

    @staticmethod
    async def list(context: Context, _: PaginatedRequestParams | None) -> ListResourcesResult:
        del context
        about = "The agents that accept messages."
        return ListResourcesResult(resources=[Resource(uri=AGENTS, name="agents", description=about, mime_type=_JSON)])

    @staticmethod
    async def templates(context: Context, _: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        del context
        about = "The newest messages of a conversation. search_conversations finds its id."
        template = ResourceTemplate(uri_template=CONVERSATION, name="conversation", description=about, mime_type=_JSON)
        return ListResourceTemplatesResult(resource_templates=[template])

    async def read(self, context: Context, asked: ReadResourceRequestParams) -> ReadResourceResult:
        found = await attempt(self._resources.read(_identity(context), asked.uri))
        if isinstance(found, Failure):
            raise MCPError(INVALID_PARAMS, f"{found.message} {found.fix}".strip(), {"uri": asked.uri})
        return ReadResourceResult(contents=[TextResourceContents(uri=asked.uri, text=found, mime_type=_JSON)])


class _Prompter:
    def __init__(self, resources: ArvisResources) -> None:
        self._resources = resources

    async def list(self, context: Context, _: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=[_PROMPT] if self._resources.may_prompt(_identity(context)) else [])

    async def get(self, context: Context, asked: GetPromptRequestParams) -> GetPromptResult:
        if asked.name != ASK_AGENT or not self._resources.may_prompt(_identity(context)):
            raise MCPError(INVALID_PARAMS, f"There is no prompt {asked.name[:100]} for this key.")
        try:
            text = self._resources.prompt(asked.arguments or {})
        except Unprocessable as wrong:
            raise MCPError(INVALID_PARAMS, wrong.what) from None
        return GetPromptResult(messages=[PromptMessage(role="user", content=TextContent(type="text", text=text))])


class _Completer:
    def __init__(self, resources: ArvisResources) -> None:
        self._resources = resources

    async def complete(self, context: Context, asked: CompleteRequestParams) -> CompleteResult:
        place = asked.ref.name if isinstance(asked.ref, PromptReference) else asked.ref.uri
        given = asked.argument
        found = await attempt(self._resources.complete(_identity(context), place, given.name, given.value))
        if isinstance(found, Failure):
            raise MCPError(INVALID_PARAMS, f"{found.message} {found.fix}".strip())
        shown = found[:_MOST_VALUES]
        return CompleteResult(completion=Completion(values=shown, total=len(found), has_more=len(shown) < len(found)))


_PROMPT = Prompt(
    name=ASK_AGENT,
    description="Sends a message to an agent and shows its answer.",
    arguments=[
        PromptArgument(name="text", description="The message.", required=True),
        PromptArgument(name="agent", description="The slug of the agent; empty: the default agent."),
    ],
)


def _tool(each: ToolDescription) -> Tool:
    return Tool(
        name=each.name,
        description=each.description,
        input_schema=dict(each.parameters),
        output_schema=dict(each.returns),
        annotations=ToolAnnotations(read_only_hint=each.reads, open_world_hint=not each.reads),
    )


def _identity(context: Context) -> Identity:
    request = context.request
    if not isinstance(request, Request):
        raise TypeError("a request without its credential")
    identity: Identity = request.scope[IDENTITY]
    return identity
