"""The subagents of an agent node, as tools of its run (seed 002): a tree, in which a subagent can have its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.executions import Execution
from arvis.domain.tools import wire_name
from arvis.graphs.agent.subagents import DEEPEST, Subagent
from arvis.graphs.context import narrowed
from arvis.ports.store import Transaction
from arvis.tasks.task import TaskSpec
from arvis.turns.workflow_results import taint_of
from arvis.workflows.document.kinds import SUBAGENT
from arvis.workflows.document.view import label_of
from arvis.workflows.runtime.templates import PREVIOUS, Known, as_data, fill
from arvis.workflows.runtime.visit import graph_of, is_chosen, tools_of, worker

#: Maximum rounds of tool use of a subagent; seed 002's turns.
MOST_ROUNDS = 20
#: Instructions of a node that has none.
DEFAULT_PROMPT = "You do one step of a workflow. Answer only with the result of this step: the next step receives it."
_KEPT = ("instructions", "tools", "model", "rounds", "subagents", "plain")
_LONGEST_PROMPT = 280
_MOST_NAMED = 4
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_]")
#: In the description of a subagent, the placeholder for the task that it will receive.
_TASK = "(the task)"


def subagents_of(
    tx: Transaction, execution: Execution, document: Mapping[str, Any], node_id: str, known: Known
) -> list[dict[str, Any]]:
    """Return the subagents of this node, for its `TaskSpec`. Raises `ExecutionError` if one may not be used."""
    return [each.to_json() for each in _Tree(tx, execution, document, known).below(node_id, 0)]


class _Tree:
    """Builds the tree of agents below one agent node."""

    def __init__(self, tx: Transaction, execution: Execution, document: Mapping[str, Any], known: Known) -> None:
        self._tx = tx
        self._execution = execution
        self._document = document
        self._nodes = {node["id"]: node for node in document["nodes"]}
        self._ways = [each for each in document["connections"] if each["sourceHandle"] == SUBAGENT]
        self._known = known
        self._quoted = as_data(self._value_after_task, tainted=bool(taint_of(execution.state)))

    def below(self, parent: str, depth: int) -> list[Subagent]:
        if depth >= DEEPEST or not (self._nodes[parent].get("data", {}).get("tools") or {}).get("subagents"):
            return []
        found = dict[str, Subagent]()
        for target in (each["target"] for each in self._ways if each["source"] == parent):
            name = _tool_name(self._nodes[target], taken=found)
            found[name] = self._subagent(parent, name, target, self.below(target, depth + 1))
        return [*found.values()]

    def _subagent(self, parent: str, name: str, target: str, below: Sequence[Subagent]) -> Subagent:
        node = self._nodes[target]
        data = node.get("data") or {}
        agent = worker(self._tx, self._execution, data)
        tools = tools_of(agent, data, self._execution.state)
        errand = TaskSpec(
            prompt="",
            instructions=fill(str(data.get("systemPrompt") or DEFAULT_PROMPT), self._quoted),
            tools=tools,
            model=data.get("model") or None,
            rounds=MOST_ROUNDS,
            plain=not is_chosen(data, self._document),
            subagents=[each.to_json() for each in below],
        ).to_json()
        prompt = fill(str(data.get("userPrompt") or ""), self._value_after_task)
        return Subagent(
            tool=name,
            description=_described(
                node, agent, tools, fill(str(data.get("userPrompt") or ""), self._value_before_task), below
            ),
            label=label_of(node),
            node=target,
            parent=parent,
            agent=agent.id,
            prompt=prompt,
            graph=graph_of(agent, delegates=bool(below)),
            errand={key: errand[key] for key in _KEPT if key in errand},
        )

    def _value_before_task(self, name: str) -> str | None:
        """Return the value of a name for the description, in which the task has no text yet."""
        return _TASK if name == PREVIOUS else self._quoted(name)

    def _value_after_task(self, name: str) -> str | None:
        """Return the value of a name; the task is unknown until it is given."""
        return None if name == PREVIOUS else self._known(name)


def _tool_name(node: Mapping[str, Any], taken: Mapping[str, Subagent]) -> str:
    name = _NOT_IN_NAMES.sub("_", f"subagent_{label_of(node)}_{node['id']}".lower())
    return next(
        each
        for each in (wire_name(f"{name}{end}") for end in ("", *map("_{}".format, range(2, 999))))
        if each not in taken
    )


def _described(
    node: Mapping[str, Any], agent: Agent, tools: Sequence[str] | None, prompt: str, below: Sequence[Subagent]
) -> str:
    """Return the description that the model reads."""
    data = node.get("data") or {}
    words = " ".join((prompt or str(data.get("systemPrompt") or "") or agent.description).split())
    if len(words) > _LONGEST_PROMPT:
        words = f"{words[:_LONGEST_PROMPT]}…"
    lines = [f"Ask the agent {label_of(node)} and return its answer.", words and f"Its purpose: {words}"]
    own = agent.tools if tools is None else narrowed(agent.tools, tools)
    lines.append(f"Its tools: {_named(own)}." if own else "")
    lines.append(f"It can itself ask: {_named([each.label for each in below])}." if below else "")
    return "\n".join(filter(None, lines))


def _named(names: Sequence[str]) -> str:
    more = [f"+{len(names) - _MOST_NAMED}"] if len(names) > _MOST_NAMED else []
    return ", ".join([*names[:_MOST_NAMED], *more])
