"""The start of workflow runs, the limits of runs with the same root, and lines in their logs.

A run is an execution of its workflow's graph and keeps the version with which it started. The API, `/run`, a schedule,
a webhook or an agent starts a run; a run can also be the turn of a message, or the child of another run.
`arvis/workflows/` interprets documents; this module reads only their start nodes and agents.
`turns/workflow_results.py` handles the end of a run. The functions are parts of transaction scripts.

The root of a run is the turn or run at the beginning of its chain. All runs with the same root share one limit and one
budget, so that workflows cannot start one another for ever. Each of these runs has a row in the table `delegations`,
which `join` or `take_place` writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from arvis.domain.agents import CONDUCTOR, Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ExecutionError, NotFound, Unavailable, Unprocessable
from arvis.domain.executions import Execution
from arvis.domain.explanation import duration, in_words
from arvis.domain.jobs import CALLED, Job, JobKind, NewJob, Priority, Retry, Snooze
from arvis.domain.messages import Address, Principal
from arvis.domain.taint import CLEAN, Taint
from arvis.domain.workflows import (
    POSITION,
    PREFIX,
    STATE,
    SYSTEM,
    LogType,
    Workflow,
    WorkflowRun,
    WorkflowVersion,
    as_text,
)
from arvis.engine import lifecycle
from arvis.messaging.messages import WEB
from arvis.ports.changes import Delegation
from arvis.ports.store import Transaction
from arvis.services import agents
from arvis.tasks.access import (
    AUTHORS,
    OPERATING_ROLES,
    Asker,
    PlacedState,
    caller_limits,
    check_use,
    may_reach,
    out_of_reach,
    refusal,
    taint_of_authors,
    with_authors,
)
from arvis.tasks.state import RUN, TaskSpec
from arvis.tasks.task import child_state, source_of

#: The maximum number of concurrent runs for a user who is neither owner nor operator.
MOST_AT_ONCE = 5
#: The maximum number of runs with the same root.
MOST_RUNS = 1_000
_RUN = "run"


def check_room(tx: Transaction, execution: Execution) -> None:
    """Raise `ExecutionError` if `MOST_RUNS` workflow runs already have the same root as this execution."""
    top = lifecycle.root_of(tx, execution)
    given = tx.delegations.get(top.id)
    if tx.delegations.runs_of_root(given.root_id if given is not None else top.id) >= MOST_RUNS:
        raise ExecutionError(
            f"This run has already started {MOST_RUNS} other runs. This is the limit",
            why="Workflows that start one another would never end.",
            fix="Remove the node by which a workflow starts itself, or reduce the number of runs that it starts.",
        )


def check_pace(tx: Transaction, person: Principal | None) -> None:
    """Raise `Unprocessable` if `MOST_AT_ONCE` runs of this person are running. Owners and operators have no limit."""
    if person is None or person.role in OPERATING_ROLES:
        return
    going = sum(each.principal_id == person.id for each in tx.workflow_runs.at_work(MOST_RUNS))
    if going >= MOST_AT_ONCE:
        raise Unprocessable(
            f"{MOST_AT_ONCE} workflows that you started are still running.",
            fix="Wait until one of the workflows ends, or stop them with /stop.",
            code="too_many_runs",
        )


def join(tx: Transaction, begun: Execution, of: Execution, now: int) -> None:
    """Record that the execution `of` (a run or a turn) caused the run `begun`, and count `begun` with the runs of the
    same root. A second call does not count it again."""
    tx.executions.put_below(begun.id, of.id)
    if tx.delegations.get(begun.id) is not None:
        return
    top = lifecycle.root_of(tx, of)
    given = tx.delegations.get(top.id)
    agent = PlacedState.from_json(begun.state).agent
    path = given.path if given is not None else (PlacedState.from_json(top.state).agent,)
    tx.delegations.add(
        Delegation(
            execution_id=begun.id,
            root_id=given.root_id if given is not None else top.id,
            parent_id=of.id,
            agent_id=agent,
            depth=given.depth if given is not None else 0,
            path=path if path[-1] == agent else (*path, agent),
            kind=_RUN,
            created_at=now,
        )
    )


def take_place(tx: Transaction, begun: Execution, of: Execution, now: int) -> None:
    """Let the run `begun` replace the execution `of`, so that `begun` answers the turn. If `of` is a task from an
    agent, `begun` takes over that task. Otherwise, count `begun` as `join` does."""
    given = tx.delegations.get(of.id)
    if given is None:
        join(tx, begun, of, now)
    else:
        tx.delegations.add(replace(given, execution_id=begun.id, created_at=now))
    # `begun` takes the place of `of` below the execution that caused `of`. `of` becomes a child of `begun`, because its
    # earlier work counts as a part of `begun`.
    tx.executions.put_below(begun.id, of.begun_by or "")
    tx.executions.put_below(of.id, begun.id)


#: The maximum length of the trigger's text in the log of a run.
_NOTED = 4_000
_BEGINS = ("start", "trigger")


@dataclass(frozen=True, slots=True)
class NewWorkflowRun:
    """The values from which `begin` starts a run."""

    workflow: Workflow
    agent: Agent
    address: Address
    #: The cause of the run, in the form of `WorkflowRun.source`.
    source: str
    #: The input of the run (any JSON), or None for the input that the start node defines.
    input: Any = None
    #: The text that caused the run, such as a message. If it is empty, the input is used as text.
    trigger: str = ""
    principal_id: str | None = None
    #: The version to run, or None for the newest one that can run.
    version: int | None = None
    #: The id of the first node. If it is None, the run starts at the node that `entry_of` returns for `trigger_kind`.
    entry: str | None = None
    trigger_kind: str = ""
    taint: Taint = CLEAN
    priority: int = Priority.MESSAGE
    kind: JobKind = JobKind.ADVANCE
    #: The lane of the run's jobs, or None for a lane that no other run has.
    lane: str | None = None
    rerun_of: str | None = None
    #: The id of the API request that starts the run. A second request with the same id starts no second run.
    request: str | None = None
    #: The input of the first node. It is set if the run starts in the middle of the workflow, such as a rerun from a
    #: step.
    token: Mapping[str, Any] | None = None
    #: Values that are added to the execution's state.
    more: Mapping[str, Any] = field(default_factory=dict)


# -- workflows, versions and agents --------------------------------------------------------------------------


def find(tx: Transaction, name: str) -> Workflow:
    """Return the workflow with this id or slug. The prefix `workflow:` is ignored. Raise `NotFound` if the workflow
    does not exist or is deleted."""
    named = name.removeprefix(PREFIX).strip()
    workflow = tx.workflows.get(named) or tx.workflows.by_slug(named)
    if workflow is None or workflow.removed_at is not None:
        raise NotFound(
            f"There is no workflow {named[:64]!r}.",
            fix="`arvis workflows list` and GET /api/workflows list the workflows.",
            code="unknown_workflow",
        )
    return workflow


def graph_of(tx: Transaction, name: str) -> str:
    """Return the name with which schedules, webhooks and agents refer to a workflow: the prefix and its slug. Raise
    `Unprocessable` if the workflow does not exist, or if `name` lacks the prefix."""
    if not name.startswith(PREFIX):
        raise Unprocessable(f"`graph` names {name[:60]!r}, which is not a workflow.", fix=f"Write {PREFIX}SLUG.")
    try:
        return f"{PREFIX}{find(tx, name).slug}"
    except NotFound as unknown:
        raise Unprocessable(f"`graph` names {name[:60]!r}. {unknown.what}", fix=unknown.fix) from None


def whole_version(tx: Transaction, workflow: Workflow, version: int | None = None) -> WorkflowVersion:
    """Return this version of the workflow. If `version` is None, return the newest version that can run. Raise
    `Unprocessable` if the version cannot run or the workflow is deleted, and `NotFound` if the version does not
    exist."""
    if workflow.removed_at is not None:
        raise Unprocessable(f"The workflow {workflow.slug} was removed.", fix="Restore it, or start another workflow.")
    wanted = version if version is not None else workflow.runnable
    if wanted is None:
        raise Unprocessable(
            f"The workflow {workflow.slug} has no version that can run.",
            why="Each of its versions has problems.",
            fix=f"`arvis workflows show {workflow.slug}` lists the problems. Fix them, then save the workflow.",
            code="not_runnable",
        )
    found = tx.workflows.version(workflow.id, wanted)
    if found is None:
        raise NotFound(f"The workflow {workflow.slug} has no version {wanted}.", fix="Name one of its versions.")
    if found.problems:
        raise Unprocessable(
            f"Version {wanted} of the workflow {workflow.slug} cannot run.",
            why=f"It has {found.problems} problems.",
            fix="Fix its problems, or choose another version.",
            code="not_runnable",
        )
    return found


def entry_of(document: Mapping[str, Any], trigger_kind: str = "") -> str:
    """Return the id of the node at which a run starts: the first trigger of this kind, else the start node, else the
    first trigger of any kind. Return "" if the document has none of these."""
    begins = [node for node in document.get("nodes", ()) if node.get("type") in _BEGINS]
    fitting = [node for node in begins if trigger_kind and node.get("data", {}).get("kind") == trigger_kind]
    starts = [node for node in begins if node["type"] == "start"]
    return next((str(node["id"]) for node in (*fitting, *starts, *begins)), "")


def agent_of(tx: Transaction, version: WorkflowVersion, asker: Asker, otherwise: str | None = None) -> Agent:
    """Return the agent of a run: the agent that the document names, else the agent `otherwise` (an id or a slug). If
    neither of these is an active agent, return the first active agent that the asker and all authors of the version may
    use; the conductor is tried first. Raise `Unprocessable` if the asker or an author may not use the agent."""
    asker = replace(asker, limits=asker.limits.with_authors(version.authors))
    named = str(version.document.get("settings", {}).get("agent") or "")
    for name in filter(None, (named, otherwise)):
        if (agent := agents.find(tx, name)) is not None and agent.active:
            check_use(tx, agent, asker)
            return agent
    active = [agent for agent in tx.agents.all() if agent.active]
    if not active:
        raise Unavailable(
            "There is no active agent to run the workflow.",
            fix="`arvis agents list` lists the agents. Resume one of them with `arvis agents resume SLUG`.",
        )
    active.sort(key=lambda agent: agent.slug != CONDUCTOR)
    chosen = next((agent for agent in active if refusal(tx, agent, asker) is None), None)
    if chosen is None:
        raise out_of_reach(active[0], "The workflow names no agent, and you may not use any of the active agents.")
    return chosen


def agent_for(tx: Transaction, version: WorkflowVersion, asker: Asker) -> Agent:
    """Return the agent of a run that was started in a conversation: the agent that the document names, else the agent
    of the conversation (`asker.agent`). Raise `Unprocessable` if the person may not use the named agent in this
    channel, because a workflow grants no rights."""
    asker = replace(asker, limits=asker.limits.with_authors(version.authors))
    agent = agent_of(tx, version, asker, asker.agent.id if asker.agent is not None else None)
    own = asker.agent is not None and agent.id == asker.agent.id
    if not own and not may_reach(tx, agent, asker):
        raise out_of_reach(agent, "The person for whom the workflow would run may not use this agent in this channel.")
    return agent


def asker_for(tx: Transaction, principal_id: str | None, address: Address, state: Mapping[str, Any]) -> Asker:
    """Return the asker of work for this person at this address. `state` is a state that contains the limits of the
    work."""
    person = tx.principals.get(principal_id) if principal_id is not None else None
    return Asker(person, caller_limits(state), address, None)


def place_of(workflow: Workflow) -> Address:
    """Return the address at which a run works if it was not started in a chat."""
    return Address(WEB, WEB, f"workflow-{workflow.slug}")


# -- start -------------------------------------------------------------------------------------------------


def begin(tx: Transaction, wanted: NewWorkflowRun, now: int) -> Execution:
    """Start a run: write its execution, its job, its row and the first line of its log. Raise the errors of
    `whole_version` and `check_use`."""
    begun = begin_keyed(tx, wanted, now, key=None)
    if begun is None:
        raise AssertionError("only a run with a key can exist already")
    return begun


def begin_keyed(
    tx: Transaction, wanted: NewWorkflowRun, now: int, *, key: str | None, live: bool = True
) -> Execution | None:
    """Start a run as `begin` does. If the queue has a pending or running job with this `key`, write nothing and return
    None; if `live` is False, do the same for an ended job with this key. If a run of the same request exists, return
    its execution."""
    if wanted.request is not None and (known := tx.workflow_runs.of_request(wanted.request)) is not None:
        return tx.executions.get(known.execution_id)
    version = whole_version(tx, wanted.workflow, wanted.version)
    wanted = _as_written(tx, wanted, version)
    check_use(tx, wanted.agent, asker_for(tx, wanted.principal_id, wanted.address, wanted.more))
    execution_id = tx.new_id()
    lane = wanted.lane or f"workflow:{execution_id}"
    job = NewJob(
        kind=wanted.kind,
        priority=wanted.priority,
        lane=lane,
        key=key,
        key_live=key is not None and live,
        agent_id=wanted.agent.id,
        principal_id=wanted.principal_id,
        execution_id=execution_id,
    )
    if not tx.jobs.add(job, now).created:
        return None
    conversation = tx.conversations.open(wanted.agent.id, wanted.address, now, direct=False)
    task = TaskSpec(wanted.trigger or as_text(wanted.input), taint=wanted.taint)
    state = {
        "agent": wanted.agent.id,
        "address": wanted.address.to_json(),
        "conversation": conversation.id,
        "taint": sorted(wanted.taint),
        RUN: {**task.to_json(), "source": wanted.source},
        STATE: _part(wanted, version),
        **wanted.more,
    }
    execution = lifecycle.begin(
        tx,
        execution_id,
        wanted.workflow.graph,
        state,
        lane=lane,
        priority=wanted.priority,
        principal_id=wanted.principal_id,
        now=now,
    )
    note_begun(tx, execution, wanted.source, now, rerun_of=wanted.rerun_of, request=wanted.request)
    return execution


def _as_written(tx: Transaction, wanted: NewWorkflowRun, version: WorkflowVersion) -> NewWorkflowRun:
    """Return the wanted run with the limits of the version's authors and the taint of their text."""
    return replace(
        wanted,
        taint=wanted.taint | taint_of_authors(tx, wanted.principal_id, version.authors),
        more=with_authors(wanted.more, version.authors),
    )


