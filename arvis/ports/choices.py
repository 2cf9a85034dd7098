"""The choices that the forms of the dashboard offer: the tools, models, plugins, providers and platforms of this
installation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Protocol

from arvis.domain.dataclass import dataclass
from arvis.ports.tool import Tool


class Origin(StrEnum):
    """The origins of a tool or plugin: Arvis, another package, or a server of the Model Context Protocol."""

    BUILT_IN = "built_in"
    PACKAGE = "package"
    MCP = "mcp"


@dataclass(frozen=True, slots=True)
class Offered:
    """A plugin that a form offers."""

    name: str
    #: A description in one or two sentences, or "".
    words: str
    origin: Origin
    harmless: bool


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """The price of a model in US dollars per million tokens. An unknown price is None."""

    input: float
    output: float
    #: The price of input that is read from the vendor's cache.
    cached: float | None
    #: The price of input that is written to the vendor's cache.
    written: float | None


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A model that a form offers."""

    provider: str
    model: str
    price: ModelPrice | None
    #: The context window in tokens.
    window: int
    #: True if the model accepts pictures.
    sees: bool
    #: The names of the accounts that serve the model.
    accounts: Sequence[str]


@dataclass(frozen=True, slots=True)
class BotField:
    """A setting or secret of a bot, as a field of a form."""

    name: str
    label: str
    help: str
    #: A kind of setting from `config/catalog.py`.
    kind: str
    secret: bool = False
    required: bool = False
    default: Any = None
    choices: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class OfferedPlatform:
    """A platform that a form offers. If the connector has no guide, `steps` and `fields` are empty."""

    name: str
    title: str
    words: str = ""
    #: The steps to create a bot on the platform, in order.
    steps: Sequence[str] = ()
    #: The required permissions with their reasons.
    needs: Mapping[str, str] = field(default_factory=dict)
    fields: Sequence[BotField] = ()
    #: A text to paste on the platform's page.
    manifest: str = ""
    #: The command that installs the platform's library; "" if it is installed.
    install: str = ""


class Choices(Protocol):
    async def tools(self) -> Sequence[Tool]: ...

    def origin_of(self, tool: Tool) -> tuple[Origin, str]:
        """Return the origin of a tool, and the name of its package or server ("" for Arvis)."""
        ...

    def asks(self, tool: Tool) -> str:
        """Return the policy for approvals of the tool's calls: `never`, `ask` or `always`."""
        ...

    def is_harmless(self, tool: Tool) -> bool:
        """Return True if everyone may use an agent with this tool."""
        ...

    def servers(self) -> Sequence[str]:
        """Return the names of the configured tool servers, connected or not."""
        ...

    async def models(self) -> Sequence[OfferedModel]: ...

    def served(self) -> Collection[str] | None:
        """Return the names of the models that any account serves: `provider/model`, names without a provider, and
        `provider/*` for all models of a provider. Return None if there is no account: the demo provider then answers
        under every name."""
        ...

    def price(self, provider: str, model: str) -> ModelPrice | None: ...

    async def plugins(self) -> Sequence[Offered]: ...

    def providers(self) -> Sequence[str]: ...

    async def platforms(self) -> Sequence[OfferedPlatform]: ...
