"""What a server offers and answers, in words of our own, and what a connection to one can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as its server describes it. `read_only` is the server's own word, which nobody need believe."""

    name: str
    description: str
    schema: Mapping[str, Any]
    read_only: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call gave, as text for the model. `failed`: the text says what went wrong."""

    text: str
    failed: bool


class LinkLost(Exception):
    """The connection is over; the text says how that showed."""


class Link(Protocol):
    """An open connection. Whatever the protocol's package raises may come out of its methods."""

    async def offers(self) -> Sequence[Offer]: ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Reply: ...

    async def changed(self) -> None:
        """Until the server says that its list of tools is another one. Raises `LinkLost` when the connection is
        over."""
        ...
