"""Starts of workflow runs as rows. `arvis/workflows/` interprets documents; this module reads them only for the start
node and the agent.

A run is the execution of its workflow's graph, pinned to a version. It is started by the API, `/run`, a schedule, a
web hook or an agent, or it is the turn of a message, or the child of another run. Its end is in
`workflow_results.py`. Parts of scripts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from arvis.domain.agents import CONDUCTOR, Agent
from arvis.domain.errors import NotFound, Unavailable, Unprocessable
from arvis.domain.executions import Execution
from arvis.domain.jobs import JobKind, NewJob, Priority
from arvis.domain.messages import Address
from arvis.domain.taint import CLEAN, Taint
from arvis.domain.workflows import PREFIX, STATE, SYSTEM, LogType, Workflow, WorkflowRun, WorkflowVersion, as_text
from arvis.engine import lifecycle
from arvis.messaging.channels import WEB
from arvis.ports.store import Transaction
from arvis.services import agents
from arvis.tasks.access import (
    AUTHORS,
    Asker,
    check_use,
    may_reach,
    out_of_reach,
    refusal,
    standing_in,
    taint_of_authors,
    with_authors,
)
from arvis.tasks.task import RUN, TaskSpec, child_state, source_of

#: The most characters of the trigger in the log of a run.
_NOTED = 4_000
_BEGINS = ("start", "trigger")


@dataclass(frozen=True, slots=True)
class NewWorkflowRun:
    """A run to start."""

    workflow: Workflow
    agent: Agent
    address: Address
    #: The cause of the run (`WorkflowRun`).
    source: str
    #: The first input, any JSON; None: that of the start node.
    input: Any = None
    #: The text of the cause.
    trigger: str = ""
    principal_id: str | None = None
    #: None: the newest that can run.
    version: int | None = None
    #: None: the start, or the first trigger of `trigger_kind`.
    entry: str | None = None
    trigger_kind: str = ""
    taint: Taint = CLEAN
    priority: int = Priority.MESSAGE
    kind: JobKind = JobKind.ADVANCE
    #: None: a lane of its own.
    lane: str | None = None
    rerun_of: str | None = None
    #: The same request starts no second run.
    request: str | None = None
    #: The input of `entry`, if that is inside the workflow.
    carried: Mapping[str, Any] | None = None
    #: Further parts of its state.
    more: Mapping[str, Any] = field(default_factory=dict)


# -- what there is -----------------------------------------------------------------------------------------


def find(tx: Transaction, name: str) -> Workflow:
    """The workflow of this id or slug, also with the prefix of its graph."""
    named = name.removeprefix(PREFIX).strip()
    workflow = tx.workflows.get(named) or tx.workflows.by_slug(named)
    if workflow is None or workflow.removed_at is not None:
        raise NotFound(
            f"There is no workflow {named[:64]!r}.",
            fix="Look it up in the list of workflows (`arvis workflows list`, GET /api/workflows).",
            code="unknown_workflow",
        )
    return workflow


def graph_of(tx: Transaction, name: str) -> str:
    """Return the stored name of a workflow in schedules, web hooks and agents: its slug after the prefix. Raise
    `Unprocessable` if it does not exist, or the name is that of another graph."""
    if not name.startswith(PREFIX):
        raise Unprocessable(f"`graph` names {name[:60]!r}, which is not a workflow.", fix=f"Write {PREFIX}SLUG.")
    try:
        return f"{PREFIX}{find(tx, name).slug}"
    except NotFound as unknown:
        raise Unprocessable(f"`graph` names {name[:60]!r}. {unknown.what}", fix=unknown.fix) from None


def whole_version(tx: Transaction, workflow: Workflow, version: int | None = None) -> WorkflowVersion:
    """Return this version (None: the newest that can run). Raise `Unprocessable` for one that cannot, and for a
    deleted workflow."""
    if workflow.removed_at is not None:
        raise Unprocessable(f"The workflow {workflow.slug} was removed.", fix="Restore it, or begin another.")
    wanted = version if version is not None else workflow.runnable
    if wanted is None:
        raise Unprocessable(
            f"The workflow {workflow.slug} has no version that can run.",
            why="Each of its versions has problems.",
            fix=f"`arvis workflows show {workflow.slug}` lists them; fix them and save it.",
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
    """The node at which a run begins: the trigger of this kind, else the start, else the first trigger; empty where there is
    none."""
    begins = [node for node in document.get("nodes", ()) if node.get("type") in _BEGINS]
    fitting = [node for node in begins if trigger_kind and node.get("data", {}).get("kind") == trigger_kind]
    starts = [node for node in begins if node["type"] == "start"]
    return next((str(node["id"]) for node in (*fitting, *starts, *begins)), "")


def agent_of(tx: Transaction, version: WorkflowVersion, asker: Asker, otherwise: str | None = None) -> Agent:
    """Return the agent of the run: the agent that its document names, else `otherwise` (an id or a slug), else the
    conductor, else the first active one. A named agent must be usable by everybody who has a say (`Unprocessable`);
    of the others the first usable one is taken."""
    asker = replace(asker, standing=with_authors(asker.standing, version.authors))
    named = str(version.document.get("settings", {}).get("agent") or "")
    for name in filter(None, (named, otherwise)):
        if (agent := agents.find(tx, name)) is not None and agent.active:
            check_use(tx, agent, asker)
            return agent
    active = [agent for agent in tx.agents.all() if agent.active]
    if not active:
        raise Unavailable("There is no active agent that could do it.", fix="Resume one: `arvis agents list`.")
    active.sort(key=lambda agent: agent.slug != CONDUCTOR)
    chosen = next((agent for agent in active if refusal(tx, agent, asker) is None), None)
    if chosen is None:
        raise out_of_reach(active[0], "It names no agent, and of those that are active none may be used for it.")
    return chosen


def agent_for(tx: Transaction, version: WorkflowVersion, asker: Asker) -> Agent:
    """Return the agent of a run that somebody started in a conversation with `asker.agent`, which does the parts that
    name no agent. Raise `Unprocessable` if the named agent cannot be used from there: a workflow grants no rights."""
    asker = replace(asker, standing=with_authors(asker.standing, version.authors))
    agent = agent_of(tx, version, asker, asker.agent.id if asker.agent is not None else None)
    own = asker.agent is not None and agent.id == asker.agent.id
    if not own and not may_reach(tx, agent, asker):
        raise out_of_reach(agent, "The person for whom the run would work may not reach it from here.")
    return agent


def asker_for(tx: Transaction, principal_id: str | None, address: Address, state: Mapping[str, Any]) -> Asker:
    """Return the asker of a run with these further parts of its state."""
    person = tx.principals.get(principal_id) if principal_id is not None else None
    return Asker(person, standing_in(state), address, None)


def place_of(workflow: Workflow) -> Address:
    """Return the place of runs that were not started in a chat."""
    return Address(WEB, WEB, f"workflow-{workflow.slug}")


# -- the beginning -----------------------------------------------------------------------------------------


def begin(tx: Transaction, wanted: NewWorkflowRun, now: int) -> Execution:
    """Write its execution, job, row and the first line of its log. Raise the errors of `whole_version`."""
    begun = begin_keyed(tx, wanted, now, key=None)
    if begun is None:
        raise AssertionError("nothing else can hold a run without a key")
    return begun


def begin_keyed(
    tx: Transaction, wanted: NewWorkflowRun, now: int, *, key: str | None, live: bool = True
) -> Execution | None:
    """The same; None, and nothing was written, while a job with this `key` waits or runs (`live` False: if there ever was
    one). Raises `Unprocessable`, too, where one of those who have a say in it may not use its agent."""
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
    errand = TaskSpec(wanted.trigger or as_text(wanted.input), taint=wanted.taint)
    state = {
        "agent": wanted.agent.id,
        "address": wanted.address.to_json(),
        "conversation": conversation.id,
        "taint": sorted(wanted.taint),
        RUN: {**errand.to_json(), "source": wanted.source},
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
    """Return the run with the authors of the version, and the taint of their text."""
    return replace(
        wanted,
        taint=wanted.taint | taint_of_authors(tx, wanted.principal_id, version.authors),
        more=with_authors(wanted.more, version.authors),
    )


def turn_part(
    workflow: Workflow, version: WorkflowVersion, text: str, *, trigger_kind: str = "", entry: str | None = None
) -> dict[str, Any]:
    """Return the part of the state that makes a turn's execution a run of this workflow; its input is the message."""
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
    """Return the state of a run that another run calls as its child, for `Call(graph, …)`: it works in the same
    place, for the same person. Its first step writes its row (`note_begun`), because the id of its execution is
    unknown before."""
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
    """Write its row and the first line of its log, unless they exist. The first step of every workflow calls this."""
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
    said = " ".join(str(part["trigger"]).split())
    tx.workflow_runs.log(execution.id, [(SYSTEM, LogType.START_PROMPT, said[:_NOTED])], now)


def source_for(execution: Execution, parent: str | None = None) -> str:
    """Return the source of this execution for `note_begun`: the source in its state, the run that called it
    (`parent`), or a message."""
    return source_of(execution) or (f"{PREFIX}{parent}" if parent else "message")


# -- what it is --------------------------------------------------------------------------------------------


def is_workflow(execution: Execution) -> bool:
    """Return whether this execution is a workflow run."""
    return STATE in execution.state and execution.graph.startswith(PREFIX)


def _part(wanted: NewWorkflowRun, version: WorkflowVersion) -> dict[str, Any]:
    entry = wanted.entry or entry_of(version.document, wanted.trigger_kind)
    if not any(node.get("id") == entry for node in version.document.get("nodes", ())):
        raise Unprocessable(
            f"The workflow {wanted.workflow.slug} has no node {entry[:64]!r} in version {version.version}.",
            fix="Name a node of it, or leave it out for the start.",
            code="unknown_node",
        )
    carried = {"carried": dict(wanted.carried)} if wanted.carried is not None else {}
    return {
        "id": wanted.workflow.id,
        "version": version.version,
        "entry": entry,
        "trigger": wanted.trigger or as_text(wanted.input),
        "input": wanted.input,
        **carried,
    }
