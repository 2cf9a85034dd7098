"""`agent`: an agent works on the task, as a child of the run (seed 002; its steps are those of 2.7).

A preparatory question, the task, a review of the result and its judgement are separate children, so none of them is
repeated if the process is killed in between. If the result is judged insufficient, the task is tried once more; after
that the run continues with a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.executions import Answer, Execution
from arvis.domain.taint import Taint, taint_in
from arvis.domain.workflows import OUTPUT, LogType, as_text
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Call, Decision, Node
from arvis.graphs.agent.subagents import DELEGATES, words_of
from arvis.ports.store import Transaction
from arvis.tasks.state import WorkStatus, child_end, files_of, with_files
from arvis.tasks.task import TaskSpec, child_state
from arvis.workflows.runtime import node_state, replies, templates
from arvis.workflows.runtime.log import Line, line, write
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.subagents import DEFAULT_PROMPT, MOST_ROUNDS, subagents_of
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import (
    fail_branch,
    fill,
    graph_of,
    is_chosen,
    succeed,
    taint_of,
    token_of,
    tools_of,
    worker,
)
from arvis.workflows.validation.routing import SEARCH

BEFORE, TASK, AFTER, JUDGE = "before", "task", "after", "judge"
#: Maximum tries of a task.
_MOST_TRIES = 2
#: Key of a run's state: missing capabilities of nodes for which a warning was written.
_WARNED = "lacking_told"
#: The task where there is neither a prompt nor a previous output.
_NO_TASK = "Begin."


def make(spec: NodeSpec, parts: NodeParts) -> Node:
    return _Agent(spec, parts).visit


@dataclass(frozen=True, slots=True)
class _Ended:
    """A step that has ended: its text or its error, and the taint and files of its children."""

    text: str
    error: str | None
    blocked: bool
    taint: Taint
    files: Mapping[str, Any] = field(default_factory=dict)


class _Agent:
    def __init__(self, spec: NodeSpec, parts: NodeParts) -> None:
        self._spec = spec
        self._data = spec.data
        self._store = parts.store

    async def visit(self, context: NodeContext) -> Decision:
        token = token_of(context)
        kept = node_state.kept(context)
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
                **node_state.ended(context),
                **ended.files,
            )
        write(context, [line(self._spec.id, LogType.LLM_RESPONSE, ended.text)])
        if ended.blocked:
            return self._succeed(context, token, ended, ended.text)
        return await self._after(context, token, kept, ended)

    # -- the steps -----------------------------------------------------------------------------------------

    async def _begin(self, context: NodeContext, token: Token) -> Decision:
        task = _task(self._data, context, token)
        first = {"task": task, "tries": 1, "history": []}
        if (before := self._text("beforePrompt", context, token)) and before.strip():
            return await self._call(context, token, BEFORE, before, {**first, "before": before})
        return await self._call(context, token, TASK, task, first)

    async def _after(self, context: NodeContext, token: Token, kept: Mapping[str, Any], ended: _Ended) -> Decision:
        """Continue after a step that succeeded."""
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
            again = f"{kept['task']}\n\n[Your last answer fell short: {verdict[1] or 'it does not meet the criteria'}]\n{kept['result']}"
            return await self._call(context, token, TASK, again, {**kept, "tries": kept["tries"] + 1}, ended=ended)
        if verdict is not None and verdict[0]:
            return self._succeed(context, token, ended, kept["result"])
        why = "the answer was neither APPROVED nor RETRY" if verdict is None else verdict[1]
        warning = line(self._spec.id, LogType.WARNING, f"The run continues with this result:  {why}")
        return self._succeed(context, token, ended, kept["result"], warning)

    def _succeed(self, context: NodeContext, token: Token, ended: _Ended, text: str, *log: Line) -> Decision:
        wanted = self._data.get("completionContract") and not ended.blocked
        output = replies.handed_back(text).to_json() if wanted else text
        changes = {**node_state.ended(context), **ended.files}
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
        known = templates.known_in(context.state, token)
        agent, subagents = await self._store.read(_team, context.execution, self._spec, known)
        if phase == JUDGE:
            subagents = []
        taint = taint_of(context.state) | (ended.taint if ended is not None else frozenset())
        errand = TaskSpec(
            prompt=prompt,
            instructions=self._instructions(phase, templates.as_data(known, tainted=bool(taint))),
            completion="implicit" if phase == JUDGE else None,
            history=() if phase == JUDGE else [*kept["history"], *(kept["talk"] if phase == AFTER else ())],
            tools=() if phase == JUDGE else tools_of(agent, self._data, context.state),
            taint=taint,
            model=str(self._data.get("model") or "") or None,
            rounds=MOST_ROUNDS,
            subagents=subagents,
            within={"run": context.execution.id, "call": None, "depth": 0} if subagents else None,
            plain=phase == JUDGE or not is_chosen(self._data, self._spec.document),
        )
        write(context, [line(self._spec.id, LogType.START_PROMPT, prompt)])
        now = {**kept, "phase": phase, "asked": prompt, "agent": agent.name}
        changes = {
            **node_state.keeping(context, now),
            **self._warned(context, agent),
            **({DELEGATES: True} if subagents else {}),
        }
        state = child_state(context.state, errand, agent_id=agent.id)
        return Call(graph_of(agent, delegates=bool(subagents)), state, **changes, **(ended.files if ended else {}))

    def _instructions(self, phase: str, known: templates.Known) -> str:
        if phase == JUDGE:
            return ""
        own = templates.fill(str(self._data.get("systemPrompt") or "").strip() or DEFAULT_PROMPT, known)
        last = AFTER if str(self._data.get("afterPrompt") or "").strip() else TASK
        return f"{own}\n\n{replies.CONTRACT}" if self._data.get("completionContract") and phase == last else own

    def _warned(self, context: NodeContext, agent: Agent) -> dict[str, Any]:
        """Warn, once in a run, about capabilities that nodes need and do not get."""
        warned: Mapping[str, Any] = context.state.get(_WARNED) or {}
        fresh = {name: text for name, text in self._lacking(agent) if name not in warned}
        write(context, [line(self._spec.id, LogType.WARNING, text) for text in fresh.values()])
        return {_WARNED: {**warned, **dict.fromkeys(fresh, True)}} if fresh else {}

    def _lacking(self, agent: Agent) -> Iterator[tuple[str, str]]:
        """Return the capabilities that this node lacks, each with a sentence."""
        if effort := self._data.get("reasoningEffort"):
            yield "effort", f"The reasoning effort “{effort}” is not passed on to the model."
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
        return fill(str(self._data.get(name) or ""), context, token)


def _task(data: Mapping[str, Any], context: NodeContext, token: Token) -> str:
    """Return the node's prompt with its templates replaced, else the previous output. An approval is no task: then it
    is the newest text before it (seed 002)."""
    output = token.output
    if is_approval(output):
        output = newest_text(context.state)
    prompt = str(data.get("userPrompt") or "")
    if prompt.strip():
        return templates.fill(prompt, templates.known_in(context.state, token.on(token.source, output)))
    text = as_text(output)
    return text if text.strip() else _NO_TASK


def is_approval(output: Any) -> bool:
    """Return whether this is the output of an approval."""
    return isinstance(output, Mapping) and {"decision", "note", "by", "at"} <= output.keys()


def newest_text(state: Mapping[str, Any]) -> str:
    """Return the newest text; of two with the same time, the one that was kept later."""
    kept = [each for name, each in state.items() if name.startswith(OUTPUT) and isinstance(each.get("output"), str)]
    newest = max(enumerate(kept), key=lambda each: (each[1].get("at") or 0, each[0]), default=None)
    return newest[1]["output"] if newest is not None else ""


def _team(
    tx: Transaction, execution: Execution, spec: NodeSpec, known: templates.Known
) -> tuple[Agent, list[dict[str, Any]]]:
    return worker(tx, execution, spec.data), subagents_of(tx, execution, spec.document, spec.id, known)


def _brought(tx: Transaction, execution: Execution) -> tuple[Taint, dict[str, Any]]:
    """Return the taint of the children, and the files that they made."""
    states = [child.state for child in tx.executions.children_of(execution.id)]
    return taint_in(*states), with_files(execution.state, [file for state in states for file in files_of(state)])
