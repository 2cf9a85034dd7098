"""In whose name and from what a model wants something: all that the gate looks at, besides the proposal itself."""

from __future__ import annotations

from dataclasses import dataclass

from arvis.domain.agents import Agent
from arvis.domain.conversations import Conversation
from arvis.domain.executions import Execution
from arvis.domain.messages import Address, Principal, PrincipalRole
from arvis.domain.taint import Taint


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of each (reliability.md T5, T7). A turn that a person asked for stands at depth 0; `delegation_jobs` counts
    the turns below one root; what is made counts per person and day."""

    delegation_depth: int = 3
    delegation_fan_out: int = 5
    delegation_jobs: int = 20
    crons_per_agent: int = 10
    heartbeats_per_agent: int = 10
    agents_per_day: int = 20
    clients_per_day: int = 20
    notes_per_reply: int = 20


@dataclass(frozen=True, slots=True)
class ActionContext:
    """The turn whose reply asks for something. `principal` is whom it acts for (None: nobody, which gives no rights);
    `taint` is that of the reply, `message_id` the message that it answers, `zone` the
    daemon's time zone. `confirmed`: a person has read what is to be done, and said yes."""

    agent: Agent
    principal: Principal | None
    taint: Taint
    address: Address
    conversation: Conversation
    execution: Execution
    message_id: str | None
    limits: Limits = Limits()
    zone: str = "UTC"
    confirmed: bool = False

    @property
    def trusted(self) -> bool:
        """Whether it acts for somebody who runs the house."""
        return self.role in {PrincipalRole.OWNER, PrincipalRole.OPERATOR}

    @property
    def role(self) -> PrincipalRole | None:
        return self.principal.role if self.principal is not None else None

    @property
    def by_id(self) -> str:
        """Who is named as the author of what this turn does."""
        return self.principal.id if self.principal is not None else "arvis"
