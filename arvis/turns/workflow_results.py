"""The results of a workflow run at its end: the last line of the run's log, and the report to the agent that started
the run. The report becomes the agent's next turn. The functions are parts of transaction scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.approvals import visible
from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.jobs import Priority
from arvis.domain.outgoing_links import SafeLinks
from arvis.domain.taint import Label, Taint, taint_in
from arvis.domain.workflows import ENDS, OUTPUT, RESULTS, STATE, SYSTEM, LogType, as_text, has_made
from arvis.engine.state import State, changes, stored
from arvis.graphs.agent.subagents import DELEGATES, close_calls
from arvis.ports.store import Transaction
from arvis.services.billing import charge_run
from arvis.services.workflow_runs import is_workflow
from arvis.tasks.access import CallerLimits, Origin, PlacedState
from arvis.tasks.task import is_run
from arvis.turns.turns import Task, begin_agent_turn

#: The key of a run's state that contains the turn of the agent that started the run (`Starter`).
STARTER = "starter"

#: The maximum number of characters of an error in the log.
_LONGEST_ERROR = 4_000
#: The limits of the report: the characters of a node's output, the number of nodes, and the characters of a name.
LONGEST_OUTPUT = 200
_MOST_NODES = 100
_LONGEST_NAME = 60
_WITHOUT_LINKS = SafeLinks(is_written=lambda _url: False, is_known=lambda _url: False, bare_hosts=True)


@dataclass(frozen=True, slots=True)
class Starter(State):
    """The turn of the agent that started a run."""

    #: The ids of the turn's execution, of its agent and of its conversation.
    execution: str = ""
    agent: str = ""
    conversation: str = ""
    #: The number of workflow starts since the last message of a person.
    starts: int = 0
    limits: CallerLimits = stored(
        CallerLimits(), key="standing", read=CallerLimits.from_json, write=CallerLimits.to_json
    )


@dataclass(frozen=True, slots=True)
class StartedState(State):
    """The part of a run's state that `turns/workflow_tools.py` writes when an agent starts the run."""

    starter: Starter | None = stored(None, read=Starter.from_json)


def ended(tx: Transaction, execution: Execution, now: int, *, by: str = "") -> None:
    """Write the last line in the log of an ended run and of the runs that were cancelled with it, and report to the
    agent that started the run. `by` names the person who cancelled the run, or the reason. Executions that are not runs
    of workflows are ignored."""
    if not is_workflow(execution):
        return
    _last_line(tx, execution, by, now)
    _end_called(tx, execution, now)
    if execution.status is ExecutionStatus.DONE and _has_own_charge(tx, execution):
        charge_run(tx, execution, now)
    _report(tx, execution, now)


