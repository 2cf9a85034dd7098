"""The connection to a configured server. It is opened at the first use, and opened again after each loss.

One task owns the connection, because the same task must open and close the resources of the protocol's package. Each
attempt to connect and each call runs in a separate task, so that an exception of that package ends only this attempt or
call.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Protocol

import structlog

from arvis.config.servers import McpServer
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import LoginRequired, ToolError
from arvis.domain.forms import ServerQuestion
from arvis.domain.tools import PendingInput
from arvis.ports.clock import Clock
from arvis.ports.extras import install_command
from arvis.ports.tool import Caller, InputNeeded, Pinned, Tool
from arvis.process.logging import Redactor
from arvis.tools.mcp.logins import Access
from arvis.tools.result_files import Media

# -- offers and answers of a server, independent of the protocol's package, and the operations of a connection ---------


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as its server describes it. `read_only` is only the server's claim."""

    name: str
    description: str
    schema: Mapping[str, Any]
    read_only: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a call: texts and files, in the order of the server. If `failed` is True, the parts describe the
    error."""

    parts: tuple[str | Media, ...]
    failed: bool


class Offered(StrEnum):
    """The kinds of data that a server can offer beside tools, with the names of the tools that read them."""

    RESOURCES = "mcp_resource"
    PROMPTS = "mcp_prompt"


class LookupKind(StrEnum):
    RESOURCES = "resources"
    RESOURCE = "resource"
    PROMPTS = "prompts"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class Lookup:
    """A request for one resource or prompt of a server, or for a list of them."""

    kind: LookupKind
    #: The address of the resource, or the name of the prompt.
    name: str = ""
    #: The arguments of the prompt.
    arguments: Mapping[str, str] = field(default_factory=dict)
    #: The mark of the next part of a list; None for the first part.
    cursor: str | None = None


class LinkLost(Exception):
    """The signal that the connection has ended. Its text describes the symptom."""


#: The seconds in which the resources to which a result links must be read.
LINK_SECONDS = 10.0
#: The error of a call that waited for a person's answer when its connection ended.
LOST = (
    "The person has answered, but the call no longer waits for the answer, because the server stopped waiting, "
    "the connection ended or Arvis was restarted. The outcome of the call is unknown. Tell the person, and check the "
    "outcome before you call the tool again."
)
#: The symptom of a connection whose server demands a login.
NEEDS_LOGIN = "a person must log in"


class LoginNeeded(LinkLost):
    """The signal that a person must log in to the server. `challenge` is the header `WWW-Authenticate` of its
    answer."""

    def __init__(self, challenge: str) -> None:
        super().__init__(NEEDS_LOGIN)
        self.challenge = challenge


class Link(Protocol):
    """An open connection. Its methods may raise any exception of the protocol's package."""

    async def offers(self) -> Sequence[Offer]: ...

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        show: Callable[[str], None],
        *,
        given: PendingInput | None = None,
        ask: bool = False,
    ) -> Reply | PendingInput:
        """Make a call, or continue it with the answers `given`. If `ask` is False, decline the questions of the server."""
        ...

    async def look(self, lookup: Lookup) -> Reply: ...

    @property
    def abilities(self) -> frozenset[Offered]:
        """Return the kinds of data that the server offers beside tools."""
        ...

    def end(self, why: str) -> None:
        """End the connection."""
        ...

    async def changed(self) -> None:
        """Wait until the server reports a changed list of tools. Raise `LinkLost` if the connection has ended."""
        ...


log = structlog.get_logger(__name__)

#: The seconds between attempts to connect; the last value repeats.
_PAUSES = (1.0, 5.0, 30.0)
#: A connection that lasts at least this many seconds counts as good: after its loss, the pauses begin again with the
#: shortest one.
_STEADY = 60.0
#: The time limit in seconds for a server to start and to complete the handshake. It is long because the first start of
#: a server may download its package.
_MOST_TO_START = 60.0
#: The seconds that a caller waits for the first attempt to connect.
_MOST_TO_WAIT = 15.0
#: The least number of seconds between two requests for the list of tools.
_BETWEEN_LISTS = 1.0
_LINES_A_MINUTE = 30
_MAX_WHY = 500


