"""Graph `agent`: prepare the prompt, call the model, use the tools that it asks for, until it answers.

Because the tool loop is the graph, a crash after the fourth call of a tool pays for none of the first four again. The
prompt is built anew before every call, from rows that do not change while the turn holds its lane.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from arvis.agents import notices, rounds
from arvis.agents.standing import Standing, load_standing, note_rests
from arvis.agents.streaming import Coalescer
from arvis.agents.tool_node import ToolNode, ToolRules
from arvis.context import Prompt, build_prompt, room_for_tools
from arvis.domain.errors import ProviderErrorKind
from arvis.domain.events import Delta, StatusChanged
from arvis.domain.executions import Execution
from arvis.domain.messages import Address, MessageStatus
from arvis.domain.money import Spender
from arvis.domain.runs import RunRequest, RunResult, Turn
from arvis.domain.tools import ToolSpec
from arvis.graph.context import NodeContext
from arvis.graph.decisions import Decision, End, Goto, Graph, Next
from arvis.graph.facts import Lasting
from arvis.ports.store import Store
from arvis.runner import RunFailed, Runner, Trail
from arvis.runner.purse import Purse


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
        if not shrunk and not rounds.count(context.state):
            for message in turn.current:
                context.emit(StatusChanged(message.address, message.id, MessageStatus.RUNNING))
        room = room_for_tools(turn.agent, shrunk=shrunk)
        tools = await self._rounds(context, room)
        prompt = build_prompt(turn.agent, turn.history, turn.current, rounds=tools, shrunk=shrunk)
        return Next({**_asked(turn, prompt), "room": room}, prompt=_measures(prompt))

    async def call_model(self, context: NodeContext) -> Decision:
        """One model call, streamed to whoever listens; every try leaves its receipt."""
        asked: Mapping[str, Any] = context.value
        number = rounds.count(context.state)
        off = number >= self._tools.rounds or bool(context.state.get("looping"))
        request = await self._request(context, off=off)
        try:
            answer = await context.once("model", partial(self._call, context, request))
        except RunFailed as failed:
            if failed.error.kind is ProviderErrorKind.TOO_LONG and not context.state.get("shrunk"):
                return Goto("prepare", shrunk=True)
            raise
        result = RunResult.from_json(answer)
        if result.calls and request.tools and not off:
            return Next(None, **rounds.asked(number + 1, result.content, result.calls))
        if not result.content.strip():
            result = replace(result, content=notices.no_answer(asked["agent"]["name"]))
        return End(replace(result, calls=()).to_json())

    async def _request(self, context: NodeContext, *, off: bool) -> RunRequest:
        asked: Mapping[str, Any] = context.value
        offer = await self._tools.registry.offer(asked["agent"]["tools"])
        tools = await self._rounds(context, asked["room"])
        return RunRequest(
            system=asked["system"],
            turns=(*(Turn(role, content) for role, content in asked["turns"]), *tools),
            model=None,
            agent_name=asked["agent"]["name"],
            max_bytes=self._reply_bytes,
            tools=() if off and not tools else _with_used(offer.specs, tools),
            tools_off=off,
            conversation=context.state["conversation"],
        )

    async def _rounds(self, context: NodeContext, room: int) -> tuple[Turn, ...]:
        """The rounds of tools so far, in the form of a prompt, within so many tokens."""
        if not rounds.count(context.state):
            return ()
        found = await self._store.read(rounds.load_rounds, context.execution, self._tools.secrets.open)
        return rounds.turns_of(found, room)

    async def _call(self, context: NodeContext, request: RunRequest) -> dict[str, Any]:
        asked: Mapping[str, Any] = context.value
        address = Address.from_json(context.state["address"])
        coalescer = Coalescer(send=lambda offset, text: context.emit(Delta(address, asked["newest"], offset, text)))
        model, fallbacks = asked["agent"]["model"], asked["agent"]["fallbacks"]
        estimate = self._runner.estimate(request, model=model, fallbacks=fallbacks)
        spender = Spender(**{**asked["spender"], "job_id": context.job_id, "visit": context.visit})
        trail = Trail()
        try:
            await self._purse.open(spender, estimate)
            run = await self._runner.run(request, model=model, fallbacks=fallbacks, on_text=coalescer.add, trail=trail)
        except (RunFailed, asyncio.CancelledError):
            self._keep(context, spender, estimate, trail)
            raise
        finally:
            coalescer.close()
        self._keep(context, spender, estimate, trail)
        return run.result.to_json()

    def _keep(self, context: NodeContext, spender: Spender, estimate: int, trail: Trail) -> None:
        """The receipts of all tries, and what became known of the accounts."""
        context.record(note_rests, tuple(trail.rests))
        close = partial(self._purse.close, spender=spender, estimate=estimate, calls=tuple(trail.calls))
        context.facts.append(Lasting(close))


def new_turn_state(agent_id: str, address: Address, conversation_id: str) -> dict[str, Any]:
    """The state with which a turn's execution begins: ids and the place, nothing that could grow stale."""
    return {"agent": agent_id, "address": address.to_json(), "conversation": conversation_id}


def is_turn(execution: Execution) -> bool:
    """Whether people wait for what this execution says; children and runs answer nobody in a chat."""
    return "conversation" in execution.state


def _with_used(specs: Sequence[ToolSpec], turns: Sequence[Turn]) -> tuple[ToolSpec, ...]:
    """A tool that was used in this turn stays named although it is gone: vendors refuse a call of what they do not
    know."""
    used = {call.name for turn in turns for call in turn.calls} - {spec.name for spec in specs}
    gone = [ToolSpec(name, "This tool is not there any more.", {"type": "object"}) for name in sorted(used)]
    return (*specs, *gone)


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
