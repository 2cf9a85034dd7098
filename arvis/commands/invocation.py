"""What a command is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arvis.domain.agents import Agent
from arvis.domain.conversations import Conversation
from arvis.domain.messages import Address, Principal, Sender
from arvis.domain.plugins import PluginCommand
from arvis.messaging.streaming import Shown, nothing_shown
from arvis.turns.cancellation import CancelledTurn


@dataclass(frozen=True, slots=True)
class Spoken:
    """A command as it was written; `name` in lower case, `argument` trimmed."""

    name: str
    argument: str


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command with who gave it, where, and to which agent, which the rule `route` chose. `zone` is the name of a time zone
    for what it tells, `house_zone` that of the daemon, whose midnights budgets go by. `sender` knows what limits a person
    besides the role; `more` are the commands of the agent's plugins, `shown` is what people have seen of an answer."""

    name: str
    argument: str
    address: Address
    principal: Principal
    agent: Agent
    conversation: Conversation
    zone: str
    route: str = ""
    sender: Sender | None = None
    house_zone: str = "UTC"
    more: Sequence[PluginCommand] = ()
    shown: Shown = nothing_shown


@dataclass(frozen=True, slots=True)
class Said:
    """What a command answers, and the turns that it ended: these are announced after the commit."""

    text: str
    stopped: Sequence[CancelledTurn] = ()
