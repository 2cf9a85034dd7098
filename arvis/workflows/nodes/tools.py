"""`tool-call`: one call of a tool of the node's agent. The workflow requests the call, not a model.

The call is judged, approved, executed once and recorded like any other call (`graphs/agent/tools.py`). Before that, the
agent may review the arguments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from arvis.approvals import fingerprint, question, verdict_of
from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass
from arvis.domain.executions import Execution, WaitKind
from arvis.domain.messages import Principal
from arvis.domain.outgoing import Known
from arvis.domain.taint import Label, Taint
from arvis.domain.tools import Need, Permit, Risk, ToolCall, wire_name
from arvis.domain.workflows import LogType, has_made
from arvis.engine.graph import Decision, Node, NodeContext, Pause
from arvis.graphs.agent import tool_calls
from arvis.graphs.agent.outgoing import Guard, day_of
from arvis.graphs.agent.tool_calls import CallRunner, Planned
from arvis.graphs.agent.tools import APPROVE, REJECT, TOO_LONG, ToolRules
from arvis.graphs.context import narrowed
from arvis.plugins import Plugins
from arvis.ports.store import Store, Transaction
from arvis.ports.tool import Caller, declaration_of
from arvis.services.credentials import hosts_of
from arvis.tasks.rounds import effect_name
from arvis.tasks.state import RUN, WorkState, with_files
from arvis.workflows.runtime.log import line, write
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.templates import data_of, fill_all, known_in
from arvis.workflows.runtime.texts import has_agents
from arvis.workflows.runtime.token import Token
from arvis.workflows.runtime.visit import (
    ask_model,
    drop_state,
    fail_branch,
    keep_state,
    kept_state,
    model_reply,
    succeed,
    taint_of,
    texts_of,
    token_of,
    worker,
)

_REVIEW, _ASK = "review", "ask"
_REVIEWED = """\
The tool {tool} is about to be called with these arguments:
{arguments}

{review}

