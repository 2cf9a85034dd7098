"""Tasks that an agent gives to another agent: separate turns whose answers go to the same channel.

The text of one agent is tainted for the other agent. The new turn gets the person, the taint and the limits of the turn
that gave the task, so it never has more rights.
"""

from __future__ import annotations

from arvis.actions.context import ActionContext, Limits
from arvis.actions.gate import Lineage, lineage_of, room_below
from arvis.actions.report import done, quoted
from arvis.approvals import visible
from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass
from arvis.domain.effects import EffectResult, Proposal
from arvis.domain.errors import NotFound
from arvis.domain.executions import Execution
from arvis.domain.jobs import Priority
from arvis.domain.messages import Address
from arvis.domain.taint import Label, Taint
from arvis.engine.state import changes
from arvis.ports.changes import Delegation
from arvis.ports.store import Transaction
from arvis.tasks.access import Origin, PlacedState, caller_limits, origin_of
from arvis.turns.turns import Task, begin_agent_turn

#: The kinds of delegations. A message of a delegation has the kind as its route.
TASK, REPORT = "delegation", "report"
#: The maximum number of characters of the answer in a report. The channel shows the whole answer.
LONGEST_REPORT = 16_000

_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class _Step:
    """A turn to begin, with a task or a report as its message."""

    #: `TASK` or `REPORT`.
    kind: str
    #: The turn that gives the task or report, and the lineage of this turn.
    parent: Execution
    lineage: Lineage
    #: The agent of `parent`.
    speaker: Agent
    #: The agent of the new turn.
    target: Agent
    address: Address
    principal_id: str | None
    taint: Taint
    #: True if `speaker` gets a report with the answer of the new turn.
    wants_report: bool = False


def apply_delegation(tx: Transaction, proposal: Proposal, situation: ActionContext, now: int) -> EffectResult:
    """Begin the turn of the other agent. The gate has already allowed the delegation."""
    target = tx.agents.by_slug(proposal.subject)
    if target is None:
        raise NotFound("there is no such agent")
    step = _Step(
        kind=TASK,
        parent=situation.execution,
        lineage=lineage_of(tx, situation.execution.id, situation.agent.id),
        speaker=situation.agent,
        target=target,
        address=situation.address,
        principal_id=situation.principal.id if situation.principal is not None else None,
        taint=situation.taint,
        wants_report=bool(proposal.fields.get("report")),
    )
    person = f" for {_plain(situation.principal.name)}" if situation.principal is not None else ""
    _begin(tx, step, f"[Task from the agent {_plain(situation.agent.name)}{person}]\n{proposal.fields['text']}", now)
    return done(proposal, f"gave a task to {quoted(target.slug)}")


def on_turn_end(tx: Transaction, execution: Execution, reply: str, taint: Taint, now: int, *, limits: Limits) -> None:
    """If an agent asked for a report of this turn, begin a turn of that agent with the answer as its message, in the
    commit that ends this turn. The limits of tasks apply to reports too. The answer to a report is never reported."""
    given = tx.delegations.get(execution.id) if origin_of(execution.state).report else None
    if given is None or given.depth >= limits.delegation_depth:
        return
    asking, speaker = tx.agents.get(given.path[-2]), tx.agents.get(given.agent_id)
    lineage = Lineage(given.root_id, given.depth, given.path)
    if asking is None or speaker is None or not asking.active or not room_below(tx, lineage, limits.delegation_jobs):
        return
    step = _Step(
        kind=REPORT,
        parent=execution,
        lineage=lineage,
        speaker=speaker,
        target=asking,
        address=PlacedState.from_json(execution.state).address,
        principal_id=execution.principal_id,
        taint=taint,
    )
    shown = reply if len(reply) <= LONGEST_REPORT else f"{reply[:LONGEST_REPORT]}\n[cut]"
    _begin(tx, step, f"[Report from the agent {_plain(speaker.name)}]\n{shown.strip() or '(It said nothing.)'}", now)


def _begin(tx: Transaction, step: _Step, text: str, now: int) -> None:
    depth, path = step.lineage.depth + 1, (*step.lineage.path, step.target.id)
    talk = tx.conversations.get(PlacedState.from_json(step.parent.state).conversation)
    origin = changes(
        Origin,
        root=step.lineage.root_id,
        parent=step.parent.id,
        report=step.wants_report,
        limits=caller_limits(step.parent.state),
    )
    task = Task(
        speaker=step.speaker,
        text=text,
        principal_id=step.principal_id,
        taint=step.taint | {Label.AGENTS},
        origin=origin,
        route=step.kind,
        direct=talk is not None and talk.direct,
    )
    begun = begin_agent_turn(tx, task, agent=step.target, address=step.address, priority=Priority.DELEGATION, now=now)
    tx.delegations.add(
        Delegation(
            execution_id=begun.execution_id or "",
            root_id=step.lineage.root_id,
            parent_id=step.parent.id,
            agent_id=step.target.id,
            depth=depth,
            path=path,
            kind="task" if step.kind == TASK else "report",
            created_at=now,
        )
    )


def _plain(name: str) -> str:
    """Return the name in a form for a heading in brackets. In this form, the name can neither end the heading nor
    imitate a heading."""
    return visible(name).replace("[", "(").replace("]", ")")[:_LONGEST_NAME]
