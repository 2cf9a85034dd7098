"""The gate for every action that a model asks for by a tag (reliability.md T2, T5, T7, T8).

An action needs the permission of the agent's role, the person's rights, the sources of the answer and the quota. The
rules are one table; a tag that is not in it does nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from arvis.actions.context import ActionContext
from arvis.actions.memory import taint_of_note
from arvis.domain.agents import CONDUCTOR, HARMLESS_PLUGINS, HARMLESS_TOOLS, Agent, AgentStatus
from arvis.domain.effects import EffectKind, Outcome, Proposal
from arvis.domain.executions import Execution
from arvis.domain.memory import Category
from arvis.domain.messages import PrincipalRole
from arvis.engine import lifecycle
from arvis.ports.store import Transaction
from arvis.tasks.access import Asker, PlacedState, caller_limits, may_reach, origin_of
from arvis.tasks.state import WorkState
from arvis.tasks.task import is_run

# Verdicts of the gate on a proposal.


# Permissions and limits of tasks between agents (reliability.md T5, T6; behaviour.md 1.9).


@dataclass(frozen=True, slots=True)
class Verdict:
    """`outcome` is None if the action is allowed, else its result. `reason` is a code; `words` gives the reason to
    people as the end of a sentence."""

    outcome: Outcome | None
    reason: str | None = None
    words: str = ""


ALLOWED = Verdict(None)


def refused(reason: str, words: str) -> Verdict:
    return Verdict(Outcome.REFUSED, reason, words)


def asked(reason: str) -> Verdict:
    return Verdict(Outcome.ASKED, reason)


#: Delegations and calls are bounded elsewhere; this only ends a walk.
_MOST_ABOVE = 50


@dataclass(frozen=True, slots=True)
class Lineage:
    """The position of a turn below the turn that a person asked for, which has depth 0. `path` holds the ids of the
    agents from there on, its own last, including those that wait within the turn."""

    root_id: str
    depth: int
    path: tuple[str, ...]


def lineage_of(tx: Transaction, execution_id: str, agent_id: str) -> Lineage:
    """Return the lineage; a child of a turn counts as the turn itself."""
    turn_id = execution_id
    within: tuple[str, ...] = (agent_id,)
    execution = tx.executions.get(execution_id)
    while execution is not None and (above := _caller(tx, execution)) is not None:
        waiting = PlacedState.from_json(execution.state).waiting
        within = (PlacedState.from_json(above.state).agent, *waiting, *within)
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


def judge_delegation(tx: Transaction, slug: str, situation: ActionContext) -> Verdict:
    """Judge whether a task may go to the agent of this slug; the first rule that forbids it gives the reason."""
    target = tx.agents.by_slug(slug)
    if target is None:
        return refused("no_agent", "there is no such agent")
    lineage = lineage_of(tx, situation.execution.id, situation.agent.id)
    return next(_refusals(tx, target, lineage, situation), ALLOWED)


def room_below(tx: Transaction, lineage: Lineage, situation_limit: int) -> bool:
    """Return whether the root of this turn may have one more turn below it."""
    return tx.delegations.count_of_root(lineage.root_id) < situation_limit


def _refusals(tx: Transaction, target: Agent, lineage: Lineage, situation: ActionContext) -> Iterator[Verdict]:
    limits = situation.limits
    if not target.active:
        yield refused("not_active", "that agent is not active")
    if target.id == situation.agent.id:
        yield refused("self", "an agent cannot give a task to itself")
    if target.id in lineage.path:
        yield refused("cycle", "that agent is already part of this chain of delegations")
    if not _may_reach(tx, target, situation):
        yield refused("not_allowed", "this person may not reach that agent")
    if not _is_within(tx, target, situation.execution):
        yield refused("more_tools", "that agent has tools that this run may not use")
    if lineage.depth >= limits.delegation_depth:
        yield refused("too_deep", f"a task may be passed on at most {limits.delegation_depth} times")
    if _given(tx, situation) >= limits.delegation_fan_out:
        yield refused("too_many_tasks", f"one answer may give at most {limits.delegation_fan_out} tasks")
    if not room_below(tx, lineage, limits.delegation_jobs):
        yield refused("too_many_jobs", f"at most {limits.delegation_jobs} tasks may follow from one message")


def _may_reach(tx: Transaction, target: Agent, situation: ActionContext) -> bool:
    person = situation.principal
    if person is not None and situation.taint and is_run(lifecycle.root_of(tx, situation.execution)):
        # No person asked for this: text of others gets no more rights than its authors have.
        person = replace(person, role=PrincipalRole.MEMBER)
    limits = caller_limits(situation.execution.state)
    asker = Asker(person, limits, situation.address, situation.agent, own_words=not situation.taint)
    return may_reach(tx, target, asker)


def _is_within(tx: Transaction, target: Agent, execution: Execution) -> bool:
    """A run that may use some tools alone gets no others by way of other agents, whomever it acts for."""
    tasks = [WorkState.from_json(each.state).run for each in _upwards(tx, execution)]
    bounded = [set(task.tools) for task in tasks if task is not None and task.tools is not None]
    return not bounded or (
        set.intersection(*bounded).issuperset(target.tools) and HARMLESS_PLUGINS.issuperset(target.plugins)
    )


def _upwards(tx: Transaction, execution: Execution) -> Iterator[Execution]:
    """Yield the execution, the execution that called it or gave it as a task, and so on."""
    current: Execution | None = execution
    for _ in range(_MOST_ABOVE):
        if current is None:
            return
        yield current
        giver = origin_of(current.state).parent
        current = _caller(tx, current) or (tx.executions.get(giver) if giver is not None else None)


def _given(tx: Transaction, situation: ActionContext) -> int:
    """Return the number of tasks that this turn has already given."""
    entries = tx.audit.of_execution(situation.execution.id)
    return sum(entry.proposal.kind is EffectKind.DELEGATE and entry.outcome is Outcome.DONE for entry in entries)


DAY_MS = 86_400_000
#: The most questions about one answer.
QUESTIONS = 5

_Roles = Collection[PrincipalRole | None]
_EVERYBODY: _Roles = frozenset({PrincipalRole.OWNER, PrincipalRole.OPERATOR, PrincipalRole.MEMBER, None})
_OPERATORS: _Roles = frozenset({PrincipalRole.OWNER, PrincipalRole.OPERATOR})
_OWNERS: _Roles = frozenset({PrincipalRole.OWNER})

# When an approval is needed: never, if the answer is tainted, always.
_NEVER, _TAINTED, _ALWAYS = "never", "tainted", "always"


@dataclass(frozen=True, slots=True)
class Rule:
    """The agents that may ask for an action (`conductor`: only the conductor), the roles that they may act for, and
    the condition for an approval."""

    conductor: bool
    people: _Roles
    asks: str


RULES = {
    #                            conductor  people       asks
    EffectKind.REMEMBER: Rule(False, _EVERYBODY, _NEVER),
    EffectKind.STATE: Rule(False, _EVERYBODY, _NEVER),
    EffectKind.DELEGATE: Rule(False, _EVERYBODY, _NEVER),
    # As over the API: operators pause agents; only owners write agents' prompts and permissions.
    EffectKind.CREATE_AGENT: Rule(True, _OWNERS, _TAINTED),
    EffectKind.UPDATE_AGENT: Rule(True, _OWNERS, _TAINTED),
    EffectKind.PAUSE_AGENT: Rule(True, _OPERATORS, _ALWAYS),
    EffectKind.DELETE_AGENT: Rule(True, _OWNERS, _ALWAYS),
    EffectKind.CREATE_CRON: Rule(True, _OPERATORS, _TAINTED),
    EffectKind.UPDATE_CRON: Rule(True, _OPERATORS, _TAINTED),
    EffectKind.DELETE_CRON: Rule(True, _OPERATORS, _ALWAYS),
    EffectKind.CREATE_HEARTBEAT: Rule(True, _OPERATORS, _TAINTED),
    EffectKind.UPDATE_HEARTBEAT: Rule(True, _OPERATORS, _TAINTED),
    EffectKind.DELETE_HEARTBEAT: Rule(True, _OPERATORS, _ALWAYS),
    EffectKind.CREATE_CLIENT: Rule(True, _OWNERS, _TAINTED),
    EffectKind.LIST_AGENTS: Rule(True, _OPERATORS, _TAINTED),
    EffectKind.LIST_CRONS: Rule(True, _OPERATORS, _TAINTED),
    EffectKind.LIST_HEARTBEATS: Rule(True, _OPERATORS, _TAINTED),
    EffectKind.LIST_CLIENTS: Rule(True, _OWNERS, _TAINTED),
}

_CHANGES_AGENT = frozenset({EffectKind.UPDATE_AGENT, EffectKind.PAUSE_AGENT, EffectKind.DELETE_AGENT})
_WRITES_AGENT = frozenset({EffectKind.CREATE_AGENT, EffectKind.UPDATE_AGENT})
_NOTES = frozenset({EffectKind.REMEMBER, EffectKind.STATE})


def judge(
    tx: Transaction, proposal: Proposal, situation: ActionContext, now: int, *, confirmed: bool = False
) -> Verdict:
    """Judge whether an action is allowed, needs an approval, or is refused. `confirmed`: a person has approved
    exactly this; all other rules still apply, with the present state."""
    against = next(_objections(tx, proposal, situation, now), None)
    if against is not None:
        return against
    return ALLOWED if confirmed else _question(tx, proposal, situation)


def _objections(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> Iterator[Verdict]:
    rule = RULES[proposal.kind]
    if rule.conductor and not situation.agent.is_conductor:
        yield refused("not_conductor", "only a conductor may do that")
    if proposal.kind not in _NOTES and not situation.agent.active:
        yield refused("paused", "this agent is paused")
    if situation.role not in rule.people:
        yield refused("no_right", "this person may not do that")
    if proposal.problem is not None:
        yield Verdict(Outcome.FAILED, "unreadable", proposal.problem)
    yield from _about_agents(tx, proposal)
    yield from _quota(tx, proposal, situation, now)
    if proposal.kind is EffectKind.DELEGATE and (verdict := judge_delegation(tx, proposal.subject, situation)).outcome:
        yield verdict


def _about_agents(tx: Transaction, proposal: Proposal) -> Iterator[Verdict]:
    """Refuse tags that would change or create a conductor."""
    if proposal.kind in _CHANGES_AGENT and _is_conductor(tx, proposal.subject):
        yield refused("conductor", "tags cannot change a conductor")
    if proposal.kind not in _WRITES_AGENT:
        return
    if str(proposal.fields.get("role", "")).strip().casefold() == CONDUCTOR:
        yield refused("conductor", "tags cannot create a conductor")


def _quota(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> Iterator[Verdict]:
    """Check quotas that are counted nowhere else; schedules are counted where they are written."""
    limits, kind = situation.limits, proposal.kind
    if kind in _NOTES and _done(tx, situation, _NOTES) >= limits.notes_per_reply:
        yield refused("too_many", f"one answer may store at most {limits.notes_per_reply} facts and values")
    by_day = {EffectKind.CREATE_AGENT: limits.agents_per_day, EffectKind.CREATE_CLIENT: limits.clients_per_day}
    if kind in by_day and tx.audit.count(situation.by_id, kind, now - DAY_MS) >= by_day[kind]:
        yield refused("too_many", f"the limit of {by_day[kind]} a day is reached")


def _question(tx: Transaction, proposal: Proposal, situation: ActionContext) -> Verdict:
    """Judge whether an approval is needed, and whether the person may still be asked."""
    reason = _why_asked(tx, proposal, situation)
    if reason is None:
        return ALLOWED
    entries = tx.audit.of_execution(situation.execution.id)
    if sum(entry.outcome is Outcome.ASKED for entry in entries) >= QUESTIONS:
        return refused(
            "too_many_questions", f"this answer needs more approvals than the {QUESTIONS} that one answer may ask for"
        )
    return asked(reason)


def _why_asked(tx: Transaction, proposal: Proposal, situation: ActionContext) -> str | None:
    asks = RULES[proposal.kind].asks
    if proposal.kind is EffectKind.REMEMBER and proposal.subject == Category.STICKY:
        # A sticky fact is among the instructions of every prompt.
        return "tainted" if taint_of_note(proposal, situation) else None
    if asks == _ALWAYS:
        return "confirmation"
    if asks == _TAINTED and situation.taint:
        return "tainted"
    if proposal.kind in _WRITES_AGENT and _new_tools(tx, proposal):
        return "tools"
    if proposal.fields.get("status", AgentStatus.ACTIVE) != AgentStatus.ACTIVE:
        return "confirmation"  # a pause by another name
    return None


def _is_conductor(tx: Transaction, slug: str) -> bool:
    agent = tx.agents.by_slug(slug)
    return slug == CONDUCTOR or (agent is not None and agent.is_conductor)


def _new_tools(tx: Transaction, proposal: Proposal) -> frozenset[str]:
    """Return the new tools of an agent that do more than read."""
    given = proposal.fields.get("tools") or ()
    wanted = given if isinstance(given, list | tuple) else (given,)
    known = tx.agents.by_slug(proposal.subject) if proposal.kind is EffectKind.UPDATE_AGENT else None
    return frozenset(map(str, wanted)) - HARMLESS_TOOLS - frozenset(known.tools if known else ())


def _done(tx: Transaction, situation: ActionContext, kinds: Collection[EffectKind]) -> int:
    entries = tx.audit.of_execution(situation.execution.id)
    return sum(entry.proposal.kind in kinds and entry.outcome is Outcome.DONE for entry in entries)
