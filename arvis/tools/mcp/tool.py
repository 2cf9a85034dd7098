"""One tool of a server, as the registry and the gate know tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from arvis.domain.tools import Risk, ToolSpec
from arvis.ports.tool import Caller


class Asked(Protocol):
    """The server that the tool belongs to."""

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str: ...


class McpTool:
    """`Tool` over a server. `name` is the server's name for the tool; `check` raises `ToolError`."""

    def __init__(
        self,
        *,
        name: str,
        spec: ToolSpec,
        risk: Risk,
        repeatable: bool,
        check: Callable[[Mapping[str, Any]], None],
        server: Asked,
    ) -> None:
        self.spec = spec
        self.risk = risk
        self.repeatable = repeatable
        self.sensitive = False
        self._name = name
        self._check = check
        self._server = server

    def check(self, arguments: Mapping[str, Any]) -> None:
        self._check(arguments)

    async def call(self, arguments: Mapping[str, Any], caller: Caller) -> str:  # noqa: ARG002 - the port's signature
        self._check(arguments)
        return await self._server.call(self._name, arguments)
