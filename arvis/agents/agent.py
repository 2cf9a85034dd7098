"""Graph `agent`: prepare the prompt, call the model, use the tools that it asks for, until it answers.

Because the tool loop is the graph, a crash after the fourth call of a tool pays for none of the first four again. The
prompt is built anew before every call, from rows that do not change while the turn holds its lane.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from arvis.agents import notices
from arvis.agents.standing import Standing, load_standing, note_rests
from arvis.agents.streaming import Coalescer
from arvis.agents.tool_node import ToolNode, ToolRules
from arvis.context import Prompt, build_prompt
from arvis.domain.errors import ProviderErrorKind
from arvis.domain.events import Delta, StatusChanged
from arvis.domain.executions import Execution
from arvis.domain.messages import Address, MessageStatus
from arvis.domain.money import Spender
from arvis.domain.runs import RunRequest, RunResult, Turn
from arvis.domain.tools import ToolCall, ToolOutput
from arvis.graph.context import NodeContext
from arvis.graph.decisions import Decision, End, Goto, Graph, Next
from arvis.ports.store import Store
from arvis.runner import Run, RunFailed, Runner
from arvis.runner.purse import Purse

#: What is left of one output of a tool once a model has refused a prompt as too long, in characters.
SHRUNK_OUTPUT = 4_000


def agent_graph(*, store: Store, runner: Runner, purse: Purse, tools: ToolRules, reply_bytes: int) -> Graph:
    """The graph that answers a turn. Its result is a `RunResult` as JSON."""
    nodes = _Nodes(store=store, runner=runner, purse=purse, tools=tools, reply_bytes=reply_bytes)
    return Graph(
        name="agent",
        start="prepare",
        nodes={
            "prepare": nodes.prepare,
            "call_model": nodes.call_model,
            "use_tools": ToolNode(store=store, rules=tools).use_tools,
        },
        edges={"prepare": "call_model", "call_model": "use_tools", "use_tools": "prepare"},
    )


class _Nodes:
    def __init__(self, *, store: Store, runner: Runner, purse: Purse, tools: ToolRules, reply_bytes: int) -> None:
        self._store = store
        self._runner = runner
        self._purse = purse
        self._tools = tools
        self._reply_bytes = reply_bytes

    async def prepare(self, context: NodeContext) -> Decision:
        """Build the prompt from what is true now; only its measures are kept."""
        turn = await self._store.read(load_standing, context.execution)
        self._runner.learn(turn.rests)
        shrunk = bool(context.state.get("shrunk"))
        if not shrunk and not context.state.get("rounds"):
            for message in turn.current:
                context.emit(StatusChanged(message.address, message.id, MessageStatus.RUNNING))
        prompt = build_prompt(
            turn.agent, turn.history, turn.current, rounds=rounds_of(context.state, shrunk=shrunk), shrunk=shrunk
        )
        return Next(_asked(turn, prompt), prompt=_measures(prompt))

    async def call_model(self, context: NodeContext) -> Decision:
        """One model call, streamed to whoever listens; every try leaves its receipt."""
        asked: Mapping[str, Any] = context.value
        rounds = context.state.get("rounds", [])
        off = len(rounds) >= self._tools.rounds or bool(context.state.get("looping"))
        request = await self._request(context, off=off)
        try:
            answer = await context.once("model", partial(self._call, context, request))
        except RunFailed as failed:
            if failed.error.kind is ProviderErrorKind.TOO_LONG and not context.state.get("shrunk"):
                return Goto("prepare", shrunk=True)
            raise
        result = RunResult.from_json(answer)
        if result.calls and request.tools and not off:
            calls = [call.to_json() for call in result.calls]
            return Next(None, rounds=[*rounds, {"said": result.content, "calls": calls}])
        if not result.content.strip():
            result = replace(result, content=notices.no_answer(asked["agent"]["name"]))
        return End(replace(result, calls=()).to_json())

    async def _request(self, context: NodeContext, *, off: bool) -> RunRequest:
        asked: Mapping[str, Any] = context.value
        # A turn of an earlier version names no tools.
        offer = await self._tools.registry.offer(asked["agent"].get("tools", ()))
        rounds = rounds_of(context.state, shrunk=bool(context.state.get("shrunk")))
        return RunRequest(
            system=asked["system"],
            turns=(*(Turn(role, content) for role, content in asked["turns"]), *rounds),
            model=None,
            agent_name=asked["agent"]["name"],
            max_bytes=self._reply_bytes,
            tools=() if off and not rounds else offer.specs,
            tools_off=off,
            conversation=context.state["conversation"],
        )

    async def _call(self, context: NodeContext, request: RunRequest) -> dict[str, Any]:
        asked: Mapping[str, Any] = context.value
        address = Address.from_json(context.state["address"])
        coalescer = Coalescer(send=lambda offset, text: context.emit(Delta(address, asked["newest"], offset, text)))
        model, fallbacks = asked["agent"]["model"], asked["agent"].get("fallbacks", ())
        estimate = self._runner.estimate(request, model=model, fallbacks=fallbacks)
        spender = Spender(**{**asked["spender"], "job_id": context.job_id, "visit": context.visit})
        await self._purse.open(spender, estimate)
        try:
            run = await self._runner.run(request, model=model, fallbacks=fallbacks, on_text=coalescer.add)
        except RunFailed as failed:
            self._keep(context, spender, estimate, failed)
            raise
        finally:
            coalescer.close()
        self._keep(context, spender, estimate, run)
        return run.result.to_json()

    def _keep(self, context: NodeContext, spender: Spender, estimate: int, run: Run | RunFailed) -> None:
        """The receipts of all tries, and what became known of the accounts."""
        context.record(note_rests, run.rests)
        context.record(self._purse.close, spender, estimate, run.calls)


def new_turn_state(agent_id: str, address: Address, conversation_id: str) -> dict[str, Any]:
    """The state with which a turn's execution begins: ids and the place, nothing that could grow stale."""
    return {"agent": agent_id, "address": address.to_json(), "conversation": conversation_id}


def is_turn(execution: Execution) -> bool:
    """Whether people wait for what this execution says; children and runs answer nobody in a chat."""
    return "conversation" in execution.state


def rounds_of(state: Mapping[str, Any], *, shrunk: bool = False) -> tuple[Turn, ...]:
    """What the model asked of tools in this turn and what they gave, as turns of the prompt."""
    turns: list[Turn] = []
    for each in state.get("rounds", ()):
        calls = tuple(ToolCall.from_json(call) for call in each["calls"])
        outputs = tuple(ToolOutput.from_json(output) for output in each.get("outputs", ()))
        if shrunk:
            outputs = tuple(replace(output, content=output.content[:SHRUNK_OUTPUT]) for output in outputs)
        turns += [Turn("assistant", each["said"], calls=calls), Turn("user", "", outputs=outputs)]
    return tuple(turns)


def _asked(turn: Standing, prompt: Prompt) -> dict[str, Any]:
    agent = turn.agent
    return {
        "agent": {
            "name": agent.name,
            "model": agent.model,
            "fallbacks": list(agent.fallbacks),
            "tools": list(agent.tools),
        },
        "system": prompt.system,
        "turns": [[each.role, each.content] for each in prompt.turns],
        "newest": turn.current[-1].id,
        "spender": asdict(turn.spender),
    }


def _measures(prompt: Prompt) -> dict[str, Any]:
    return {"tokens": dict(prompt.layers), "left_out": prompt.left_out}
