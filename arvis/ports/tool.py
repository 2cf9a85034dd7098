"""A tool: something that a model may ask for. One typed function each (`arvis/tools/function.py`), found by its entry
point in the group `arvis.tools`, which names a function `create(services) -> Tool`."""

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
from arvis.ports.fetcher import Fetcher
from arvis.ports.http import HttpClient
from arvis.ports.sandbox import Sandbox
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store


def _nowhere(_file: OutgoingFile) -> None:
    """Where there is no reply."""


@dataclass(frozen=True, slots=True)
class Caller:
    """For whom a tool is called. `call_id` is the same when a call is run again: an idempotency key for the outside.
    `workspace` is the conversation's own folder (made by whoever writes the first file); `timezone` the name of the
    agent's zone, else the daemon's. `attach` adds a file to the reply of the turn, once the call has succeeded. `taint` is
    what else than the asker's own words the call may have been written from."""

    agent: Agent
    principal_id: str | None
    conversation_id: str
    execution_id: str
    address: Address | None
    call_id: str
    workspace: Path
    timezone: str
    attach: Callable[[OutgoingFile], None] = _nowhere
    taint: Taint = CLEAN


class Tool(Protocol):
    """Raises `ToolError` for what the model should be told, and nothing else (cancellation apart)."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def risk(self) -> Risk: ...

    @property
    def repeatable(self) -> bool:
        """Whether a call whose result was lost may be made again without asking anybody."""
        ...

    @property
    def sensitive(self) -> bool:
        """Whether its outputs are secrets: kept sealed, shown nowhere, and given to a model only once a person allowed
        it or a rule does."""
        ...

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Raises `ToolError` when the arguments do not fit the schema; runs nothing."""
        ...

    async def call(self, arguments: Mapping[str, Any], caller: Caller) -> str: ...


@runtime_checkable
class Wary(Protocol):
    """A tool some of whose calls need a person's word where others' words may have led to them, whatever is allowed
    otherwise."""

    def wary(self, arguments: Mapping[str, Any]) -> bool: ...


@runtime_checkable
class Current(Protocol):
    """A tool whose description tells what there is at the moment."""

    async def current(self) -> Tool:
        """The same as it is to be offered now."""
        ...


@runtime_checkable
class EndsTurn(Protocol):
    """A tool whose success is the end of the turn: what it gave is the answer."""

    def ends_turn(self) -> bool: ...


class WorkflowStarts(Protocol):
    """Workflows that an agent starts and aborts: its tools reach them through this. Each answers in words for the model, and
    raises `ToolError`."""

    async def listing(self) -> str:
        """Those that there are, one a line."""
        ...

    async def start(self, caller: Caller, *, workflow: str, given: str) -> str: ...

    async def abort(self, caller: Caller, run: str) -> str: ...


class Reminders(Protocol):
    """What the people that an agent talks with are to be reminded of: the tool `schedule` reaches it through this. Each
    answers in words for the model, and raises `ToolError`."""

    async def create(
        self, caller: Caller, *, prompt: str, schedule: str, name: str | None, timezone: str | None
    ) -> str: ...

    async def list(self, caller: Caller) -> str: ...

    async def cancel(self, caller: Caller, which: str) -> str:
        """By id or name."""
        ...


@dataclass(frozen=True, slots=True)
class ToolServices:
    """What tools are made with. `http` goes only to addresses of the configuration, `fetcher` to all others;
    `search_url` is the address of the web search; `reminders` is None where nobody keeps any, `workflows` where there are none."""

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
    """Where tools come from: entry points, servers of the Model Context Protocol."""

    async def find(self, names: Sequence[str]) -> Sequence[Tool]:
        """Those of these names that are here, in a stable order; `server.*` means all of a server. What is out of reach
        just now is left out, and the operator is told once."""
        ...

    async def all(self) -> Sequence[Tool]:
        """Everything that could be offered."""
        ...
