"""What the nodes of a turn read before they work, and what they learn of the accounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arvis.domain.agents import Agent
from arvis.domain.errors import ExecutionError
from arvis.domain.executions import Execution
from arvis.domain.messages import HistoryLine, StoredMessage
from arvis.domain.money import Spender
from arvis.domain.runs import Rest
from arvis.ports.store import Transaction
from arvis.runner.budget import spender_of

#: History never needs more rows than this: compaction starts at 80 messages (behaviour §7).
HISTORY_ROWS = 100


@dataclass(frozen=True, slots=True)
class Standing:
    """One reading of a turn: its agent, the conversation before it, the messages that it answers, which accounts rest,
    and who pays."""

    agent: Agent
    history: list[HistoryLine]
    current: list[StoredMessage]
    rests: list[Rest]
    spender: Spender


def load_standing(tx: Transaction, execution: Execution) -> Standing:
    agent = tx.agents.get(execution.state["agent"])
    current = tx.messages.of_turn(execution.id)
    if agent is None or not current:
        raise ExecutionError(f"The turn {execution.id} has no agent or no messages")
    history = tx.messages.history(execution.state["conversation"], HISTORY_ROWS)
    return Standing(agent, history, current, tx.rests.all(), spender_of(tx, execution, agent_id=agent.id))


def note_rests(tx: Transaction, rests: Sequence[Rest]) -> None:
    """What became known of the accounts."""
    for rest in rests:
        tx.rests.put(rest)
