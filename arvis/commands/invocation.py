"""What a command is given."""

from __future__ import annotations

from dataclasses import dataclass

from arvis.domain.agents import Agent
from arvis.domain.conversations import Conversation
from arvis.domain.messages import Address, Principal


@dataclass(frozen=True, slots=True)
class Spoken:
    """A command as it was written; `name` in lower case, `argument` trimmed."""

    name: str
    argument: str


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command with who gave it, where, and to which agent. `zone` is the name of a time zone for what it tells."""

    name: str
    argument: str
    address: Address
    principal: Principal
    agent: Agent
    conversation: Conversation
    zone: str
