"""What a case is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.hostile.wire import Wire

Manner = Callable[[Wire], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Case:
    """`manner` answers one request. `parks` says that the daemon may put the message off for a minute or longer;
    `tools` is False where the agent must have none."""

    manner: Manner
    parks: bool = False
    tools: bool = True