def turn_part(
    workflow: Workflow, version: WorkflowVersion, text: str, *, trigger_kind: str = "", entry: str | None = None
) -> dict[str, Any]:
    """Return the values that make a turn's execution a run of this workflow. The caller adds them to the state of the
    execution. The input of the run is the message (`text`)."""
    at = entry or entry_of(version.document, trigger_kind)
    return {
        STATE: {"id": workflow.id, "version": version.version, "entry": at, "trigger": text, "input": text},
        AUTHORS: list(version.authors),
    }


def called_state(
    parent: Mapping[str, Any],
    version: WorkflowVersion,
    input_: Any,
    *,
    taint: Taint = CLEAN,
    agent_id: str | None = None,
) -> dict[str, Any]:
    """Return the state of a run that is a child of another execution (`Call(graph, …)`). The child works at the same
    address, for the same person. Its first step writes the row of the run with `note_begun`, because the child's id is
    not known here."""
    text = as_text(input_)
    part = {
        "id": version.workflow_id,
        "version": version.version,
        "entry": entry_of(version.document),
        "trigger": text,
        "input": input_,
    }
    child = child_state(parent, TaskSpec(text, taint=taint), agent_id=agent_id)
    return {**with_authors(child, version.authors), STATE: part}


def note_begun(
    tx: Transaction,
    execution: Execution,
    source: str,
    now: int,
    *,
    rerun_of: str | None = None,
    request: str | None = None,
) -> None:
    """Write the row of a run and the first line of its log, unless the row exists. The first step of every workflow
    also calls this function."""
    if tx.workflow_runs.get(execution.id) is not None:
        return
    part = execution.state[STATE]
    tx.workflow_runs.add(
        WorkflowRun(
            execution_id=execution.id,
            workflow_id=part["id"],
            version=part["version"],
            source=source,
            entry=part["entry"],
            rerun_of=rerun_of,
            request=request,
            principal_id=execution.principal_id,
            created_at=execution.created_at,
        )
    )
    trigger = " ".join(str(part["trigger"]).split())
    tx.workflow_runs.log(execution.id, [(SYSTEM, LogType.START_PROMPT, trigger[:_NOTED])], now)