Answer with the arguments for the call as one JSON object and nothing else, or with OK to keep the arguments above."""
_UNKEPT = "its outputs are secrets, which the state of a run must not contain"


@dataclass(frozen=True, slots=True)
class _Who:
    agent: Agent
    person: Principal | None


def make_tool_call(spec: NodeSpec, parts: NodeParts) -> Node:
    return _ToolCall(spec, parts.store, parts.rules, parts.plugins).visit


class _ToolCall:
    def __init__(self, spec: NodeSpec, store: Store, rules: ToolRules, plugins: Plugins) -> None:
        self._spec = spec
        self._store = store
        self._rules = rules
        self._plugins = plugins

    async def visit(self, context: NodeContext) -> Decision:
        token, kept = token_of(context), kept_state(context)
        review = texts_of(self._spec, context, token).filled(str(self._spec.data.get("review") or ""))
        if not kept:
            known = known_in(context.state, token)
            arguments = fill_all(self._spec.data.get("arguments") or {}, known)
            if not review.strip():
                return await self._use(context, token, {"arguments": arguments, "read": []}, None)
            shown = json.dumps(arguments, ensure_ascii=False, indent=1)
            prompt = _REVIEWED.format(tool=self._spec.data.get("tool"), arguments=shown, review=review)
            now = keep_state(context, {"phase": _REVIEW, "arguments": arguments, "read": []})
            return await ask_model(context, self._spec, prompt, store=self._store, **now)
        if kept["phase"] == _REVIEW:
            return await self._reviewed(context, token, kept)
        return await self._use(context, token, kept, self._verdict(context))

    async def _reviewed(self, context: NodeContext, token: Token, kept: Mapping[str, Any]) -> Decision:
        said = await model_reply(context, store=self._store)
        if said.error:
            error = f"The review failed: {said.error}"
            return fail_branch(context, self._spec, token, error, kind=LogType.LLM_ERROR, **drop_state(context))
        write(context, [line(self._spec.id, LogType.LLM_RESPONSE, said.text)])
        changed = data_of(_unfenced(said.text))
        if not isinstance(changed, dict):
            changed = kept["arguments"]
            if said.text.strip(" .!\n").casefold() not in {"ok", "okay"}:
                warning = "The review is not a JSON object, so the arguments stay unchanged."
                write(context, [line(self._spec.id, LogType.WARNING, warning)])
        return await self._use(context, token, {"arguments": changed, "read": sorted(said.taint)}, None)

    async def _guard(self, context: NodeContext, taint: Taint, agent: Agent) -> Guard:
        """Return the judge of the call. The texts of the workflow's author count as known."""
        written = json.dumps(dict(self._spec.data), ensure_ascii=False)
        hosts = await self._store.read(hosts_of, agent.credentials) if taint and agent.credentials else ()
        known = Known(written, hosts=hosts, today=day_of(context.now()))
        place = WorkState.from_json(context.state).address
        return Guard(rules=self._rules.outgoing, known=known, taint=taint, tools={}, place=place)

    async def _use(
        self, context: NodeContext, token: Token, kept: Mapping[str, Any], verdict: Mapping[str, Any] | None
    ) -> Decision:
        """Judge the call, ask a person if the policy requires it, and execute the call."""
        who = await self._store.read(_who, context.execution, self._spec)
        taint = taint_of(context.state) | frozenset(map(Label, kept["read"]))
        call = ToolCall(context.visit, wire_name(str(self._spec.data["tool"])), kept["arguments"])
        guard = await self._guard(context, taint, who.agent)
        (planned,) = guard.review(await self._plan(context, who.agent, call))
        if planned.tool is not None and planned.tool.sensitive:
            planned = planned.refused(f"The tool {planned.name} must not be used here: {_UNKEPT}.")
        if verdict is not None and kept.get("hash") == fingerprint(call, planned.name, tool_calls.change_in(planned)):
            planned = tool_calls.decided(planned, verdict)
        known = context.known(effect_name(0, call)) is not None
        asks = planned.permit is Permit.ASK and planned.tool is not None and not known
        if asks:
            planned = await tool_calls.explained(planned, self._caller(context, who, taint))
        if asks and planned.tool is not None:
            if (text := _question(planned, who)) is not None:
                return self._ask(
                    context, text, {**kept, "hash": fingerprint(call, planned.name, tool_calls.change_in(planned))}
                )
            planned = planned.refused(TOO_LONG)
        return await self._make(context, token, planned, who, guard)

    async def _plan(self, context: NodeContext, agent: Agent, call: ToolCall) -> list[Planned]:
        allowed = context.state.get(RUN, {}).get("tools")
        brought = [name for plugin in await self._plugins.find(agent.plugins) for name in await plugin.tools()]
        own = tuple(dict.fromkeys((*agent.tools, *brought)))
        offer = await self._rules.registry.offer(own if allowed is None else narrowed(own, allowed))
        return tool_calls.plan([call], [], offer, self._rules.permit)

    def _ask(self, context: NodeContext, text: str, kept: Mapping[str, Any]) -> Decision:
        write(context, [line(self._spec.id, LogType.WAIT_INPUT, text)])
        until = context.now() + self._rules.approval_ms
        changes = keep_state(context, {**kept, "phase": _ASK})
        return Pause(WaitKind.APPROVAL, text, until=until, choices=(APPROVE, REJECT), **changes)

    def _verdict(self, context: NodeContext) -> Mapping[str, Any] | None:
        if context.answer is None:
            return None
        verdict = verdict_of(context.answer, choices=(APPROVE, REJECT), on_expiry=self._rules.on_expiry)
        verdict["by"] = None if context.answer.expired else context.answer.by
        said = " ".join(
            filter(None, [verdict["decision"], f"by {context.answer.by}", verdict.get("note") or verdict.get("text")])
        )
        write(context, [line(self._spec.id, LogType.INPUT_RECEIVED, said)])
        return verdict

    async def _make(self, context: NodeContext, token: Token, planned: Planned, who: _Who, guard: Guard) -> Decision:
        taint = guard.taint
        runner = CallRunner(
            context=context,
            caller=self._caller(context, who, taint),
            seal=self._rules.secrets.seal,
            timeout=self._rules.seconds,
            objection_of=guard.for_script,
        )
        (output,) = await runner.run([planned])
        asked = [line(self._spec.id, LogType.TOOL_CALL, {"tool": planned.name, "arguments": dict(planned.arguments)})]
        if output.failed:
            return fail_branch(context, self._spec, token, output.content, log=asked, **drop_state(context))
        return succeed(
            context,
            self._spec,
            token,
            output.content,
            log=[*asked, line(self._spec.id, LogType.TOOL_RESULT, output.content)],
            taint=planned.output_taint | taint,
            made=self._is_made(context, planned),
            **drop_state(context),
            **with_files(context.state, output.files),
        )

    def _is_made(self, context: NodeContext, planned: Planned) -> bool:
        """Return True if a script may have made addresses in the output: the tool runs one, or it works on this machine
        after one."""
        declared = declaration_of(planned.tool) if planned.tool is not None else None
        if declared is None or declared.risk is Risk.EXEC:
            return True
        is_after_script = has_made(context.state) or has_agents(context.state, self._spec.document)
        return is_after_script and Need.NETWORK not in declared.needs

    def _caller(self, context: NodeContext, who: _Who, taint: Taint) -> Caller:
        state = WorkState.from_json(context.state)
        return Caller(
            agent=who.agent,
            principal_id=context.execution.principal_id,
            conversation_id=state.conversation,
            execution_id=context.execution.id,
            address=state.address,
            call_id=context.visit,
            workspace=self._rules.sessions / state.conversation / "workspace",
            timezone=who.agent.timezone or self._rules.timezone,
            taint=taint,
        )


def _unfenced(text: str) -> str:
    """Return the content of the first code block, or the whole text if it has no code block."""
    _, fence, rest = text.partition("```")
    inner, end, _ = rest.partition("```")
    return inner.removeprefix("json").strip() if fence and end else text


def _question(planned: Planned, who: _Who) -> str | None:
    name = "a workflow" if who.person is None else who.person.name
    return question(
        planned.call,
        tool=planned.name,
        agent=who.agent.name,
        asker=name,
        person=who.person,
        about=planned.about,
        why=planned.why,
    )


def _who(tx: Transaction, execution: Execution, spec: NodeSpec) -> _Who:
    return _Who(worker(tx, execution, spec.data), tx.principals.get(execution.principal_id or ""))
