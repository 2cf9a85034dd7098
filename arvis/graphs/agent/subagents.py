"""Subagents: agents that another agent can call as tools. A call of a subagent runs as a child execution.

The task in the caller's state lists the subagents, so a paused execution continues with the same list. The result of a
child is stored like the output of any tool. If the child fails, the call fails. The log of the workflow run gets one
line for the start and one for the end of every call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ToolError
from arvis.domain.events import RunAdvanced
from arvis.domain.executions import Answer, Execution
from arvis.domain.taint import Taint, taint_in
from arvis.domain.text import storable
from arvis.domain.tools import Permit, Risk, ToolCall, ToolOutput, ToolSpec
from arvis.domain.workflows import LogType
from arvis.engine.graph import Call, NodeContext
from arvis.engine.state import changes
from arvis.graphs.agent.tool_calls import Planned, storable_output
from arvis.ports.store import Store, Transaction
from arvis.ports.tool import Caller, Tool
from arvis.tasks.rounds import effect_name
from arvis.tasks.state import AgentState, TaskSpec, WorkOutcome, WorkState, WorkStatus, child_end, with_files
from arvis.tasks.task import GRAPH, child_state
from arvis.tools.registry import Offer

#: A key in the state of a workflow run. It marks a run with subagents, whose log may contain calls without an end.
DELEGATES = "delegates"
#: The placeholder for the task in a subagent's prompt.
TASK = "{{PREVIOUS_OUTPUT}}"
#: The maximum depth of nested calls of subagents; deeper calls are refused.
DEEPEST = 16
#: A subagent's prompt may contain the task several times. This is the maximum length of all its copies together, in
#: characters.
_LONGEST_WORDS = 524_288
#: The maximum length of the message in a log line, in characters.
_NOTED = 2_000

_PARAMETERS = {
    "type": "object",
    "properties": {
        "task": {"type": "string", "description": "Everything that the subagent needs to know: it sees nothing else"}
    },
    "required": ["task"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Subagent:
    """An agent that another agent can call as a tool."""

    #: The name by which the model calls the subagent.
    tool: str
    description: str
    #: The name of the subagent for people.
    label: str
    #: In the workflow: the id of the subagent's node, and the id of the caller's node.
    node: str
    parent: str
    #: The id of the agent.
    agent: str
    #: The prompt of the subagent. The task replaces the placeholder `TASK`. Without a placeholder, the task follows the
    #: prompt.
    prompt: str = ""
    graph: str = GRAPH
    #: Further fields of the subagent's `TaskSpec`, such as its own subagents.
    task_spec: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def words(self, task: str) -> str:
        """Return the prompt with the task. If the prompt has several placeholders, a long task replaces only as many of
        them as `_LONGEST_WORDS` allows."""
        if TASK in self.prompt:
            return self.prompt.replace(TASK, task, max(_LONGEST_WORDS // max(len(task), 1), 1))
        return "\n\n".join(filter(None, [self.prompt.strip(), task]))


class SubagentTool:
    """The `Tool` that offers a subagent to the model. It is never called: the node starts the child execution
    (`begin`)."""

    risk = Risk.READ
    repeatable = True
    sensitive = False

    def __init__(self, *, subagent: Subagent) -> None:
        self.subagent = subagent
        self.spec = ToolSpec(subagent.tool, subagent.description, _PARAMETERS)

    def check(self, arguments: Mapping[str, Any]) -> None:
        if set(arguments) != {"task"} or not isinstance(arguments["task"], str) or not arguments["task"].strip():
            raise ToolError("The arguments are not valid. Give only `task`, a non-empty string.")

    async def call(self, arguments: Mapping[str, Any], caller: Caller) -> str:
        del arguments, caller
        raise ToolError("The subagent was not started.")


def subagents_of(state: Mapping[str, Any]) -> list[Subagent]:
    task = WorkState.from_json(state).run
    return [Subagent(**each) for each in task.subagents] if task is not None else []


def specs_of(state: Mapping[str, Any]) -> tuple[ToolSpec, ...]:
    """Return the tool specifications of the subagents for the model."""
    return tuple(SubagentTool(subagent=each).spec for each in subagents_of(state))


def joined(offer: Offer, state: Mapping[str, Any]) -> Offer:
    """Return the offered tools, with the subagents of this execution added. A subagent replaces another tool of the
    same name."""
    more: dict[str, Tool] = {each.tool: SubagentTool(subagent=each) for each in subagents_of(state)}
    return Offer({**offer.tools, **more}) if more else offer


def free(tool: Tool, permit: Permit) -> Permit:
    """Return the permit of a tool. Calls of subagents need no approval, because each tool call that a subagent makes is
    judged separately."""
    return Permit.ALWAYS if isinstance(tool, SubagentTool) else permit


# -- the calls of a round ------------------------------------------------------------------------------------------------


def keep_output(context: NodeContext, state: AgentState, calls: Sequence[ToolCall]) -> None:
    """Store the result of the child that has just ended as the output of its call."""
    calling = state.calling
    if context.answer is None or calling is None:
        return
    call = calls[calling["call"]]
    name = effect_name(calling["call"], call)
    if context.known(name) is not None:
        return
    output = _output_of(call, context.answer)
    # The output and its log line must be stored in the same commit. `once` could store the output earlier, so `take` is
    # used.
    context.take(name, output.to_json())
    context.commit_first()
    kind = LogType.SUBAGENT_ERROR if output.failed else LogType.SUBAGENT_END
    _note(context, kind, calling["event"], output.content)


def begin(context: NodeContext, planned: Sequence[Planned], number: int, more: Mapping[str, Any]) -> Call | None:
    """Return the decision to call the next subagent of round `number`, or None if all of them have ended. `more` are
    further changes of the caller's state."""
    for index, each in enumerate(planned):
        if isinstance(each.tool, SubagentTool) and context.known(effect_name(index, each.call)) is None:
            event = _event(context, each.tool.subagent, f"{context.execution.id}-{number}-{index + 1}")
            _note(context, LogType.SUBAGENT_START, event, str(each.arguments["task"]))
            calling = {"call": index, "event": event}
            state = _state_of_child(context, each.tool.subagent, str(each.arguments["task"]), event)
            return Call(each.tool.subagent.graph, state, **more, **changes(AgentState, calling=calling))
    return None


