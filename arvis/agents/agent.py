"""Graph `agent` in its plainest form: prepare the prompt, call the model, end.

The tool loop, wrappers and review become further nodes and edges of this graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.context import Prompt, build_prompt
from arvis.domain.agents import Agent
from arvis.domain.errors import ExecutionError
from arvis.domain.events import Delta, StatusChanged
from arvis.domain.executions import Execution
from arvis.domain.messages import Address, HistoryLine, MessageStatus, StoredMessage
from arvis.domain.runs import Rest, RunRequest, Turn
from arvis.graph.context import NodeContext
from arvis.graph.decisions import Decision, End, Graph, Next
from arvis.ports.store import Store, Transaction
from arvis.runner import Run, RunFailed, Runner

#: History never needs more rows than this: compaction starts at 80 messages (behaviour §7).
HISTORY_ROWS = 100


def agent_graph(*, store: Store, runner: Runner, reply_bytes: int) -> Graph:
    """The graph that answers a turn. Its result is a `RunResult` as JSON."""
    nodes = _Nodes(store=store, runner=runner, reply_bytes=reply_bytes)
    return Graph(
        name="agent",
        start="prepare",
        nodes={"prepare": nodes.prepare, "call_model": nodes.call_model},
        edges={"prepare": "call_model"},
    )


class _Nodes:
    def __init__(self, *, store: Store, runner: Runner, reply_bytes: int) -> None:
        self._store = store
        self._runner = runner
        self._reply_bytes = reply_bytes

    async def prepare(self, context: NodeContext) -> Decision:
        """Build the prompt from what is true now; only its measures are kept."""
        agent, history, current, rests = await self._store.read(_load_turn, context.execution.id, context.state)
        self._runner.learn(rests)
        for message in current:
            context.emit(StatusChanged(message.address, message.id, MessageStatus.RUNNING))
        prompt = build_prompt(agent, history, current)
        asked = {
            "agent": {"name": agent.name, "model": agent.model, "fallbacks": list(agent.fallbacks)},
            "system": prompt.system,
            "turns": [[turn.role, turn.content] for turn in prompt.turns],
            "newest": current[-1].id,
        }
        return Next(asked, prompt=_measures(prompt))

    async def call_model(self, context: NodeContext) -> Decision:
        """One model call, streamed to whoever listens; every try leaves its receipt."""
        asked: dict[str, Any] = context.value
        request = RunRequest(
            system=asked["system"],
            turns=tuple(Turn(role, content) for role, content in asked["turns"]),
            model=None,
            agent_name=asked["agent"]["name"],
            max_bytes=self._reply_bytes,
        )
        address = Address.from_json(context.state["address"])

        def on_text(offset: int, text: str) -> None:
            context.emit(Delta(address, asked["newest"], offset, text))

        async def call() -> dict[str, Any]:
            try:
                run = await self._runner.run(
                    request,
                    model=asked["agent"]["model"],
                    fallbacks=asked["agent"].get("fallbacks", ()),  # a turn of an earlier version names none
                    on_text=on_text,
                )
            except RunFailed as failed:
                context.record(_record_calls, context, failed)
                raise
            context.record(_record_calls, context, run)
            return run.result.to_json()

        return End(await context.once("model", call))


def new_turn_state(agent_id: str, address: Address, conversation_id: str) -> dict[str, Any]:
    """The state with which a turn's execution begins: ids and the place, nothing that could grow stale."""
    return {"agent": agent_id, "address": address.to_json(), "conversation": conversation_id}


def is_turn(execution: Execution) -> bool:
    """Whether people wait for what this execution says; children and runs answer nobody in a chat."""
    return "conversation" in execution.state


def _load_turn(
    tx: Transaction, execution_id: str, state: Mapping[str, Any]
) -> tuple[Agent, list[HistoryLine], list[StoredMessage], list[Rest]]:
    agent = tx.agents.get(state["agent"])
    current = tx.messages.of_turn(execution_id)
    if agent is None or not current:
        raise ExecutionError(f"The turn {execution_id} has no agent or no messages")
    return agent, tx.messages.history(state["conversation"], HISTORY_ROWS), current, tx.rests.all()


def _record_calls(tx: Transaction, context: NodeContext, run: Run | RunFailed) -> None:
    for rest in run.rests:
        tx.rests.put(rest)
    for call in run.calls:
        tx.usage.add(call, execution_id=context.execution.id, job_id=context.job_id, agent_id=context.state["agent"])


def _measures(prompt: Prompt) -> dict[str, Any]:
    return {"tokens": dict(prompt.layers), "left_out": prompt.left_out}
