"""The type of a case."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.hostile.wire import Wire

Manner = Callable[[Wire], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of misbehaviour."""

    #: Answers one request.
    manner: Manner
    #: Whether the daemon may delay the message by a minute or more.
    parks: bool = False
    #: False if the agent may not have tools.
    tools: bool = True