def outputs_of(state: Mapping[str, Any]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Return pairs of a node's id and its stored output, oldest first."""
    found = [(key.removeprefix(OUTPUT), kept) for key, kept in state.items() if key.startswith(OUTPUT)]
    return sorted(found, key=lambda each: each[1].get("at") or 0)


def taint_of(state: Mapping[str, Any]) -> Taint:
    """Return the taint of a run's input and of the outputs of its nodes."""
    return taint_in(state, *(kept for _, kept in outputs_of(state)))


def _end_called(tx: Transaction, execution: Execution, now: int) -> None:
    """Write the last lines of the runs that an execution called and that were cancelled with it."""
    for child in tx.executions.children_of(execution.id):
        if child.status is ExecutionStatus.CANCELLED:
            if is_workflow(child):
                _last_line(tx, child, "", now)
            _end_called(tx, child, now)


def _last_line(tx: Transaction, execution: Execution, by: str, now: int) -> None:
    """Write the last line of the log, unless the node that ended the run has already written it. Before that, close the
    calls of subagents that are still open in the log."""
    run = tx.workflow_runs.get(execution.id)
    if run is None:
        return
    if execution.state.get(DELEGATES) and close_calls(tx, execution.id, f"The run was {execution.status}.", now):
        run = tx.workflow_runs.get(execution.id) or run
    newest = tx.workflow_runs.entries(execution.id, run.entries - 1, 1)
    if newest and (newest[0].node_id, newest[0].type) == (SYSTEM, LogType.RUN_END):
        return
    lines = [(SYSTEM, LogType.RUN_END.value, ENDS[execution.status].value)]
    if execution.status is ExecutionStatus.FAILED:
        lines.insert(0, (SYSTEM, LogType.ERROR.value, (execution.error or "It failed.")[:_LONGEST_ERROR]))
    elif execution.status is ExecutionStatus.CANCELLED and by:
        lines = [(SYSTEM, LogType.RUN_END.value, f"cancelled: {by}"[:_LONGEST_ERROR])]
    tx.workflow_runs.log(execution.id, lines, now)


# -- the agent that started the run -----------------------------------------------------------------------------


def _has_own_charge(tx: Transaction, execution: Execution) -> bool:
    """Return whether a turn caused this run and does not wait for it. Such a run is charged separately; a run that was
    called is charged together with its caller."""
    given = tx.delegations.get(execution.id)
    if given is None or execution.parent_wait is not None or not is_run(execution):
        return False
    root = tx.executions.get(given.root_id)
    return root is None or not is_run(root)


def _report(tx: Transaction, execution: Execution, now: int) -> None:
    """Begin a turn of the agent that started the run, with the results as its task. Do nothing if no agent started it
    or the agent is no longer active."""
    starter = StartedState.from_json(execution.state).starter
    agent = tx.agents.get(starter.agent) if starter is not None else None
    if starter is None or agent is None or not agent.active:
        return
    talk = tx.conversations.get(starter.conversation)
    workflow = tx.workflows.get(execution.state[STATE]["id"])
    name = _plain(workflow.name if workflow is not None else "workflow")
    task = Task(
        speaker=replace(agent, name=name),
        text=_results(execution, name),
        principal_id=execution.principal_id,
        taint=taint_of(execution.state) | {Label.AGENTS},
        origin=changes(
            Origin,
            root=starter.execution,
            parent=starter.execution,
            report=False,
            limits=starter.limits,
            starts=starter.starts,
        ),
        route=RESULTS,
        direct=talk is not None and talk.direct,
    )
    place = PlacedState.from_json(execution.state).address
    begin_agent_turn(tx, task, agent=agent, address=place, priority=_priority(execution, agent), now=now)


def _priority(execution: Execution, agent: Agent) -> int:
    return min(execution.priority, Priority.CONDUCTOR) if agent.is_conductor else Priority.DELEGATION


def _results(execution: Execution, name: str) -> str:
    """Return the text of the report: the status of the run, and a shortened output of each node."""
    ends = {ExecutionStatus.DONE: "is done", ExecutionStatus.CANCELLED: "was cancelled"}
    lines = [f"[The workflow {name} that you started {ends.get(execution.status, 'has failed')} (run {execution.id}).]"]
    if execution.error:
        lines.append(f"Error: {_short(execution.error)}")
    given = outputs_of(execution.state)
    if taint_of(execution.state) and has_made(execution.state):
        # The text of a turn counts as written by others, but a script may have made an address that carries data.
        given = [
            (node, {**kept, "output": _WITHOUT_LINKS.replaced(as_text(kept.get("output")))}) for node, kept in given
        ]
    lines += [f"- {_plain(str(kept.get('label') or node))}: {_of(kept)}" for node, kept in given[-_MOST_NODES:]]
    if not given:
        lines.append("(No node produced an output.)")
    return "\n".join(lines)


def _of(kept: Mapping[str, Any]) -> str:
    failed = kept.get("failed")
    if failed:
        return f"failed: {_short(failed if isinstance(failed, str) else as_text(kept.get('output')))}"
    return _short(as_text(kept.get("output"))) or "(nothing)"


def _short(text: str) -> str:
    """Return the text shortened and on one line, so that no part of it looks like a line of the report."""
    whole = " ".join(text.split())
    return whole if len(whole) <= LONGEST_OUTPUT else f"{whole[: LONGEST_OUTPUT - 1]}…"


def _plain(name: str) -> str:
    return visible(name).replace("[", "(").replace("]", ")")[:_LONGEST_NAME]
