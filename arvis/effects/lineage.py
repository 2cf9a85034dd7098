"""Which agent may give a task to which other one, and how far (reliability.md T5, T6; behaviour.md 1.9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from arvis.agents.reach import WAITING, Asker, may_reach, standing_of
from arvis.agents.runs import RUN, is_run
from arvis.domain.agents import HARMLESS_PLUGINS, Agent
from arvis.domain.effects import EffectKind, Outcome
from arvis.domain.executions import Execution
from arvis.domain.messages import PrincipalRole
from arvis.effects.situation import Situation
from arvis.effects.verdict import ALLOWED, Verdict, refused
from arvis.graph import lifecycle
from arvis.ports.store import Transaction

#: Delegations and calls are bounded elsewhere; this only ends a walk.
_MOST_ABOVE = 50


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a turn stands below the one that a person asked for, which has depth 0. `path` are the ids of the agents from
    there on, its own last; those that wait within the turn stand in it, too."""

    root_id: str
    depth: int
    path: tuple[str, ...]


def lineage_of(tx: Transaction, execution_id: str, agent_id: str) -> Lineage:
    """What a turn called counts as the turn itself."""
    turn_id = execution_id
    within: tuple[str, ...] = (agent_id,)
    execution = tx.executions.get(execution_id)
    while execution is not None and (above := _caller(tx, execution)) is not None:
        within = (above.state["agent"], *execution.state.get(WAITING, ()), *within)
        turn_id, execution = above.id, above
    within = tuple(agent for agent, _ in groupby(within))
    known = tx.delegations.get(turn_id)
    if known is None:
        return Lineage(turn_id, 0, within)
    # The path of a task ends with its own agent, with which `within` begins.
    return Lineage(known.root_id, known.depth, (*known.path, *within[1:]))


def _caller(tx: Transaction, execution: Execution) -> Execution | None:
    wait = tx.waits.get(execution.parent_wait) if execution.parent_wait is not None else None
    return tx.executions.get(wait.execution_id) if wait is not None else None


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
    if not _is_within(tx, target, situation.execution):
        yield refused("more_tools", "that agent has tools that may not be used here")
    if lineage.depth >= limits.delegation_depth:
        yield refused("too_deep", f"tasks are handed on {limits.delegation_depth} times at most")
    if _given(tx, situation) >= limits.delegation_fan_out:
        yield refused("too_many_tasks", f"an answer gives {limits.delegation_fan_out} tasks at most")
    if not room_below(tx, lineage, limits.delegation_jobs):
        yield refused("too_many_jobs", f"one question leads to {limits.delegation_jobs} tasks at most")


def _may_reach(tx: Transaction, target: Agent, situation: Situation) -> bool:
    standing, person = standing_of(situation.execution), situation.principal
    if person is not None and situation.taint and is_run(lifecycle.root_of(tx, situation.execution)):
        # Nobody asked for this: words of others do not reach further than their writers would.
        person = replace(person, role=PrincipalRole.MEMBER)
    asker = Asker(person, standing, situation.address, situation.agent, own_words=not situation.taint)
    return may_reach(tx, target, asker)


def _is_within(tx: Transaction, target: Agent, execution: Execution) -> bool:
    """A run that may use some tools alone gets no others by way of other agents, whomever it acts for."""
    bounds = [each.state.get(RUN, {}).get("tools") for each in _upwards(tx, execution)]
    bounded = [set(allowed) for allowed in bounds if allowed is not None]
    return not bounded or (
        set.intersection(*bounded).issuperset(target.tools) and HARMLESS_PLUGINS.issuperset(target.plugins)
    )


def _upwards(tx: Transaction, execution: Execution) -> Iterator[Execution]:
    """It, what called it or gave it as a task, and so on."""
    current: Execution | None = execution
    for _ in range(_MOST_ABOVE):
        if current is None:
            return
        yield current
        giver = current.state.get("lineage", {}).get("parent")
        current = _caller(tx, current) or (tx.executions.get(giver) if giver is not None else None)


def _given(tx: Transaction, situation: Situation) -> int:
    """How many tasks this turn has given already."""
    entries = tx.audit.of_execution(situation.execution.id)
    return sum(entry.proposal.kind is EffectKind.DELEGATE and entry.outcome is Outcome.DONE for entry in entries)
