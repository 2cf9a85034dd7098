"""`/run`: start a workflow in this place. Owners and operators may start every workflow; members may start only the
workflows that a message in this place can also start."""

from __future__ import annotations

from arvis.commands.invocation import Invocation
from arvis.domain.errors import NotFound, UsageError, sentences
from arvis.domain.jobs import Priority
from arvis.domain.messages import PrincipalRole
from arvis.domain.workflows import Workflow
from arvis.memory.service import brief
from arvis.ports.store import Transaction
from arvis.services.graph_selection import matching
from arvis.services.workflow_runs import NewWorkflowRun, agent_for, begin, check_pace, find, whole_version
from arvis.tasks.access import Asker, CallerLimits, limits_of_sender

_ALL = frozenset({PrincipalRole.OWNER, PrincipalRole.OPERATOR})
_MOST = 30
_LONGEST = 120
_NONE = "You cannot start any workflow in this channel."


def run(tx: Transaction, invocation: Invocation, now: int) -> str:
    """Carry out `/run NAME [input]` and return its answer. Without a name, list the workflows."""
    name, _, given = invocation.argument.partition(" ")
    if not name:
        return _listing(tx, invocation)
    try:
        workflow = _named(tx, invocation, name)
        check_pace(tx, invocation.principal)
        version = whole_version(tx, workflow)
        begun = begin(
            tx,
            NewWorkflowRun(
                workflow=workflow,
                agent=agent_for(tx, version, _asker(invocation)),
                address=invocation.address,
                source="chat",
                input=given.strip() or None,
                trigger=given.strip() or f"/run {workflow.slug}",
                principal_id=invocation.principal.id,
                trigger_kind="manual",
                priority=Priority.MESSAGE,
                more={} if invocation.sender is None else limits_of_sender(invocation.sender).to_json(),
            ),
            now,
        )
    except UsageError as refused:
        return sentences(
            refused.what, refused.fix if invocation.principal.role in _ALL else "/run lists the workflows."
        )
    return f"“{brief(workflow.name, _LONGEST)}” has started (run {begun.id}). Its result will be posted here."


def _named(tx: Transaction, invocation: Invocation, name: str) -> Workflow:
    """Return the workflow with this name. Raise `NotFound` if it does not exist or this person may not start it
    here."""
    workflow = find(tx, name)
    if invocation.principal.role not in _ALL and workflow.id not in {each.id for each in _allowed(tx, invocation)}:
        raise NotFound(f"There is no workflow {name[:64]!r} here.")
    return workflow


def _listing(tx: Transaction, invocation: Invocation) -> str:
    found = _allowed(tx, invocation)
    lines = [_line(each) for each in found[:_MOST]]
    if len(found) > _MOST:
        lines.append("… and more.")
    return "\n".join(["Send `/run NAME input` to start one of these workflows:", *lines]) if lines else _NONE


def _allowed(tx: Transaction, invocation: Invocation) -> list[Workflow]:
    if invocation.principal.role in _ALL:
        return [each for each in tx.workflows.all() if each.runnable is not None]
    found = [tx.workflows.get(each.workflow_id) for each in matching(tx, invocation.address, None)]
    there = [each for each in found if each is not None and each.enabled and each.removed_at is None]
    return [each for each in there if _is_within_reach(tx, each, invocation)]


def _is_within_reach(tx: Transaction, workflow: Workflow, invocation: Invocation) -> bool:
    """Return True if this person may use the workflow's agent here."""
    try:
        agent_for(tx, whole_version(tx, workflow), _asker(invocation))
    except UsageError:
        return False
    return True


def _asker(invocation: Invocation) -> Asker:
    limits = CallerLimits() if invocation.sender is None else limits_of_sender(invocation.sender)
    return Asker(invocation.principal, limits, invocation.address, invocation.agent)


def _line(workflow: Workflow) -> str:
    about = f": {brief(workflow.description, _LONGEST)}" if workflow.description else ""
    return f"- {workflow.slug}{about}"
