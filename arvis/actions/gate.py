"""The gate for every action that a model asks for by a tag.

The verdict depends on the agent's role, the person's rights, the taint of the answer and the quota. The rules are one
table (`RULES`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import groupby

from arvis.actions.context import ActionContext
from arvis.actions.memory import taint_of_note
from arvis.domain.agents import CONDUCTOR, Agent, AgentStatus
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effects import EffectKind, Outcome, Proposal
from arvis.domain.executions import Execution
from arvis.domain.memory import Category
from arvis.domain.messages import PrincipalRole
from arvis.engine import lifecycle
from arvis.extensions import risky_plugins, risky_tools
from arvis.ports.store import Transaction
from arvis.tasks.access import Asker, PlacedState, caller_limits, may_reach, origin_of
from arvis.tasks.state import WorkState
from arvis.tasks.task import is_run


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of the gate on a proposal."""

    #: The outcome of the proposal; None if the action is allowed.
    outcome: Outcome | None
    #: The code of the reason.
    reason: str | None = None
    #: The reason as text for people: the end of a sentence.
    words: str = ""


ALLOWED = Verdict(None)


def refused(reason: str, words: str) -> Verdict:
    return Verdict(Outcome.REFUSED, reason, words)


def needs_approval(reason: str) -> Verdict:
    return Verdict(Outcome.ASKED, reason)


# Permissions and limits of tasks between agents.

#: The maximum number of executions that `_upwards` follows. Because of other limits, real chains are shorter.
_MOST_ABOVE = 50


@dataclass(frozen=True, slots=True)
class Lineage:
    """The position of a turn below its root: the turn that a person began (depth 0)."""

    root_id: str
    depth: int
    #: The ids of the agents from the root to this turn. If agents of one turn call each other, all of them are
    #: included. The agent of this turn is last.
    path: tuple[str, ...]


def lineage_of(tx: Transaction, execution_id: str, agent_id: str) -> Lineage:
    """Return the lineage of an execution of this agent. An execution that another execution called gets the depth of
    the turn to which it belongs."""
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
    # The last agent of `known.path` is also the first agent of `within`, so it is added only once.
    return Lineage(known.root_id, known.depth, (*known.path, *within[1:]))


def _caller(tx: Transaction, execution: Execution) -> Execution | None:
    wait = tx.waits.get(execution.parent_wait) if execution.parent_wait is not None else None
    return tx.executions.get(wait.execution_id) if wait is not None else None


def judge_delegation(tx: Transaction, slug: str, situation: ActionContext) -> Verdict:
    """Return the verdict on a task for the agent with this slug. The first rule that forbids the task gives the
    reason."""
    target = tx.agents.by_slug(slug)
    if target is None:
        return refused("no_agent", "there is no such agent")
    lineage = lineage_of(tx, situation.execution.id, situation.agent.id)
    return next(_refusals(tx, target, lineage, situation), ALLOWED)


def room_below(tx: Transaction, lineage: Lineage, situation_limit: int) -> bool:
    """Return True if one more turn may begin below the root of this turn. `situation_limit` is the maximum number of
    turns below a root."""
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
        # No person began this run, so a request in a text of other people gets only a member's rights.
        person = replace(person, role=PrincipalRole.MEMBER)
    limits = caller_limits(situation.execution.state)
    asker = Asker(person, limits, situation.address, situation.agent, own_words=not situation.taint)
    return may_reach(tx, target, asker)


def _is_within(tx: Transaction, target: Agent, execution: Execution) -> bool:
    """Return True if the tools of this run are not restricted, or if `target` has only tools that this run may use and
    no risky plugins. Without this check, a run with restricted tools could use other tools through another agent."""
    tasks = [WorkState.from_json(each.state).run for each in _upwards(tx, execution)]
    bounded = [set(task.tools) for task in tasks if task is not None and task.tools is not None]
    return not bounded or (set.intersection(*bounded).issuperset(target.tools) and not risky_plugins(target.plugins))


def _upwards(tx: Transaction, execution: Execution) -> Iterator[Execution]:
    """Yield the execution, then the execution that called it or gave its task, and so on up to the root."""
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
#: The maximum number of approvals that one answer may ask for.
QUESTIONS = 5

_Roles = Collection[PrincipalRole | None]
_EVERYBODY: _Roles = frozenset({PrincipalRole.OWNER, PrincipalRole.OPERATOR, PrincipalRole.MEMBER, None})
_OPERATORS: _Roles = frozenset({PrincipalRole.OWNER, PrincipalRole.OPERATOR})
_OWNERS: _Roles = frozenset({PrincipalRole.OWNER})