class RemoteServer:
    """A configured server with its connection. `make` turns the offers of the server into tools, and `known` returns the
    tools of its earlier connections. `access` provides logins, if the server demands one."""

    def __init__(
        self,
        *,
        settings: McpServer,
        clock: Clock,
        make: Callable[[RemoteServer, Sequence[Offer]], Awaitable[Sequence[Tool]]],
        known: Callable[[RemoteServer], Awaitable[Sequence[Tool]]] | None = None,
        access: Access | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._make = make
        self._known = known
        self._access = access
        self._redactor = Redactor(settings.secrets())
        #: The access tokens that were used, which must not be shown.
        self._tokens: set[str] = set()
        self._challenge: str | None = None
        self._reported_login: bool | None = None
        self._awake = asyncio.Event()
        self._words = _Words(clock=clock)
        self._supervisor: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()
        self._calls: set[asyncio.Task[Any]] = set()
        self._link: Link | None = None
        self._reported_down = False
        self._trouble = ""
        self._tools: Sequence[Tool] = ()
        self._offers: Sequence[Offer] = ()
        #: The kinds of data that the server offered when it was last connected.
        self.abilities: frozenset[Offered] = frozenset()

    @property
    def settings(self) -> McpServer:
        return self._settings

    @property
    def connected(self) -> bool:
        return self._link is not None

    @property
    def trouble(self) -> str:
        """Return the reason why the server is not connected; "" before the first attempt has ended."""
        return "" if self.connected else self._trouble

    @property
    def challenge(self) -> str | None:
        """Return the header by which the server demands a login; None if it does not demand a login now."""
        return self._challenge

    async def retry(self) -> None:
        """Connect at once if the server is not connected, because a person has logged in. Wait up to `_MOST_TO_WAIT`
        seconds for the attempt."""
        self._challenge = None
        if self._link is None:
            self._tried.clear()
            self._awake.set()
        await self.tools()

    def reconnect(self) -> None:
        """End the connection, and connect again."""
        if self._link is not None:
            self._link.end("Arvis is connecting again")
        self._awake.set()

    async def tools(self) -> Sequence[Tool]:
        """Return the tools, or no tools while the server cannot be reached. If the server demands a login, return the
        tools of earlier connections; their calls fail with a text about the login. The first call starts the connection
        and waits up to `_MOST_TO_WAIT` seconds for it."""
        if self._supervisor is None:
            self._supervisor = asyncio.create_task(self._supervise(), name=f"mcp server {self._settings.name}")
        if not self._tried.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_MOST_TO_WAIT):
                    await self._tried.wait()
        if self._link is None and self._challenge is not None and self._known is not None:
            return await self._known(self)
        if self._link is not None and any(isinstance(tool, Pinned) and tool.change for tool in self._tools):
            # Another process may have accepted the change.
            await self.remake()
        return self._tools if self._link is not None else ()

    async def call(self, tool: str, arguments: Mapping[str, Any], caller: Caller) -> Sequence[str | Media]:
        """Call a tool and return the texts and files of its result. Raise `ToolError` if the call fails or its result is
        an error, and `InputNeeded` if a person must answer questions of the server."""
        if self._link is None and caller.answers is not None and caller.answers.held:
            raise ToolError(LOST)
        link = self._connection()
        return await self._parts(link.call(tool, arguments, caller.progress, given=caller.answers, ask=caller.may_ask))

    async def look(self, lookup: Lookup) -> Sequence[str | Media]:
        """Return the texts and files of a resource or a prompt, or a list of resources or prompts. Raise `ToolError` if
        the request fails."""
        return await self._parts(self._connection().look(lookup))

    def _connection(self) -> Link:
        if self._link is not None:
            return self._link
        if self._challenge is not None:
            raise _login_error(self._settings.name)
        raise ToolError(f"The server {self._settings.name} cannot be reached now. Try again in a minute.")

    async def _parts(self, request: Coroutine[Any, Any, Reply | PendingInput]) -> Sequence[str | Media]:
        """Make a request, and return the texts and files of its result."""
        found = await self._outcome(request, self._settings.timeout_seconds + LINK_SECONDS)
        if isinstance(found, Reply | PendingInput) and self._reported_login:
            self._challenge = None
            await self._report_login(needed=False)
        match found:
            case Reply(failed=False):
                return [self._redact(part) if isinstance(part, str) else part for part in found.parts]
            case PendingInput():
                raise InputNeeded(self._without_secrets(found))
            case LoginNeeded(challenge=challenge):
                self._challenge = challenge
                await self._report_login(needed=True)
                raise _login_error(self._settings.name)
            case failure:
                raise self._error_of(failure)

    def _error_of(self, failure: Any) -> ToolError:
        """Return the error for the model after a call has failed."""
        name, seconds = self._settings.name, self._settings.timeout_seconds
        match failure:
            case Reply():
                texts = [part for part in failure.parts if isinstance(part, str)]
                return ToolError(self._redact("\n".join(texts)) or "The tool failed and gave no reason.")
            case TimeoutError():
                return ToolError(f"The server {name} gave no answer within {seconds:g} seconds.")
            case ToolError():
                return ToolError(f"The call to the server {name} failed: {self._redact(failure.what)}")
            case LinkLost():
                return ToolError(
                    f"The server {name} disconnected during the call, so its outcome is unknown. Check it "
                    "before you call the tool again."
                )
            case _:
                return ToolError(f"The call to the server {name} failed: {type(failure).__name__}.")

    async def close(self) -> None:
        """End the connection, and the server's program with all processes that it started."""
        self._link = None
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.gather(self._supervisor, return_exceptions=True)
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)

    async def _supervise(self) -> None:
        """Connect, and connect again after each loss, until cancelled."""
        failures = 0
        while True:
            begun = self._clock.monotonic()
            failure = await self._outcome(self._connect())
            failures = 0 if self._clock.monotonic() - begun >= _STEADY else failures
            self._lost(failure)
            if self._challenge is not None:
                await self._report_login(needed=True)
            await self._pause(_PAUSES[min(failures, len(_PAUSES) - 1)])
            failures += 1

    async def _pause(self, seconds: float) -> None:
        """Wait until the next attempt to connect, or until `retry` is called."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._awake.wait()
        self._awake.clear()

    async def _report_login(self, *, needed: bool) -> None:
        if self._access is not None and self._reported_login is not needed:
            await self._access.report(self._settings.name, needed)
            self._reported_login = needed

    async def _connect(self) -> None:
        """Open one connection, and update the list of tools until the connection ends."""
        package = await asyncio.to_thread(_load)
        async with contextlib.AsyncExitStack() as stack:
            async with asyncio.timeout(_MOST_TO_START):
                opened = package.open_link(
                    self._settings, clock=self._clock, say=self._say, access=self._access, tokens=self._tokens
                )
                link: Link = await stack.enter_async_context(opened)
                await self._list(link)
            self._link, self._reported_down, self._challenge = link, False, None
            self._tried.set()
            if self._settings.may_log_in:
                await self._report_login(needed=False)
            log.info("mcp_server_ready", server=self._settings.name)
            try:
                while True:
                    await link.changed()
                    await self._clock.sleep(_BETWEEN_LISTS)
                    await self._list(link)
            finally:
                # No call may use the connection while it is being closed, which may take a while.
                self._link = None

    async def _list(self, link: Link) -> None:
        self._offers, self.abilities = await link.offers(), link.abilities
        await self.remake()

    async def remake(self) -> None:
        """Make the tools again from the last list, after a person has accepted a change."""
        self._tools = await self._make(self, self._offers)

    async def _outcome(self, work: Coroutine[Any, Any, Any], timeout: float | None = None) -> Any:
        """Run the work in a separate task. Return the result of the work or the exception that ended it, and return a
        `TimeoutError` after `timeout` seconds. If the caller is cancelled, cancel the work and raise the
        cancellation."""
        task = asyncio.create_task(work)
        self._calls.add(task)
        task.add_done_callback(self._forget)
        try:
            await asyncio.wait({task}, timeout=timeout)
        except asyncio.CancelledError:
            task.cancel()
            if timeout is None:
                await asyncio.wait({task})
            raise
        if not task.done():
            task.cancel()
            return TimeoutError()
        if task.cancelled():
            return LinkLost("the connection ended")
        return task.exception() or task.result()

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._calls.discard(task)
        if not task.cancelled():
            # Retrieve the exception, so that asyncio does not report it as never retrieved.
            task.exception()

    def _lost(self, failure: Any) -> None:
        """Record that the connection has ended. Log only the first failure since the server was last reached."""
        self._link = None
        cause = _cause(failure)
        if isinstance(cause, LoginNeeded):
            self._challenge = cause.challenge
        elif str(cause) != NEEDS_LOGIN:
            self._challenge = None
        self._trouble = self._redact(_why(cause))[:_MAX_WHY]
        self._tried.set()
        if self._reported_down:
            return
        self._reported_down = True
        missing = isinstance(cause, ImportError)
        install = f"run `{install_command('mcp')}`, then start Arvis again"
        fix = install if missing else "check the command or the address of the server; Arvis tries again"
        if isinstance(cause, LoginNeeded):
            fix = f"log in: `arvis mcp login {self._settings.name}`, or the page Tool servers of the dashboard"
        log.warning("mcp_server_unreachable", server=self._settings.name, why=self._trouble, fix=fix)

    def _redact(self, text: str) -> str:
        self._redactor.learn(self._tokens)
        return self._redactor(text)

    def _without_secrets(self, pending: PendingInput) -> PendingInput:
        """Return the questions with the secrets of the server masked."""
        masked = {key: self._masked(each) for key, each in pending.questions.items()}
        return replace(pending, questions=masked, notes=tuple(self._redact(note) for note in pending.notes))

    def _masked(self, asked: ServerQuestion) -> ServerQuestion:
        """Return the question with masked texts. Its address is masked only if it contains a secret of the server, because
        the person needs the tokens that the server has put into it."""
        secrets = [each for each in (*self._settings.secrets(), *self._tokens) if each.strip()]
        fields = tuple(
            replace(each, title=self._redact(each.title), description=self._redact(each.description))
            for each in asked.fields
        )
        return replace(
            asked,
            message=self._redact(asked.message),
            url=self._redact(asked.url) if any(each in asked.url for each in secrets) else asked.url,
            request=self._redact(asked.request),
            fields=fields,
        )

    def _say(self, line: str) -> None:
        if self._words.may_speak():
            log.info("mcp_server_says", server=self._settings.name, text=self._redact(line))


def _load() -> Any:
    """Import the module that uses the protocol's package. The import takes seconds."""
    importlib.import_module("arvis.tools.mcp.schemas")
    return importlib.import_module("arvis.tools.mcp.link")


class _Words:
    """The limit on the number of lines per minute that a server may write to the log."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._spoken: deque[float] = deque(maxlen=_LINES_A_MINUTE)

    def may_speak(self) -> bool:
        now = self._clock.monotonic()
        if len(self._spoken) == _LINES_A_MINUTE and now - self._spoken[0] < 60:  # noqa: PLR2004 - a minute
            return False
        self._spoken.append(now)
        return True


def _login_error(server: str) -> LoginRequired:
    return LoginRequired(
        f"The call was not made, because a person must log in to the server {server}. Tell the person: an owner of Arvis "
        f"can do this on the page Tool servers of the dashboard, or with `arvis mcp login {server}`. If an owner asks in a "
        "direct chat, Arvis also sends them a link for the login.",
        server=server,
    )


def _cause(failure: Any) -> Any:
    """Return the first cause of a failure."""
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure


def _why(failure: Any) -> str:
    """Return the cause of a failure in a few words."""
    match failure:
        case ImportError():
            return f"a package that it needs is missing: {failure.name}"
        case TimeoutError():
            return "it did not start in time"
        case OSError():
            return failure.strerror or str(failure) or type(failure).__name__
        case _:
            return str(failure) or type(failure).__name__
