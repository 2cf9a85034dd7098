"""The interface of tools that models call. An entry point in the group `arvis.tools` names a function
`create(services) -> Tool`. Most tools are made from one typed function (`arvis/tools/function.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address, OutgoingFile
from arvis.domain.runs import PictureRef
from arvis.domain.taint import CLEAN, Taint
from arvis.domain.tools import PendingInput, Risk, Source, ToolDeclaration, ToolSpec
from arvis.ports.clock import Clock
from arvis.ports.credentials import CredentialInserter
from arvis.ports.http import Fetcher, HttpClient
from arvis.ports.images import ImageGenerator
from arvis.ports.reading import WebReader
from arvis.ports.sandbox import Sandbox
from arvis.ports.search import SearchProviders
from arvis.ports.secrets import SecretBox
from arvis.ports.skills import SkillFiles
from arvis.ports.store import Store


def _nowhere(_thing: object) -> None:
    """Ignore a file, a source, a picture, labels or progress. This is the default of the functions of `Caller` that add
    to a reply, for calls without a reply."""


#: A function that judges a call of a tool with these arguments. It returns the reason why a person must approve the
#: call, or None.
Objection = Callable[["Tool", Mapping[str, Any]], str | None]


def _without_objection(_tool: Tool, _arguments: Mapping[str, Any]) -> None:
    """Allow every call: the value of `Caller.objection` in turns without taint."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The context of a tool call."""

    agent: Agent
    principal_id: str | None
    conversation_id: str
    execution_id: str
    address: Address | None
    #: The id of the call. A repeated call has the same id, so it can be the idempotency key for an external service.
    call_id: str
    #: The folder of the conversation; it may not exist yet.
    workspace: Path
    #: The name of a time zone: the zone of the person for whom the agent works. If the person has set no zone, the zone
    #: of the agent; if the agent has none, the zone of the daemon.
    timezone: str
    #: A function that adds a file to the reply of the turn, after the call has succeeded.
    attach: Callable[[OutgoingFile], None] = _nowhere
    #: A function that adds a page to the sources of the output. The address must come from a service, not from the
    #: arguments of the call.
    cite: Callable[[Source], None] = _nowhere
    #: A function that attaches a stored picture to the next model calls of the turn.
    show: Callable[[PictureRef], None] = _nowhere
    #: A function that adds labels to the taint of the output.
    stain: Callable[[Taint], None] = _nowhere
    #: A function that shows the progress of the call to people, such as `3 of 10`.
    progress: Callable[[str], None] = _nowhere
    #: The sources that may have influenced the call, other than the person who asked.
    taint: Taint = CLEAN
    #: The judge of the calls that a tool makes for the model, such as the calls of a script.
    objection: Objection = _without_objection
    #: True if the tool may raise `InputNeeded`.
    may_ask: bool = False
    #: The questions that an earlier part of this call raised, with all responses.
    answers: PendingInput | None = None


class InputNeeded(Exception):
    """The signal that a person must answer questions of the tool's server. Arvis then makes the call again with the
    responses."""

    def __init__(self, pending: PendingInput) -> None:
        super().__init__("a person must answer questions")
        self.pending = pending


class Tool(Protocol):
    """A tool. Besides cancellation, it raises only `ToolError`, whose text is for the model, and `InputNeeded` if the caller
    permits it."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def risk(self) -> Risk: ...

    @property
    def repeatable(self) -> bool:
        """Return whether a call whose result was lost may be repeated without an approval."""
        ...

    @property
    def sensitive(self) -> bool:
        """Return whether the outputs of the tool are secret. Secret outputs are stored sealed and are never shown. A
        model gets them only after an approval, or if a rule permits it."""
        ...

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Check the arguments without running the tool. Raise `ToolError` if they do not fit the schema."""
        ...

    async def call(self, arguments: Mapping[str, Any], caller: Caller) -> str: ...


@runtime_checkable
class Declares(Protocol):
    """A tool that declares further properties besides its risk. A tool without this protocol has none of these
    properties."""

    @property
    def declaration(self) -> ToolDeclaration: ...


def declaration_of(tool: Tool) -> ToolDeclaration:
    if isinstance(tool, Declares):
        return tool.declaration
    return ToolDeclaration(risk=tool.risk, repeatable=tool.repeatable, sensitive=tool.sensitive)


@runtime_checkable
class Wary(Protocol):
    """A tool that demands approvals in tainted turns. In such a turn, a call for which `wary` returns True needs an
    approval even if the tool's policy permits the call."""

    def wary(self, arguments: Mapping[str, Any]) -> bool: ...


