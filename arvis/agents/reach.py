"""How far a turn reaches beyond its own agent: rights only shrink on the way (reliability.md T5).

One rule for tasks (`effects/lineage.py`) and for talks that are handed over (`agents/converse.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arvis.domain.agents import HARMLESS_PLUGINS, HARMLESS_TOOLS, Agent
from arvis.domain.executions import Execution
from arvis.domain.messages import Address, Principal, PrincipalRole, Sender
from arvis.ports.store import Transaction
from arvis.routing import may_call

#: Where the state of a child names the agents that wait for it within its turn, by their ids, in order.
WAITING = "waiting"

#: Graphs that give an agent no powers of their own.
_PLAIN = frozenset({"agent", "planning", "converse"})

#: Who reaches every agent of the house.
RUNS_THE_HOUSE = frozenset({PrincipalRole.OWNER, PrincipalRole.OPERATOR})


@dataclass(frozen=True, slots=True)
class Asker:
    """In whose name work goes on: `principal` (None: nobody, which gives no rights), limited by `standing`, in the place
    `address`, through `agent` (None: it is gone)."""

    principal: Principal | None
    standing: Mapping[str, Any]
    address: Address
    agent: Agent | None

    @property
    def runs_the_house(self) -> bool:
        return self.principal is not None and self.principal.role in RUNS_THE_HOUSE

    @property
    def sender(self) -> Sender:
        """As one who would write here themselves."""
        reach = self.standing["reach"]
        agents = tuple(reach) if reach is not None else None
        person = self.principal
        user_id, name = (person.user_id, person.name) if person is not None else ("", "")
        return Sender(user_id, name, paired=self.standing["paired"], agents=agents)


def may_reach(tx: Transaction, target: Agent, asker: Asker) -> bool:
    """Nobody reaches through an agent what is closed to them in this place, nor powers that this agent lacks; but whoever
    runs the house reaches every agent."""
    if asker.runs_the_house:
        return True
    if _is_blocked(asker) or target.is_conductor or not may_call(tx, asker.sender, target, asker.address):
        return False
    return asker.agent is not None and _is_no_stronger(target, asker.agent)


def standing_of(execution: Execution) -> dict[str, Any]:
    """What limits whom a turn acts for, besides the role: it is kept with the turn that they asked for, and with the
    tasks that follow from it."""
    return standing_in(execution.state)


def standing_in(state: Mapping[str, Any]) -> dict[str, Any]:
    """The same of an execution's state."""
    kept = state.get("lineage", {}).get("standing", state)
    return {"reach": kept.get("reach"), "paired": bool(kept.get("paired"))}


def _is_no_stronger(target: Agent, agent: Agent) -> bool:
    """Whoever writes programs has the power of the sandbox, whatever the tools."""
    return (
        HARMLESS_TOOLS.union(agent.tools).issuperset(target.tools)
        and HARMLESS_PLUGINS.union(agent.plugins).issuperset(target.plugins)
        and target.graph in {agent.graph, *_PLAIN}
    )


def _is_blocked(asker: Asker) -> bool:
    return asker.principal is not None and asker.principal.role is PrincipalRole.BLOCKED
