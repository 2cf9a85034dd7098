"""One open connection to a server, made with the package `mcp`. Only this module and `transports` use the client of
that package.

`remote` imports this module when the first server is needed, never before.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from http.client import NOT_FOUND
from typing import Any

from mcp import Client, Implementation, MCPError
from mcp.client import Transport
from mcp.client.subscriptions import SubscriptionLost
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    ElicitRequestParams,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from arvis import __version__
from arvis.config.servers import McpServer
from arvis.domain.dataclass import replace
from arvis.domain.errors import ToolError
from arvis.domain.text import storable
from arvis.ports.clock import Clock
from arvis.tools.mcp.remote import LinkLost, Offer, Reply
from arvis.tools.mcp.transports import HttpTransport, News, address, environment_of, guarded, program

_MAX_PAGES = 50
_MAX_TOOLS = 500
_MAX_COMPLAINT = 2_000
#: The maximum number of declined questions of a server that are kept for the next result.
_MAX_QUESTIONS = 10
#: The seconds after which a lost subscription to changes is opened again.
_LISTEN_AGAIN = 30.0


@contextlib.asynccontextmanager
async def open_link(settings: McpServer, *, clock: Clock, say: Callable[[str], None]) -> AsyncIterator[OpenLink]:
    """Open a connection for the duration of the context. Afterwards end the server's program or session, in the same
    task. `say` gets the lines that the program writes to its standard error."""
    _keep_the_package_quiet()
    news, transport = News(), HttpTransport()

    async def hear(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            news.change()

    questions: list[str] = []

    async def decline(context: object, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG001 called by name
        """Decline a question that the server asks people during a call; the result of the call mentions it."""
        if len(questions) < _MAX_QUESTIONS:
            questions.append(storable(params.message[:_MAX_COMPLAINT]))
        return ElicitResult(action="decline")

    client = Client(
        guarded(_transport_of(settings, transport, say), news, clock),
        message_handler=hear,
        elicitation_callback=decline,
        cache=None,
        client_info=Implementation(name="arvis", version=__version__),
        read_timeout_seconds=settings.timeout_seconds,
    )
    with _refusals_as_errors(transport):
        async with client, _listening(client, news, clock):
            yield OpenLink(
                client=client, news=news, transport=transport, seconds=settings.timeout_seconds, questions=questions
            )


class OpenLink:
    """A `Link` over the client of the package `mcp`. `questions` are the questions that the server asked and Arvis
    declined. The result of the next call reports them to the model."""

    def __init__(
        self, *, client: Client, news: News, transport: HttpTransport, seconds: float, questions: list[str]
    ) -> None:
        self._client = client
        self._news = news
        self._transport = transport
        self._seconds = seconds
        self._questions = questions

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

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Reply:
        try:
            found = reply_of(await self._client.call_tool(name, dict(arguments), read_timeout_seconds=self._seconds))
        except MCPError as refused:
            raise self._meant(refused) from None
        except ValidationError:
            raise ToolError("its answer does not follow the protocol.") from None
        return replace(found, text="\n".join([found.text, *self._declined()])) if self._questions else found

    def _declined(self) -> list[str]:
        asked, self._questions[:] = [*self._questions], []
        return [
            f'[The server asked "{question}" during the call. Arvis cannot forward such questions, so it declined '
            "this one. Tell the "
            "person; if you know the answer, call the tool again with it.]"
            for question in asked
        ]

    async def changed(self) -> None:
        await self._news.changed()

    def _meant(self, refused: MCPError) -> Exception:
        if refused.error.code == CONNECTION_CLOSED:
            return LinkLost("it closed the connection")
        if refused.error.code == REQUEST_TIMEOUT:
            return TimeoutError()
        if self._transport.refusal == NOT_FOUND:
            self._news.lose("it no longer knows the session")
            return LinkLost("it no longer knows the session")
        return ToolError(storable(refused.error.message[:_MAX_COMPLAINT]))


def _transport_of(settings: McpServer, transport: HttpTransport, say: Callable[[str], None]) -> Transport:
    if settings.command is not None:
        given = {name: text.get_secret_value() for name, text in settings.env.items()}
        return program(settings.command, environment_of(given, os.environ), say)
    headers = {name: text.get_secret_value() for name, text in settings.headers.items()}
    return address(settings.url or "", headers, transport)


@contextlib.contextmanager
def _refusals_as_errors(transport: HttpTransport) -> Any:
    """Raise `LinkLost` with the HTTP status if the server refused the request, because the error of the package `mcp`
    does not contain the status."""
    try:
        yield
    except* MCPError:
        if transport.refusal is None:
            raise
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
    """Report changes of the tools until cancelled, or until the server turns out not to support subscriptions."""
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


# -- results as text for a model: texts are joined, and all other content is only described ----------------------------


#: The maximum number of bytes of text in one result.
MAX_BYTES = 262_144
#: The maximum number of characters of a name, an address or a media type.
_MAX_NAME = 300


def reply_of(result: CallToolResult) -> Reply:
    parts = list(_parts(result.content))
    has_text = any(isinstance(block, TextContent) and block.text for block in result.content)
    if result.structured_content is not None and not has_text:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    text = "\n".join(parts) or "The tool returned no content."
    return Reply(_cut(text), failed=bool(result.is_error))


def _parts(content: list[ContentBlock]) -> Iterator[str]:
    for block in content:
        match block:
            case TextContent():
                yield block.text
            case ImageContent():
                yield f"[image, {_name(block.mime_type)}, {_size(block.data)} bytes: not shown]"
            case AudioContent():
                yield f"[sound, {_name(block.mime_type)}, {_size(block.data)} bytes: not played]"
            case ResourceLink():
                yield f"[resource {_name(block.name)} at {_name(str(block.uri))}]"
            case EmbeddedResource(resource=TextResourceContents() as text):
                yield f"[resource at {_name(str(text.uri))}, {len(text.text)} characters: not shown]"
            case EmbeddedResource(resource=BlobResourceContents() as blob):
                yield f"[resource at {_name(str(blob.uri))}, {_size(blob.blob)} bytes: not shown]"


def _name(text: str) -> str:
    return text if len(text) <= _MAX_NAME else f"{text[:_MAX_NAME]}…"


def _size(base64: str) -> int:
    return len(base64.rstrip("=")) * 3 // 4


def _cut(text: str) -> str:
    data = storable(text).encode()
    if len(data) <= MAX_BYTES:
        return data.decode()
    return f"{data[:MAX_BYTES].decode(errors='ignore')}\n[cut here: the result has {len(data)} bytes]"
