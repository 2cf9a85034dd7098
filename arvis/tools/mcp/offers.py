"""Offers and answers of a server, independent of the protocol's package, and the operations of a connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as its server describes it. `read_only` is only the server's claim."""

    name: str
    description: str
    schema: Mapping[str, Any]
    read_only: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a call, as text for the model. `failed`: the text describes the error."""

    text: str
    failed: bool


class LinkLost(Exception):
    """The connection is over; the text names the sign of it."""


class Link(Protocol):
    """An open connection. Its methods may raise any exception of the protocol's package."""

    async def offers(self) -> Sequence[Offer]: ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Reply: ...

    async def changed(self) -> None:
        """Wait until the server reports a changed list of tools. Raise `LinkLost` when the connection is over."""
        ...
