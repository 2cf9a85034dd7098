"""`agent`: an agent works on the task, as a child of the run.

The preparatory question, the task, the final question and the judgement of the result are separate child executions, so
a finished one is not repeated after a crash. If the judge finds the result insufficient, the agent tries the task once
more; after that the run continues with a warning. The agent calls the node's subagents as tools. Subagents can also
have subagents.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass
from arvis.domain.executions import Answer, Execution
from arvis.domain.regex import regex
from arvis.domain.reply_format import ReplyFormat, json_text
from arvis.domain.taint import Taint, taint_in
from arvis.domain.tools import wire_name
from arvis.domain.workflows import OUTPUT, LogType
from arvis.engine.graph import Call, Decision, Node, NodeContext
from arvis.graphs.agent.subagents import DEEPEST, DELEGATES, Subagent, words_of
from arvis.graphs.context import narrowed
from arvis.ports.store import Transaction
from arvis.tasks.state import TaskSpec, WorkState, WorkStatus, child_end, with_files
from arvis.tasks.task import child_state
from arvis.workflows.document.kinds import SUBAGENT
from arvis.workflows.document.view import label_of
from arvis.workflows.runtime import replies, templates
from arvis.workflows.runtime.log import Line, line, write
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.texts import Texts
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import (
    drop_state,
    fail_branch,
    graph_of,
    is_chosen,
    keep_state,
    kept_state,
    succeed,
    taint_of,
    texts_of,
    token_of,
    tools_of,
    worker,
)
from arvis.workflows.validation.fields import SEARCH

BEFORE, TASK, AFTER, JUDGE = "before", "task", "after", "judge"
#: The maximum number of times that an agent tries a task.
_MOST_TRIES = 2
#: The key, in a run's state, of the missing capabilities about which the run has already written a warning.
WARNED = "missing_capabilities"
#: The task if there is neither a prompt nor a previous output.
_NO_TASK = "Begin."


def make_agent(spec: NodeSpec, parts: NodeParts) -> Node:
    return _Agent(spec, parts).visit


@dataclass(frozen=True, slots=True)
class _Ended:
    """The result of one child that ended, such as the child for the task or for the judgement."""

    text: str
    #: The error of the child; None if it succeeded or if the agent is blocked.
    error: str | None
    #: True: the agent could not do its work; `text` contains the reason.
    blocked: bool
    #: The taint of all children so far, and (in `files`) the change of the state that adds the children's files.
    taint: Taint
    files: Mapping[str, Any] = field(default_factory=dict)


class _Agent:
    def __init__(self, spec: NodeSpec, parts: NodeParts) -> None:
        self._spec = spec
        self._data = spec.data
        self._store = parts.store

    async def visit(self, context: NodeContext) -> Decision:
        token = token_of(context)
        kept = kept_state(context)
        if context.answer is None or not kept:
            return await self._begin(context, token)
        ended = await self._ended(context, context.answer, kept)
        if ended.error is not None:
            return fail_branch(
                context,
                self._spec,
                token,
                ended.error,
                kind=LogType.LLM_ERROR,
                **drop_state(context),
                **ended.files,
            )
        write(context, [line(self._spec.id, LogType.LLM_RESPONSE, ended.text)])
        if ended.blocked:
            return self._succeed(context, token, ended, ended.text)
        return await self._after(context, token, kept, ended)

    # -- the steps -----------------------------------------------------------------------------------------

    async def _begin(self, context: NodeContext, token: Token) -> Decision:
        task = self._task(context, token)
        first = {"task": task, "tries": 1, "history": []}
        if (before := self._text("beforePrompt", context, token)) and before.strip():
            return await self._call(context, token, BEFORE, before, {**first, "before": before})
        return await self._call(context, token, TASK, task, first)

    async def _after(self, context: NodeContext, token: Token, kept: Mapping[str, Any], ended: _Ended) -> Decision:
        """Continue after a child that succeeded: with the next child, or with the end of the visit."""
        match kept["phase"]:
            case _ if kept["phase"] == BEFORE:
                history = [["user", kept["before"]], ["assistant", ended.text]]
                return await self._call(context, token, TASK, kept["task"], {**kept, "history": history}, ended=ended)
            case _ if kept["phase"] == JUDGE:
                return await self._judged(context, token, kept, ended)
            case phase:
                after = self._text("afterPrompt", context, token)
                if phase == TASK and after.strip():
                    conversation = [["user", kept["asked"]], ["assistant", ended.text]]
                    return await self._call(context, token, AFTER, after, {**kept, "talk": conversation}, ended=ended)
                if self._text("successCriteria", context, token).strip():
                    return await self._judge(context, token, {**kept, "result": ended.text}, ended)
                return self._succeed(context, token, ended, ended.text)

    async def _judge(self, context: NodeContext, token: Token, kept: Mapping[str, Any], ended: _Ended) -> Decision:
        criteria = self._text("successCriteria", context, token)
        prompt = replies.JUDGE.format(criteria=criteria, result=kept["result"])
        return await self._call(context, token, JUDGE, prompt, kept, ended=ended)

    async def _judged(self, context: NodeContext, token: Token, kept: Mapping[str, Any], ended: _Ended) -> Decision:
        verdict = replies.verdict_in(ended.text)
        if verdict is not None and not verdict[0] and kept["tries"] < _MOST_TRIES:
            again = (
                f"{kept['task']}\n\n[Your last answer does not meet the criteria: "
                f"{verdict[1] or 'no reason was given'}]\n{kept['result']}"
            )
            return await self._call(context, token, TASK, again, {**kept, "tries": kept["tries"] + 1}, ended=ended)
        if verdict is not None and verdict[0]:
            return self._succeed(context, token, ended, kept["result"])
        why = "the answer was neither APPROVED nor RETRY" if verdict is None else verdict[1]
        warning = line(self._spec.id, LogType.WARNING, f"The run continues with this result: {why}")
        return self._succeed(context, token, ended, kept["result"], warning)

    def _succeed(self, context: NodeContext, token: Token, ended: _Ended, text: str, *log: Line) -> Decision:
        output: Any = text
        changes = {**drop_state(context), **ended.files}
        if not ended.blocked and self._schema is not None:
            if (problem := ReplyFormat(self._schema).problem(text)) is not None:
                error = f"The output does not have the format of the node: {problem}"
                return fail_branch(context, self._spec, token, error, kind=LogType.LLM_ERROR, **changes)
            output = json.loads(json_text(text))
        elif not ended.blocked and self._data.get("completionContract"):
            output = replies.handed_back(text).to_json()
        return succeed(context, self._spec, token, output, log=log, taint=ended.taint, **changes)

    # -- children ------------------------------------------------------------------------------------------

    async def _call(
        self,
        context: NodeContext,
        token: Token,
        phase: str,
        prompt: str,
        kept: Mapping[str, Any],
        *,
        ended: _Ended | None = None,
    ) -> Decision:
        texts = texts_of(self._spec, context, token)
        agent, subagents = await self._store.read(_team, context.execution, self._spec, texts)
        if phase == JUDGE:
            subagents = []
        wanted = self._format if phase == self._last_phase else None
        taint = taint_of(context.state) | (ended.taint if ended is not None else frozenset())
        task = TaskSpec(
            prompt=prompt,
            instructions=self._instructions(phase, texts, tainted=bool(taint)),
            completion="implicit" if phase == JUDGE or wanted is not None else None,
            history=() if phase == JUDGE else [*kept["history"], *(kept["talk"] if phase == AFTER else ())],
            tools=() if phase == JUDGE else tools_of(agent, self._data, context.state),
            taint=taint,
            model=str(self._data.get("model") or "") or None,
            effort=self._data.get("reasoningEffort") or None,
            format=wanted,
            rounds=MOST_ROUNDS,
            subagents=subagents,
            within={"run": context.execution.id, "call": None, "depth": 0} if subagents else None,
            plain=phase == JUDGE or not is_chosen(self._data, self._spec.document),
        )
        write(context, [line(self._spec.id, LogType.START_PROMPT, prompt)])
        now = {**kept, "phase": phase, "asked": prompt, "agent": agent.name}
        changes = {
            **keep_state(context, now),
            **self._warned(context, agent),
            **({DELEGATES: True} if subagents else {}),
        }
        state = child_state(context.state, task, agent_id=agent.id)
        return Call(graph_of(agent, delegates=bool(subagents)), state, **changes, **(ended.files if ended else {}))

    def _instructions(self, phase: str, texts: Texts, *, tainted: bool) -> str:
        if phase == JUDGE:
            return ""
        known = templates.as_data(texts.known, tainted=tainted)
        own = texts.filled(str(self._data.get("systemPrompt") or "").strip() or DEFAULT_PROMPT, known)
        handed_back = self._data.get("completionContract") and self._schema is None and phase == self._last_phase
        return f"{own}\n\n{replies.CONTRACT}" if handed_back else own

    @property
    def _last_phase(self) -> str:
        """The phase whose reply is the output."""
        return AFTER if str(self._data.get("afterPrompt") or "").strip() else TASK

    @property
    def _schema(self) -> Mapping[str, Any] | None:
        return self._data.get("outputSchema") or None

    @property
    def _format(self) -> Mapping[str, Any] | None:
        return None if self._schema is None else ReplyFormat(self._schema).to_json()

    def _warned(self, context: NodeContext, agent: Agent) -> dict[str, Any]:
        """Write a warning for each capability that the node lacks, but only once in a run. Return the change of the
        state that records the warnings."""
        warned: Mapping[str, Any] = context.state.get(WARNED) or {}
        fresh = {name: text for name, text in self._lacking(agent) if name not in warned}
        write(context, [line(self._spec.id, LogType.WARNING, text) for text in fresh.values()])
        return {WARNED: {**warned, **dict.fromkeys(fresh, True)}} if fresh else {}

    def _lacking(self, agent: Agent) -> Iterator[tuple[str, str]]:
        """Yield a key and a warning for each capability that the node asks for and does not get."""
        if (self._data.get("tools") or {}).get(SEARCH) is True and SEARCH not in agent.tools:
            text = f"{agent.name} should search the web, but has no tool for that: give the agent the tool {SEARCH}."
            yield f"{SEARCH}:{agent.id}", text

    async def _ended(self, context: NodeContext, answer: Answer, kept: Mapping[str, Any]) -> _Ended:
        taint, files = await self._store.read(_brought, context.execution)
        outcome = child_end(answer)
        if outcome.outcome is None:
            return _Ended("", outcome.error or "The agent failed.", blocked=False, taint=taint, files=files)
        text = words_of(outcome.outcome)
        blocked = outcome.outcome.status is WorkStatus.BLOCKED
        error = None if blocked else replies.error_in(text, kept["agent"])
        return _Ended(text, error, blocked=blocked, taint=taint, files=files)

    def _text(self, name: str, context: NodeContext, token: Token) -> str:
        return texts_of(self._spec, context, token).filled(str(self._data.get(name) or ""))

    def _task(self, context: NodeContext, token: Token) -> str:
        """Return the task: the node's prompt with its templates replaced, or the previous output if there is no prompt.
        If the previous output is an approval, the newest text output of the run takes its place."""
        source, output = token.source, token.output
        if is_approval(output):
            source, output = newest_text(context.state)
        prompt = str(self._data.get("userPrompt") or "").strip() and str(self._data["userPrompt"])
        text = texts_of(self._spec, context, token.on(source, output)).filled(prompt or f"{{{{{templates.PREVIOUS}}}}}")
        return text if prompt or text.strip() else _NO_TASK


def is_approval(output: Any) -> bool:
    """Return whether this is the output of an approval."""
    return isinstance(output, Mapping) and {"decision", "note", "by", "at"} <= output.keys()


def newest_text(state: Mapping[str, Any]) -> tuple[str, str]:
    """Return the newest text output of a node of the run, after the id of the node; two empty texts if there is none. If
    two outputs have the same time, return the output that was stored later."""
    kept = [
        (name.removeprefix(OUTPUT), each)
        for name, each in state.items()
        if name.startswith(OUTPUT) and isinstance(each.get("output"), str)
    ]
    newest = max(enumerate(kept), key=lambda each: (each[1][1].get("at") or 0, each[0]), default=None)
    return (newest[1][0], newest[1][1]["output"]) if newest is not None else ("", "")


def _team(tx: Transaction, execution: Execution, spec: NodeSpec, texts: Texts) -> tuple[Agent, list[dict[str, Any]]]:
    return worker(tx, execution, spec.data), subagents_of(tx, execution, spec.document, spec.id, texts)


def _brought(tx: Transaction, execution: Execution) -> tuple[Taint, dict[str, Any]]:
    """Return the taint of the children, and the change of the state that adds the files that the children made."""
    states = [child.state for child in tx.executions.children_of(execution.id)]
    return taint_in(*states), with_files(
        execution.state, [file for state in states for file in WorkState.from_json(state).files]
    )


# -- subagents ---------------------------------------------------------------------------------------------------------


#: The maximum number of rounds in which the agent of a node, or a subagent, uses tools.
MOST_ROUNDS = 20
#: The instructions of an agent whose node has no instructions.
DEFAULT_PROMPT = "You do one step of a workflow. Answer only with the result of this step: the next step receives it."
_KEPT = ("instructions", "tools", "model", "effort", "rounds", "subagents", "plain")
_LONGEST_PROMPT = 280
_MOST_NAMED = 4
_NOT_IN_NAMES = regex(r"[^a-z0-9_]")
#: The text that replaces the task in the description of a subagent, because the task is not known yet.
_TASK = "(the task)"


def subagents_of(
    tx: Transaction, execution: Execution, document: Mapping[str, Any], node_id: str, texts: Texts
) -> list[dict[str, Any]]:
    """Return the subagents of this node, for its `TaskSpec`. Raise `ExecutionError` if the run may not use one of
    them."""
    return [each.to_json() for each in _Tree(tx, execution, document, texts).below(node_id, 0)]


class _Tree:
    """The builder of the tree of agents below one agent node."""

    def __init__(self, tx: Transaction, execution: Execution, document: Mapping[str, Any], texts: Texts) -> None:
        self._tx = tx
        self._execution = execution
        self._document = document
        self._nodes = {node["id"]: node for node in document["nodes"]}
        self._ways = [each for each in document["connections"] if each["sourceHandle"] == SUBAGENT]
        self._texts = texts
        self._quoted = templates.as_data(self._value_after_task, tainted=bool(taint_of(execution.state)))

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
        task = TaskSpec(
            prompt="",
            instructions=self._texts.filled(str(data.get("systemPrompt") or DEFAULT_PROMPT), self._quoted),
            tools=tools,
            model=data.get("model") or None,
            effort=data.get("reasoningEffort") or None,
            rounds=MOST_ROUNDS,
            plain=not is_chosen(data, self._document),
            subagents=[each.to_json() for each in below],
        ).to_json()
        prompt = self._texts.filled(str(data.get("userPrompt") or ""), self._value_after_task)
        return Subagent(
            tool=name,
            description=_described(
                node,
                agent,
                tools,
                self._texts.filled(str(data.get("userPrompt") or ""), self._value_before_task),
                below,
            ),
            label=label_of(node),
            node=target,
            parent=parent,
            agent=agent.id,
            prompt=prompt,
            graph=graph_of(agent, delegates=bool(below)),
            task_spec={key: task[key] for key in _KEPT if key in task},
        )

    def _value_before_task(self, name: str) -> str | None:
        """Return the value that replaces a name in the description of a subagent. The task gets a placeholder, because
        it is not known yet."""
        return _TASK if name == templates.PREVIOUS else self._quoted(name)

    def _value_after_task(self, name: str) -> str | None:
        """Return the value that replaces a name in a template; None for the task, because the calling agent gives it
        later."""
        return None if name == templates.PREVIOUS else self._texts.known(name)


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
    """Return the description of a subagent, which the model of the calling agent reads."""
    data = node.get("data") or {}
    words = " ".join((prompt or str(data.get("systemPrompt") or "") or agent.description).split())
    if len(words) > _LONGEST_PROMPT:
        words = f"{words[:_LONGEST_PROMPT]}…"
    lines = [f"Ask the agent {label_of(node)} and return its answer.", words and f"Its purpose: {words}"]
    own = agent.tools if tools is None else narrowed(agent.tools, tools)
    lines.append(f"Its tools: {_named(own)}." if own else "")
    lines.append(f"It can ask these agents: {_named([each.label for each in below])}." if below else "")
    return "\n".join(filter(None, lines))


def _named(names: Sequence[str]) -> str:
    more = [f"+{len(names) - _MOST_NAMED}"] if len(names) > _MOST_NAMED else []
    return ", ".join([*names[:_MOST_NAMED], *more])
