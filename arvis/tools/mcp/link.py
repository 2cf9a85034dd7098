"""One open connection to a server, made with the package `mcp`. Only this module, `calls` and `transports` use the client
of that package.

`remote` imports this module when the first server is needed, never before.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from http.client import NOT_FOUND, UNAUTHORIZED
from typing import Any

from mcp import Client, Implementation, MCPError
from mcp.client import Transport
from mcp.client.subscriptions import SubscriptionLost
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    ReadResourceResult,
    ResourceTemplate,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from arvis import __version__
from arvis.config.servers import McpServer
from arvis.domain.dataclass import replace
from arvis.domain.errors import ToolError
from arvis.domain.model_requests import Sampling
from arvis.domain.text import storable
from arvis.domain.tools import PendingInput
from arvis.ports.clock import Clock
from arvis.tools.mcp.calls import Calls, ToolRequest
from arvis.tools.mcp.content import (
    links_in,
    reply_of,
    reply_of_prompt,
    reply_of_prompts,
    reply_of_resource,
    reply_of_resources,
)
from arvis.tools.mcp.logins import Access
from arvis.tools.mcp.oauth import StoredToken
from arvis.tools.mcp.remote import (
    LINK_SECONDS,
    NEEDS_LOGIN,
    LinkLost,
    LoginNeeded,
    Lookup,
    LookupKind,
    Offer,
    Offered,
    Reply,
)
from arvis.tools.mcp.transports import HttpTransport, News, address, environment_of, guarded, program

_MAX_PAGES = 50
_MAX_TOOLS = 500
_MAX_COMPLAINT = 2_000
#: The seconds after which a lost subscription to changes is opened again.
_LISTEN_AGAIN = 30.0


@contextlib.asynccontextmanager
async def open_link(
    settings: McpServer,
    *,
    clock: Clock,
    say: Callable[[str], None],
    access: Access | None = None,
    tokens: set[str] | None = None,
) -> AsyncIterator[OpenLink]:
    """Open a connection for the duration of the context. Afterwards end the server's program or session, in the same
    task. `say` gets the lines that the program writes to its standard error. `access` provides the tokens of logins.
    The tokens that are used are added to `tokens`, so that the caller can remove them from texts."""
    _keep_the_package_quiet()
    auth = None
    if access is not None and settings.may_log_in:
        auth = StoredToken(settings, logins=access.logins, open_client=access.open_client, used=tokens)
    news, transport = News(), HttpTransport(may_log_in=auth is not None)

    async def hear(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            news.change()

    async def elicit(context: object, params: ElicitRequestParams) -> ElicitResult:
        """Answer a question that the server asks people. Questions between calls are declined."""
        return await calls.elicit(context, params)

    async def sample(context: object, params: CreateMessageRequestParams) -> CreateMessageResult | ErrorData:
        """Let a model answer a request of the server, if it belongs to a call."""
        return await calls.sample(context, params)

    client = Client(
        guarded(_transport_of(settings, transport, say, auth), news, clock),
        message_handler=hear,
        elicitation_callback=elicit,
        sampling_callback=sample if settings.sampling is not Sampling.OFF else None,
        cache=None,
        client_info=Implementation(name="arvis", version=__version__),
        read_timeout_seconds=settings.timeout_seconds,
    )
    calls = Calls(client=client, settings=settings, clock=clock)
    with _refusals_as_errors(transport):
        async with client, _listening(client, news, clock):
            transport.connecting = False
            try:
                yield OpenLink(client=client, calls=calls, news=news, transport=transport)
            finally:
                calls.close()


class OpenLink:
    """A `Link` over the client of the package `mcp`."""

    def __init__(self, *, client: Client, calls: Calls, news: News, transport: HttpTransport) -> None:
        self._client = client
        self._calls = calls
        self._news = news
        self._transport = transport

    async def offers(self) -> Sequence[Offer]:
        """Return the tools that the server offers: at most `_MAX_TOOLS`, from at most `_MAX_PAGES` pages."""
        found: list[Offer] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            found += [
                Offer(
                    name=tool.name,
                    description=tool.description or tool.title or "",
                    schema=tool.input_schema,
                    read_only=bool(tool.annotations and tool.annotations.read_only_hint),
                )
                for tool in page.tools
            ]
            cursor = page.next_cursor
            if cursor is None or len(found) >= _MAX_TOOLS:
                break
        return found[:_MAX_TOOLS]

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        show: Callable[[str], None],
        *,
        given: PendingInput | None = None,
        ask: bool = False,
    ) -> Reply | PendingInput:
        try:
            made = await self._calls.call(ToolRequest(name=name, arguments=arguments, show=show), given, ask=ask)
            if isinstance(made, PendingInput):
                return made
            found = reply_of(made.result, await self._linked(made.result))
        except MCPError as refused:
            raise self._meant(refused) from None
        except ValidationError:
            raise ToolError("the server's answer does not follow the protocol.") from None
        return replace(found, parts=(*found.parts, *made.notes)) if made.notes else found

    async def _linked(self, result: CallToolResult) -> dict[str, ReadResourceResult]:
        """Read the resources to which a result links, within `LINK_SECONDS`. A resource that cannot be read is left out,
        because the call itself has succeeded."""
        found: dict[str, ReadResourceResult] = {}
        if self._client.server_capabilities.resources is None:
            return found
        with contextlib.suppress(TimeoutError), self._calls.looking_up():
            async with asyncio.timeout(LINK_SECONDS):
                for uri in links_in(result):
                    with contextlib.suppress(MCPError, ValidationError):
                        found[uri] = await self._client.read_resource(uri)
        return found

    async def look(self, lookup: Lookup) -> Reply:
        try:
            with self._calls.looking_up():
                match lookup.kind:
                    case LookupKind.RESOURCES:
                        return await self._resources(lookup.cursor)
                    case LookupKind.RESOURCE:
                        return reply_of_resource(await self._client.read_resource(lookup.name))
                    case LookupKind.PROMPTS:
                        return reply_of_prompts(await self._client.list_prompts(cursor=lookup.cursor))
                    case LookupKind.PROMPT:
                        return reply_of_prompt(await self._client.get_prompt(lookup.name, dict(lookup.arguments)))
        except MCPError as refused:
            raise self._meant(refused) from None
        except ValidationError:
            raise ToolError("the server's answer does not follow the protocol.") from None

    async def _resources(self, cursor: str | None) -> Reply:
        """List the resources. With the first part of the list, also list the templates, which a server need not
        support."""
        page = await self._client.list_resources(cursor=cursor)
        templates: Sequence[ResourceTemplate] = ()
        if cursor is None:
            with contextlib.suppress(MCPError):
                templates = (await self._client.list_resource_templates()).resource_templates
        return reply_of_resources(page, templates)

    @property
    def abilities(self) -> frozenset[Offered]:
        offered = self._client.server_capabilities
        kinds = {Offered.RESOURCES: offered.resources, Offered.PROMPTS: offered.prompts}
        return frozenset(kind for kind, capability in kinds.items() if capability is not None)

    def end(self, why: str) -> None:
        self._news.lose(why)

    async def changed(self) -> None:
        await self._news.changed()

    def _meant(self, refused: MCPError) -> Exception:
        if refused.error.code == CONNECTION_CLOSED:
            return LinkLost("it closed the connection")
        if refused.error.code == REQUEST_TIMEOUT:
            return TimeoutError()
        if self._transport.challenge is not None:
            if self._transport.refusal == UNAUTHORIZED:
                self._news.lose(NEEDS_LOGIN)
            return LoginNeeded(self._transport.challenge)
        if self._transport.refusal == NOT_FOUND:
            self._news.lose("it no longer knows the session")
            return LinkLost("it no longer knows the session")
        return ToolError(storable(refused.error.message[:_MAX_COMPLAINT]))


def _transport_of(
    settings: McpServer, transport: HttpTransport, say: Callable[[str], None], auth: StoredToken | None
) -> Transport:
    if settings.command is not None:
        given = {name: text.get_secret_value() for name, text in settings.env.items()}
        return program(settings.command, environment_of(given, os.environ), say)
    headers = {name: text.get_secret_value() for name, text in settings.headers.items()}
    return address(settings.url or "", headers, transport, auth)


@contextlib.contextmanager
def _refusals_as_errors(transport: HttpTransport) -> Any:
    """Raise `LinkLost` with the HTTP status if the server refused the request, because the error of the package `mcp`
    does not contain the status. Raise `LoginNeeded` if a login is possible."""
    try:
        yield
    except* MCPError:
        if transport.refusal is None:
            raise
        if transport.challenge is not None:
            raise LoginNeeded(transport.challenge) from None
        raise LinkLost(f"it answers with status {transport.refusal}") from None


@contextlib.asynccontextmanager
async def _listening(client: Client, news: News, clock: Clock) -> AsyncIterator[None]:
    """Subscribe to changes of the server's tools while the context is open. Servers of the newer protocol report
    changes only to subscribers."""
    tools = client.server_capabilities.tools
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
        yield
        return
    listening = asyncio.create_task(_listen(client, news, clock))
    try:
        yield
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _listen(client: Client, news: News, clock: Clock) -> None:
    """Report changes of the tools until cancelled, or until the server refuses a subscription."""
    while True:
        with contextlib.suppress(SubscriptionLost):
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    news.change()
        await clock.sleep(_LISTEN_AGAIN)
        news.change()


def _keep_the_package_quiet() -> None:
    """Silence the log of the package `mcp`. This log would contain whole messages, and a traceback for each unreadable
    message; a server can send any number of messages. `remote` logs the relevant errors."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    logging.getLogger("httpx2").setLevel(logging.WARNING)
