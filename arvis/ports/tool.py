"""The interface of tools that models call. Usually one typed function each (`arvis/tools/function.py`), found by its
entry point in the group `arvis.tools`, which names a function `create(services) -> Tool`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from arvis.domain.agents import Agent
from arvis.domain.messages import Address, OutgoingFile
from arvis.domain.taint import CLEAN, Taint
from arvis.domain.tools import Risk, ToolSpec
from arvis.ports.clock import Clock
from arvis.ports.http import Fetcher, HttpClient
from arvis.ports.sandbox import Sandbox
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store


def _nowhere(_file: OutgoingFile) -> None:
    """The attachment function for calls without a reply."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The context of a tool call."""

    agent: Agent
    principal_id: str | None
    conversation_id: str
    execution_id: str
    address: Address | None
    #: The same when a call is repeated: an idempotency key for external services.
    call_id: str
    #: The conversation's own folder, created by the first program that writes a file.
    workspace: Path
    #: The name of the agent's zone, else of the daemon's.
    timezone: str
    #: Adds a file to the reply of the turn, after the call has succeeded.
    attach: Callable[[OutgoingFile], None] = _nowhere
    #: The sources of the call other than the person who asked.
    taint: Taint = CLEAN


class Tool(Protocol):
    """A tool. It raises only `ToolError`, whose text is for the model (cancellation apart)."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def risk(self) -> Risk: ...

    @property
    def repeatable(self) -> bool:
        """Return whether a call with a lost result may be repeated without approval."""
        ...

    @property
    def sensitive(self) -> bool:
        """Return whether the outputs are secrets: stored sealed, shown nowhere, and given to a model only after a
        person's approval or by a rule."""
        ...

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Check the arguments without running the tool. Raises `ToolError` if they do not fit the schema."""
        ...

    async def call(self, arguments: Mapping[str, Any], caller: Caller) -> str: ...


@runtime_checkable
class Wary(Protocol):
    """A tool some of whose calls need approval if untrusted text may have caused them, regardless of the tool's
    policy."""

    def wary(self, arguments: Mapping[str, Any]) -> bool: ...


@runtime_checkable
class Current(Protocol):
    """A tool whose description depends on the current state."""

    async def current(self) -> Tool:
        """Return the tool with its current description."""
        ...


@runtime_checkable
class EndsTurn(Protocol):
    """A tool whose success ends the turn: its result is the answer."""

    def ends_turn(self) -> bool: ...


class WorkflowStarts(Protocol):
    """The interface through which an agent's tools start and abort workflows. Each method returns text for the model,
    and raises `ToolError`."""

    async def listing(self) -> str:
        """Return the available workflows, one a line."""
        ...

    async def start(self, caller: Caller, *, workflow: str, given: str) -> str: ...

    async def abort(self, caller: Caller, run: str) -> str: ...


class Reminders(Protocol):
    """The interface through which the tool `schedule` manages reminders for the people that an agent talks with. Each
    method returns text for the model, and raises `ToolError`."""

    async def create(
        self, caller: Caller, *, prompt: str, schedule: str, name: str | None, timezone: str | None
    ) -> str: ...

    async def list(self, caller: Caller) -> str: ...

    async def cancel(self, caller: Caller, which: str) -> str:
        """Remove a reminder by id or name."""
        ...


@dataclass(frozen=True, slots=True)
class ToolServices:
    """Services for tools. `http` calls only addresses of the configuration, `fetcher` all others; `search_url` is the
    address of the web search; `reminders` and `workflows` are None if they are unavailable."""

    store: Store
    clock: Clock
    fetcher: Fetcher
    http: HttpClient
    sandbox: Sandbox
    secrets: SecretBox
    search_url: str
    reminders: Reminders | None = None
    workflows: WorkflowStarts | None = None


class ToolSource(Protocol):
    """A source of tools: entry points, servers of the Model Context Protocol."""

    async def find(self, names: Sequence[str]) -> Sequence[Tool]:
        """Return the available tools with these names, in a stable order; `server.*` means all tools of a server.
        Unreachable tools are left out, and the operator is notified once."""
        ...

    async def all(self) -> Sequence[Tool]:
        """Return all tools that could be offered."""
        ...
