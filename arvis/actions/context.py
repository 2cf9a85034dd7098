"""The context that the gate examines for a proposal: the person, the taint, the place, and the limits."""

from __future__ import annotations

from arvis.domain.agents import Agent
from arvis.domain.conversations import Conversation
from arvis.domain.dataclass import dataclass
from arvis.domain.executions import Execution
from arvis.domain.messages import Address, Principal, PrincipalRole
from arvis.domain.taint import Taint


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of actions."""

    #: The maximum depth of a turn that a task begins. A turn that a person began has depth 0.
    delegation_depth: int = 3
    #: The maximum number of tasks that one answer may give.
    delegation_fan_out: int = 5
    #: The maximum number of turns that tasks may begin below one root, the turn that a person began.
    delegation_jobs: int = 20
    crons_per_agent: int = 10
    heartbeats_per_agent: int = 10
    agents_per_day: int = 20
    clients_per_day: int = 20
    notes_per_reply: int = 20


@dataclass(frozen=True, slots=True)
class ActionContext:
    """The turn or run whose reply asks for actions."""

    agent: Agent
    #: The user for whom the turn acts; None: no user, and no rights.
    principal: Principal | None
    #: The taint of the reply.
    taint: Taint
    address: Address
    conversation: Conversation
    execution: Execution
    #: The id of the message that the reply answers.
    message_id: str | None
    limits: Limits = Limits()
    #: The daemon's time zone.
    zone: str = "UTC"
    #: True: a person has seen the exact change and approved it.
    confirmed: bool = False

    @property
    def trusted(self) -> bool:
        """True if the turn acts for an owner or operator."""
        return self.role in {PrincipalRole.OWNER, PrincipalRole.OPERATOR}

    @property
    def role(self) -> PrincipalRole | None:
        return self.principal.role if self.principal is not None else None

    @property
    def by_id(self) -> str:
        """The id of the user who is recorded as the author of this turn's changes."""
        return self.principal.id if self.principal is not None else "arvis"