def bounded(planned: Sequence[Planned], state: Mapping[str, Any]) -> list[Planned]:
    """Return the calls. Calls of subagents are refused if they would be nested deeper than `DEEPEST`."""
    if _within(state).get("depth", 0) < DEEPEST:
        return list(planned)
    return [
        each.refused("Too many agents are waiting for one another. Do the task yourself.")
        if isinstance(each.tool, SubagentTool)
        else each
        for each in planned
    ]


async def collect(context: NodeContext, store: Store) -> tuple[Taint, dict[str, Any]]:
    """Return the taint of the child executions, and the change of the state that adds their files."""
    if not subagents_of(context.state):
        return frozenset(), {}
    return await store.read(_collect, context.execution)


def _collect(tx: Transaction, execution: Execution) -> tuple[Taint, dict[str, Any]]:
    states = [child.state for child in tx.executions.children_of(execution.id)]
    return taint_in(*states), with_files(
        execution.state, [file for state in states for file in WorkState.from_json(state).files]
    )


def _state_of_child(context: NodeContext, subagent: Subagent, task: str, event: Mapping[str, Any]) -> dict[str, Any]:
    within = _within(context.state)
    below = {"run": within.get("run", ""), "call": event["callId"], "depth": event["depth"]}
    spec = TaskSpec(prompt=subagent.words(task), within=below, **subagent.task_spec)
    return child_state(context.state, spec, agent_id=subagent.agent)


def _output_of(call: ToolCall, answer: Answer) -> ToolOutput:
    ended = child_end(answer)
    if ended.outcome is None:
        return ToolOutput(call.id, storable_output(f"Error: {ended.error}"), failed=True)
    text = storable_output(words_of(ended.outcome))
    return ToolOutput(call.id, text or "Error: it gave no answer.", failed=not text)


def words_of(outcome: WorkOutcome) -> str:
    """Return the text of an agent's outcome for the agent's caller. For a blocked agent, the text is the reason and the
    requirements."""
    if outcome.status is WorkStatus.BLOCKED:
        return f"[BLOCKED] {outcome.reason} | Requirements: {outcome.requirements or 'none'}"
    return outcome.visible or outcome.summary


# -- log of the run -----------------------------------------------------------------------------------------------------


def _within(state: Mapping[str, Any]) -> Mapping[str, Any]:
    task = WorkState.from_json(state).run
    return (task.within if task is not None else None) or {}


def _event(context: NodeContext, subagent: Subagent, call_id: str) -> dict[str, Any]:
    """Return the fields of a log line about a call, except for the type and the message."""
    within = _within(context.state)
    return {
        "parentNodeId": subagent.parent,
        "subagentNodeId": subagent.node,
        "subagentName": subagent.label,
        "callId": call_id,
        "parentCallId": within.get("call"),
        "depth": within.get("depth", 0) + 1,
    }


def _note(context: NodeContext, kind: LogType, event: Mapping[str, Any], message: str) -> None:
    if run_id := _within(context.state).get("run"):
        context.record_of_step(_log, run_id, [_line(kind, event, message)], context.now())
        context.publish_after_commit(RunAdvanced(run_id))


def _line(kind: LogType, event: Mapping[str, Any], message: str) -> tuple[str, str, str]:
    content = {"type": kind.value, **event, "message": storable(message)[:_NOTED]}
    return event["parentNodeId"], kind.value, json.dumps(content, ensure_ascii=False)


def _log(tx: Transaction, run_id: str, lines: Sequence[tuple[str, str, str]], now: int) -> None:
    tx.workflow_runs.log(run_id, lines, now)


def close_calls(tx: Transaction, run_id: str, why: str, now: int) -> int:
    """Add an error line to the log of an ended run for each call that has no end in the log. Return the number of these
    lines."""
    open_: dict[str, Mapping[str, Any]] = {}
    number = 0
    while entries := tx.workflow_runs.entries(run_id, number, 500):
        number = entries[-1].number
        for entry in entries:
            if entry.type == LogType.SUBAGENT_START:
                event = json.loads(entry.content)
                open_[event["callId"]] = {key: value for key, value in event.items() if key not in {"type", "message"}}
            elif entry.type in {LogType.SUBAGENT_END, LogType.SUBAGENT_ERROR}:
                open_.pop(json.loads(entry.content)["callId"], None)
    lines = [_line(LogType.SUBAGENT_ERROR, event, why) for event in reversed(open_.values())]
    if lines:
        tx.workflow_runs.log(run_id, lines, now)
    return len(lines)
