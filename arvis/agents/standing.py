"""What the nodes of a turn read before they work, and the receipts that they leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.errors import ExecutionError
from arvis.domain.messages import HistoryLine, StoredMessage
from arvis.domain.runs import Rest
from arvis.graph.context import NodeContext
from arvis.ports.store import Transaction
from arvis.runner import Run, RunFailed

#: History never needs more rows than this: compaction starts at 80 messages (behaviour §7).
HISTORY_ROWS = 100


@dataclass(frozen=True, slots=True)
class Standing:
    """One reading of a turn: its agent, the conversation before it, the messages that it answers, and which accounts
    rest."""

    agent: Agent
    history: list[HistoryLine]
    current: list[StoredMessage]
    rests: list[Rest]


def load_standing(tx: Transaction, execution_id: str, state: Mapping[str, Any]) -> Standing:
    agent = tx.agents.get(state["agent"])
    current = tx.messages.of_turn(execution_id)
    if agent is None or not current:
        raise ExecutionError(f"The turn {execution_id} has no agent or no messages")
    return Standing(agent, tx.messages.history(state["conversation"], HISTORY_ROWS), current, tx.rests.all())


def note_calls(tx: Transaction, context: NodeContext, run: Run | RunFailed) -> None:
    """The receipts of a model call, and what became known of the accounts."""
    for rest in run.rests:
        tx.rests.put(rest)
    for call in run.calls:
        tx.usage.add(call, execution_id=context.execution.id, job_id=context.job_id, agent_id=context.state["agent"])