# The cases in which an action needs an approval: in no case, only if the answer is tainted, or always.
_NEVER, _TAINTED, _ALWAYS = "never", "tainted", "always"


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule for an action."""

    #: True: only a conductor may ask for the action.
    conductor: bool
    #: The roles of the people for whom the action may be done.
    people: _Roles
    #: The cases that need an approval: `_NEVER`, `_TAINTED` or `_ALWAYS`.
    asks: str


RULES = {
    #                            conductor  people       asks
    EffectKind.REMEMBER: Rule(False, _EVERYBODY, _NEVER),
    EffectKind.STATE: Rule(False, _EVERYBODY, _NEVER),
    EffectKind.DELEGATE: Rule(False, _EVERYBODY, _NEVER),
    # The API has the same rule: operators may pause agents, only owners may write their prompts and permissions.
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
    """Return the verdict on a proposal: allowed, needs an approval, or refused. `confirmed` is True if a person has
    approved exactly this proposal. All other rules are then still checked against the present data."""
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
    """Yield a refusal if the proposal would change or create a conductor."""
    if proposal.kind in _CHANGES_AGENT and _is_conductor(tx, proposal.subject):
        yield refused("conductor", "tags cannot change a conductor")
    if proposal.kind not in _WRITES_AGENT:
        return
    if str(proposal.fields.get("role", "")).strip().casefold() == CONDUCTOR:
        yield refused("conductor", "tags cannot create a conductor")


def _quota(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> Iterator[Verdict]:
    """Yield a refusal if a quota is used up. The quota of schedules is checked in `services/schedules.py`."""
    limits, kind = situation.limits, proposal.kind
    if kind in _NOTES and _done(tx, situation, _NOTES) >= limits.notes_per_reply:
        yield refused("too_many", f"one answer may store at most {limits.notes_per_reply} facts and values")
    by_day = {EffectKind.CREATE_AGENT: limits.agents_per_day, EffectKind.CREATE_CLIENT: limits.clients_per_day}
    if kind in by_day and tx.audit.count(situation.by_id, kind, now - DAY_MS) >= by_day[kind]:
        yield refused("too_many", f"the limit of {by_day[kind]} a day is reached")


def _question(tx: Transaction, proposal: Proposal, situation: ActionContext) -> Verdict:
    """Return the verdict on an action that no rule forbids. The action is allowed, or needs an approval. It is refused
    if it needs an approval and this answer has already asked for `QUESTIONS` approvals."""
    reason = _why_asked(tx, proposal, situation)
    if reason is None:
        return ALLOWED
    entries = tx.audit.of_execution(situation.execution.id)
    if sum(entry.outcome is Outcome.ASKED for entry in entries) >= QUESTIONS:
        return refused(
            "too_many_questions", f"this answer needs more approvals than the {QUESTIONS} that one answer may ask for"
        )
    return needs_approval(reason)


def _why_asked(tx: Transaction, proposal: Proposal, situation: ActionContext) -> str | None:
    asks = RULES[proposal.kind].asks
    if proposal.kind is EffectKind.REMEMBER and proposal.subject == Category.STICKY:
        # Every prompt contains sticky facts among its instructions, so a tainted sticky fact needs an approval.
        return "tainted" if taint_of_note(proposal, situation) else None
    if asks == _ALWAYS:
        return "confirmation"
    if asks == _TAINTED and situation.taint:
        return "tainted"
    if proposal.kind in _WRITES_AGENT and _new_tools(tx, proposal):
        return "tools"
    if proposal.fields.get("status", AgentStatus.ACTIVE) != AgentStatus.ACTIVE:
        return "confirmation"  # a change of the status is a pause, which always needs an approval
    return None


def _is_conductor(tx: Transaction, slug: str) -> bool:
    agent = tx.agents.by_slug(slug)
    return slug == CONDUCTOR or (agent is not None and agent.is_conductor)


def _new_tools(tx: Transaction, proposal: Proposal) -> frozenset[str]:
    """Return the tools that the proposal adds to an agent, except harmless tools."""
    given = proposal.fields.get("tools") or ()
    wanted = given if isinstance(given, list | tuple) else (given,)
    known = tx.agents.by_slug(proposal.subject) if proposal.kind is EffectKind.UPDATE_AGENT else None
    return risky_tools(map(str, wanted)) - frozenset(known.tools if known else ())


def _done(tx: Transaction, situation: ActionContext, kinds: Collection[EffectKind]) -> int:
    entries = tx.audit.of_execution(situation.execution.id)
    return sum(entry.proposal.kind in kinds and entry.outcome is Outcome.DONE for entry in entries)