@runtime_checkable
class Pinned(Protocol):
    """A tool of a server that can change its description. Models get only the description that was accepted."""

    @property
    def change(self) -> str:
        """Return the differences between the accepted and the present description as lines; "" if there are none. While
        there are differences, each call needs an approval."""
        ...

    async def accept(self, by: str) -> None:
        """Accept the change that `change` shows. `by` is the id of the person who has approved it."""
        ...


@runtime_checkable
class Explained(Protocol):
    """A tool whose arguments alone do not show what a call would do, such as a reference to an element of a page."""

    async def explain(self, arguments: Mapping[str, Any], caller: Caller) -> str:
        """Return lines about the call for the question to a person. Raise `ToolError` if the call cannot be made."""
        ...


@runtime_checkable
class Current(Protocol):
    """A tool whose description depends on data that changes."""

    async def current(self) -> Tool:
        """Return the tool with its current description."""
        ...


@runtime_checkable
class EndsTurn(Protocol):
    """A tool whose result can be the answer of the turn. A successful call ends the turn if `ends_turn` returns
    True."""

    def ends_turn(self) -> bool: ...


class WorkflowStarts(Protocol):
    """The operations by which an agent's tools start and abort workflows. Each method returns text for the model, and
    raises `ToolError`."""

    async def listing(self) -> str:
        """Return the available workflows, one on each line."""
        ...

    async def start(self, caller: Caller, *, workflow: str, given: str) -> str: ...

    async def abort(self, caller: Caller, run: str) -> str: ...


class Reminders(Protocol):
    """The operations by which the tool `schedule` manages reminders for the person whom the agent answers. Each method
    returns text for the model, and raises `ToolError`."""

    async def create(
        self, caller: Caller, *, prompt: str, schedule: str, name: str | None, timezone: str | None
    ) -> str: ...

    async def list(self, caller: Caller) -> str: ...

    async def cancel(self, caller: Caller, which: str) -> str:
        """Delete the reminder with this id or name."""
        ...


@dataclass(frozen=True, slots=True)
class PageFile:
    """A picture of a page, or a file that was downloaded. `about` is a text for the model."""

    name: str
    data: bytes
    about: str


class BrowserPages(Protocol):
    """The operations by which the tools `browser_…` use web pages. A page belongs to a conversation. Its id changes with
    every document that it shows, and `ref` names an element in the text of a page. Each method raises `ToolError`."""

    async def open(self, caller: Caller, url: str) -> str:
        """Open an address in a new page, and return the first part of its text for the model."""
        ...

    async def read(self, caller: Caller, page: str, offset: int) -> str:
        """Return a part of a page. Only the first part, with `offset` 0, reads the page again."""
        ...

    async def click(self, caller: Caller, page: str, ref: str) -> str: ...

    async def type(self, caller: Caller, page: str, ref: str, text: str, *, submit: bool) -> str:
        """Replace the text of a field, or choose an option of a list. With `submit`, then press Enter."""
        ...

    async def picture(self, caller: Caller, page: str, *, whole: bool) -> PageFile:
        """Return a picture of the visible part of a page or, with `whole`, of the whole page within limits."""
        ...

    async def download(self, caller: Caller, page: str, ref: str) -> PageFile:
        """Click on an element that starts a download, and return the file."""
        ...

    async def element(self, caller: Caller, page: str, ref: str) -> str:
        """Return the address of a page and an element of it, in lines for a question. After that, `click`, `type` and
        `download` use the element only if it has not changed."""
        ...


@dataclass(frozen=True, slots=True)
class ToolServices:
    """The services that `create` passes to a tool. A service that is not available is None."""

    store: Store
    clock: Clock
    #: The client for all addresses that are not in the configuration.
    fetcher: Fetcher
    #: The client that is used only for addresses in the configuration.
    http: HttpClient
    sandbox: Sandbox
    secrets: SecretBox
    search: SearchProviders
    #: The reader of fetched files.
    reader: WebReader
    skills: SkillFiles | None = None
    credentials: CredentialInserter | None = None
    reminders: Reminders | None = None
    workflows: WorkflowStarts | None = None
    browser: BrowserPages | None = None
    #: The image service; None if none is configured.
    images: ImageGenerator | None = None


class ToolSource(Protocol):
    """A source of tools: the entry points, or the servers of the Model Context Protocol."""

    async def find(self, names: Sequence[str]) -> Sequence[Tool]:
        """Return the available tools with these names, always in the same order; `server.*` means all tools of a
        server. Unavailable tools are left out, and a warning is logged."""
        ...

    async def all(self) -> Sequence[Tool]:
        """Return all available tools of this source."""
        ...
