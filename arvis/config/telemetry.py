"""The section `telemetry` of `config.yaml`: where traces go (docs/25-telemetry.md)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from arvis.config.mcp import header_lines, web_address
from arvis.config.sections import Section
from arvis.config.values import Name, SecretText, Url


class Telemetry(Section):
    """Without an `endpoint` no traces are sent. `capture_content`: traces include the text of messages and the
    arguments and results of tools."""

    endpoint: Annotated[Url, AfterValidator(web_address)] | None = None
    headers: Annotated[dict[str, SecretText], AfterValidator(header_lines)] = Field(default_factory=dict)
    service_name: Name = "arvis"
    capture_content: bool = False

    def secrets(self) -> frozenset[str]:
        """Return the values that must never be shown."""
        return frozenset(text.get_secret_value() for text in self.headers.values())