def source_for(execution: Execution, parent: str | None = None) -> str:
    """Return the source of a run for `note_begun`: the source in its state, or the prefix of workflows with the id of
    the calling execution (`parent`), or `message` if both are missing."""
    return source_of(execution) or (f"{PREFIX}{parent}" if parent else "message")


# -- state and log -----------------------------------------------------------------------------------------


def is_workflow(execution: Execution) -> bool:
    """Return whether this execution is a workflow run."""
    return STATE in execution.state and execution.graph.startswith(PREFIX)


def _part(wanted: NewWorkflowRun, version: WorkflowVersion) -> dict[str, Any]:
    entry = wanted.entry or entry_of(version.document, wanted.trigger_kind)
    if not any(node.get("id") == entry for node in version.document.get("nodes", ())):
        raise Unprocessable(
            f"The workflow {wanted.workflow.slug} has no node {entry[:64]!r} in version {version.version}.",
            fix="Name a node of this version, or omit the node to begin at the start.",
            code="unknown_node",
        )
    token = {"token": dict(wanted.token)} if wanted.token is not None else {}
    return {
        "id": wanted.workflow.id,
        "version": version.version,
        "entry": entry,
        "trigger": wanted.trigger or as_text(wanted.input),
        "input": wanted.input,
        **token,
    }


