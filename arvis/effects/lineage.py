"""Which agent may give a task to which other one, and how far (reliability.md T5, T6; behaviour.md 1.9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from arvis.domain.agents import HARMLESS_TOOLS, Agent
from arvis.domain.effects import EffectKind, Outcome
from arvis.domain.executions import Execution
from arvis.domain.messages import Sender
from arvis.effects.situation import Situation
from arvis.effects.verdict import ALLOWED, Verdict, refused
from arvis.ports.store import Transaction
from arvis.routing import may_call


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a turn stands below the one that a person asked for, which has depth 0. `path` are the ids of the agents from
    there on, its own last."""

    root_id: str
    depth: int
    path: tuple[str, ...]


def lineage_of(tx: Transaction, execution_id: str, agent_id: str) -> Lineage:
    known = tx.delegations.get(execution_id)
    return Lineage(known.root_id, known.depth, known.path) if known else Lineage(execution_id, 0, (agent_id,))


def judge_delegation(tx: Transaction, slug: str, situation: Situation) -> Verdict:
    """Whether a task may go to the agent of this slug; the first rule that forbids it speaks."""
    target = tx.agents.by_slug(slug)
    if target is None:
        return refused("no_agent", "there is no such agent")
    lineage = lineage_of(tx, situation.execution.id, situation.agent.id)
    return next(_refusals(tx, target, lineage, situation), ALLOWED)


def room_below(tx: Transaction, lineage: Lineage, situation_limit: int) -> bool:
    """Whether the root of this turn may have one more turn below it."""
    return tx.delegations.count_of_root(lineage.root_id) < situation_limit


def _refusals(tx: Transaction, target: Agent, lineage: Lineage, situation: Situation) -> Iterator[Verdict]:
    limits = situation.limits
    if not target.active:
        yield refused("not_active", "that agent is not active")
    if target.id == situation.agent.id:
        yield refused("self", "an agent gives no task to itself")
    if target.id in lineage.path:
        yield refused("cycle", "that agent is waiting further up")
    if not _may_reach(tx, target, situation):
        yield refused("not_allowed", "this person may not reach that agent")
    if lineage.depth >= limits.delegation_depth:
        yield refused("too_deep", f"tasks are handed on {limits.delegation_depth} times at most")
    if _given(tx, situation) >= limits.delegation_fan_out:
        yield refused("too_many_tasks", f"an answer gives {limits.delegation_fan_out} tasks at most")
    if not room_below(tx, lineage, limits.delegation_jobs):
        yield refused("too_many_jobs", f"one question leads to {limits.delegation_jobs} tasks at most")


def _may_reach(tx: Transaction, target: Agent, situation: Situation) -> bool:
    """Rights only shrink: nobody reaches through an agent what is closed to them in this place, nor tools that this agent
    lacks; but whoever runs the house reaches every agent."""
    if situation.trusted:
        return True
    if target.is_conductor or not may_call(tx, _asker(situation), target, situation.address):
        return False
    return HARMLESS_TOOLS.union(situation.agent.tools).issuperset(target.tools)


def standing_of(execution: Execution) -> dict[str, Any]:
    """What limits whom a turn acts for, besides the role: it is kept with the turn that they asked for, and with the
    tasks that follow from it."""
    state = execution.state
    kept = state.get("lineage", {}).get("standing", state)
    return {"reach": kept.get("reach"), "paired": bool(kept.get("paired"))}


def _asker(situation: Situation) -> Sender:
    """Whom the turn acts for, as one who would write here themselves."""
    standing, person = standing_of(situation.execution), situation.principal
    reach = tuple(standing["reach"]) if standing["reach"] is not None else None
    user_id, name = (person.user_id, person.name) if person is not None else ("", "")
    return Sender(user_id, name, paired=standing["paired"], agents=reach)


def _given(tx: Transaction, situation: Situation) -> int:
    """How many tasks this turn has given already."""
    entries = tx.audit.of_execution(situation.execution.id)
    return sum(entry.proposal.kind is EffectKind.DELEGATE and entry.outcome is Outcome.DONE for entry in entries)
