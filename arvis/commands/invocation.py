"""The input and the answer of a command."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.agents import Agent
from arvis.domain.conversations import Conversation
from arvis.domain.dataclass import dataclass
from arvis.domain.embeddings import Meaning
from arvis.domain.events import Event
from arvis.domain.messages import Address, Principal, Sender
from arvis.domain.plugins import PluginCommand
from arvis.messaging.streaming import Shown, nothing_shown
from arvis.turns.cancellation import CancelledTurn


@dataclass(frozen=True, slots=True)
class Spoken:
    """A parsed command: its `name` in lower case and its `argument` without blanks at the ends."""

    name: str
    argument: str


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command with its sender, place and agent."""

    name: str
    argument: str
    address: Address
    principal: Principal
    agent: Agent
    conversation: Conversation
    #: The name of the time zone for times in the answer.
    zone: str
    #: The rule that chose the agent.
    route: str = ""
    #: The sender of the message, with the limits that apply to this person in addition to the role; None if there is no
    #: message.
    sender: Sender | None = None
    #: The time zone of the daemon. A day of a budget ends at midnight in this zone.
    daemon_zone: str = "UTC"
    #: The commands of the agent's plugins.
    more: Sequence[PluginCommand] = ()
    #: A function that returns the part of an answer that people have seen.
    shown: Shown = nothing_shown
    #: A new random code, for commands that need one.
    code: str = ""
    #: The vector of the text for which the command searches facts; None if texts are not embedded.
    meaning: Meaning | None = None


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The answer of a command, the turns that the command cancelled, and its events. The turns are announced and the
    events are published after the commit."""

    text: str
    stopped: Sequence[CancelledTurn] = ()
    events: Sequence[Event] = ()