#: The maximum length of an error's text in the log.
_LONGEST = 1_000


def log_retry(tx: Transaction, job: Job, execution: Execution, outcome: Retry | Snooze, now: int) -> str | None:
    """Log that a job is retried or paused. The line goes into the log of the run for which the job works, at the node
    that waits for the job. Return the id of this run. Return None and log nothing if there is no such run, or if the
    job only waits for child executions."""
    found = _run_of(tx, execution)
    if found is None or (isinstance(outcome, Snooze) and outcome.reason == CALLED):
        return None
    run_id, node = found
    when = duration(max(outcome.run_at - now, 0))
    if isinstance(outcome, Retry):
        text = f"Attempt {job.attempts + 1} failed: {outcome.error[:_LONGEST]} The next attempt is in {when}."
    else:
        text = f"The job waits {when}: {in_words(outcome.reason)}."
    tx.workflow_runs.log(run_id, [(node, LogType.WARNING.value, text)], now)
    return run_id


def log_tool_calls(tx: Transaction, execution_id: str, calls: Sequence[Mapping[str, Any]], now: int) -> None:
    """Log the tool calls of an agent in the run for which the agent works, at the node that called the agent. `calls`
    have the format of the timeline."""
    execution = tx.executions.get(execution_id)
    found = _run_of(tx, execution) if execution is not None and execution.parent_wait is not None else None
    if found is None:
        return
    run_id, node = found
    lines = [
        line
        for each in calls
        for line in (
            (node, LogType.TOOL_CALL.value, json.dumps({"tool": each["tool"], "arguments": each["arguments"]})),
            (node, LogType.TOOL_RESULT.value, f"{'failed: ' if each['failed'] else ''}{each['output']}"),
        )
    ]
    tx.workflow_runs.log(run_id, lines, now)


def run_of(tx: Transaction, execution_id: str) -> str | None:
    """Return the id of the nearest run for which this execution works; None if it works for no run. If the execution is
    itself a run, return its own id."""
    execution = tx.executions.get(execution_id)
    found = _run_of(tx, execution) if execution is not None else None
    return found[0] if found is not None else None


def _run_of(tx: Transaction, execution: Execution) -> tuple[str, str] | None:
    """Return the id of the run that `run_of` describes, and the id of the run's node that waits for this execution. If
    no node waits, `SYSTEM` is returned instead."""
    node = SYSTEM
    while not is_workflow(execution):
        wait = tx.waits.get(execution.parent_wait) if execution.parent_wait is not None else None
        above = tx.executions.get(wait.execution_id) if wait is not None else None
        if wait is None or above is None:
            return None
        places = {cursor.id: cursor.node for cursor in tx.executions.cursors(above.id)} if is_workflow(above) else {}
        node = places.get(wait.cursor_id, "").removeprefix(POSITION) or SYSTEM
        execution = above
    return execution.id, node
