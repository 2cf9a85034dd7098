"""The choice of the graph for a turn: the agent's own graph, which can be a workflow, or a workflow that the message
starts. Parts of transaction scripts. If no workflow has a trigger for messages, the choice needs only one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from arvis.domain.agents import Agent, graph_named
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import UsageError, sentences
from arvis.domain.messages import Address
from arvis.domain.taint import Taint
from arvis.domain.triggers import Trigger
from arvis.domain.workflows import PREFIX
from arvis.messaging.messages import WEB, is_of_programs
from arvis.ports.store import Transaction
from arvis.services.workflow_runs import find, turn_part, whole_version
from arvis.tasks.access import AUTHORS, authors_may_use, out_of_reach, taint_of_authors

#: The name of the graph in which a model chooses one of several workflows (`graphs/workflow_dispatch.py`), and the key
#: of its data in the state.
DISPATCH = "dispatch"
#: The maximum number of triggers of one kind that are compared with a message.
MOST_TRIGGERS = 500
#: The maximum number of workflows that are offered to the model.
_MOST_CHOICES = 20
_LONGEST_TEXT = 300


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen graph of a turn. `state` is added to the turn's state. If `alone` is True, no other message may join
    the turn, because the graph is a workflow, whose run has one input."""

    graph: str
    state: Mapping[str, Any] = field(default_factory=dict)
    alone: bool = False


def default_graph(tx: Transaction, agent: Agent, text: str) -> Selection:
    """Return the agent's own graph. If it is a workflow that cannot run, return the graph that reports the reason."""
    graph = graph_named(agent.graph)
    if not graph.startswith(PREFIX):
        return Selection(graph)
    try:
        workflow = find(tx, graph)
        version = whole_version(tx, workflow)
        if not authors_may_use(tx, agent, version.authors):
            raise out_of_reach(
                agent, f"The workflow {workflow.slug} was changed by a person who may not use this agent."
            )
    except UsageError as gone:
        return Selection(DISPATCH, {DISPATCH: {"missing": sentences(gone.what, gone.fix)}}, alone=True)
    return Selection(workflow.graph, turn_part(workflow, version, text, trigger_kind="message"), alone=True)


def select_graph(tx: Transaction, agent: Agent, text: str, address: Address, *, files: bool) -> Selection:
    """Return the graph for a message: the workflow whose trigger matches, or the agent's own graph if none matches. If
    several workflows match, return the graph in which a model chooses one of them. A message with files always gets the
    agent's own graph, which reads the files."""
    own = default_graph(tx, agent, text)
    if files:
        return own
    ways = _choices(tx, agent, matching(tx, address, text), text)
    match ways:
        case []:
            return own
        case [(way, _)]:
            return way
    choices = [{"graph": way.graph, "state": dict(way.state), **about} for way, about in ways[:_MOST_CHOICES]]
    otherwise = {"graph": own.graph, "state": dict(own.state)}
    return Selection(DISPATCH, {DISPATCH: {"text": text, "choices": choices, "otherwise": otherwise}}, alone=True)


def marked(tx: Transaction, state: Mapping[str, Any], principal_id: str | None, taint: Taint) -> Mapping[str, Any]:
    """Return the state of a selection. If the text that the workflow's authors wrote is tainted, the key `taint` of the
    state contains the labels of that text and of the turn (the argument `taint`). If a model will choose a workflow, do
    the same for the state of each choice."""
    if (known := state.get(DISPATCH)) is not None and "choices" in known:
        choices = [{**each, "state": marked(tx, each["state"], principal_id, taint)} for each in known["choices"]]
        otherwise = {**known["otherwise"], "state": marked(tx, known["otherwise"]["state"], principal_id, taint)}
        return {**state, DISPATCH: {**known, "choices": choices, "otherwise": otherwise}}
    theirs = taint_of_authors(tx, principal_id, state.get(AUTHORS, ()))
    return {**state, "taint": sorted(taint | theirs)} if theirs else state


def matching(tx: Transaction, address: Address, text: str | None) -> Sequence[Trigger]:
    """Return the triggers of enabled workflows for messages at this address, at most one for each workflow. A trigger
    with words matches only if `text` contains one of them. If `text` is None, the words are not compared."""
    kinds = ("message", _own_kind(address))
    found = [each for kind in kinds for each in tx.workflows.triggers(kind, MOST_TRIGGERS).matching(address, text)]
    by_workflow: dict[str, Trigger] = {}
    for trigger in sorted(found, key=lambda each: (each.workflow_id, each.node_id)):
        by_workflow.setdefault(trigger.workflow_id, trigger)
    return list(by_workflow.values())


def _own_kind(address: Address) -> str:
    """Return the kind of triggers that match messages from this source: the OpenAI-compatible API, the dashboard or a
    chat platform."""
    if is_of_programs(address):
        return "chat-completions"
    return "dashboard" if address.platform == WEB else "chat-app"


def _choices(
    tx: Transaction, agent: Agent, triggers: Sequence[Trigger], text: str
) -> list[tuple[Selection, dict[str, str]]]:
    """Return the workflows of these triggers, except those that cannot run and those whose authors may not use this
    agent. Each item is the selection of a workflow, with the name and description that a model reads to choose."""
    found = []
    for trigger in triggers:
        workflow = tx.workflows.get(trigger.workflow_id)
        if workflow is None or workflow.removed_at is not None or workflow.runnable is None or not workflow.enabled:
            continue
        version = tx.workflows.version(workflow.id, workflow.runnable)
        named = version.document.get("settings", {}).get("agent") if version is not None else None
        if version is None or version.problems or named not in {None, "", agent.id, agent.slug}:
            continue
        if not authors_may_use(tx, agent, version.authors):
            continue
        part = turn_part(workflow, version, text, entry=trigger.node_id)
        about = (trigger.description or workflow.description)[:_LONGEST_TEXT]
        found.append((Selection(workflow.graph, part, alone=True), {"name": workflow.name, "about": about}))
    return found
