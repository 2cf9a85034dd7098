"""The options of an installation, as forms show them. The composition root fills them from entry points and from the
guides beside connectors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from arvis.ports.tool import Tool


class Origin(StrEnum):
    """The origin of a part: Arvis, another package, or a server of the Model Context Protocol."""

    BUILT_IN = "built_in"
    PACKAGE = "package"
    MCP = "mcp"


@dataclass(frozen=True, slots=True)
class Offered:
    """A part by name; `words` are one or two sentences ("" if it has no description)."""

    name: str
    words: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """US dollars per million tokens; None: unknown."""

    input: float
    output: float
    cached: float | None
    written: float | None


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A model. `window` is in tokens; `accounts` are the names of the accounts that serve it."""

    provider: str
    model: str
    price: ModelPrice | None
    window: int
    sees: bool
    accounts: Sequence[str]


@dataclass(frozen=True, slots=True)
class BotField:
    """A setting or secret of a bot. `kind` is the kind of a configuration setting."""

    name: str
    label: str
    help: str
    kind: str
    secret: bool = False
    required: bool = False
    default: Any = None
    choices: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class OfferedPlatform:
    """A platform. `steps` explain how to create a bot there, in order; `needs` lists the required permissions and
    their reasons; `manifest` is a text to paste there. Without a guide of its connector a platform has no fields."""

    name: str
    title: str
    words: str = ""
    steps: Sequence[str] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    fields: Sequence[BotField] = ()
    manifest: str = ""


class Choices(Protocol):
    async def tools(self) -> Sequence[Tool]: ...

    def origin_of(self, tool: Tool) -> tuple[Origin, str]:
        """Return the origin, and the name of the package or server ("" for Arvis)."""
        ...

    def asks(self, tool: Tool) -> str:
        """Return the policy of the tool: `never`, `ask` or `always`."""
        ...

    def servers(self) -> Sequence[str]:
        """Return the names of the configured tool servers, connected or not."""
        ...

    async def models(self) -> Sequence[OfferedModel]: ...

    def served(self) -> Collection[str] | None:
        """Return the names of models that an account serves: `provider/model`, bare names, and `provider/*` for all
        models of a provider. None without an account: the demo then answers under every name."""
        ...

    def price(self, provider: str, model: str) -> ModelPrice | None: ...

    async def plugins(self) -> Sequence[Offered]: ...

    def providers(self) -> Sequence[str]: ...

    async def platforms(self) -> Sequence[OfferedPlatform]: ...
