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
class Asked:
    """Whom a turn asks, and what: its agent, and the messages that it answers."""

    agent: Agent
    current: list[StoredMessage]


@dataclass(frozen=True, slots=True)
class Standing(Asked):
    """The same with all that a prompt needs: the conversation before it, which accounts rest, and who pays."""

    history: list[HistoryLine]
    rests: list[Rest]
    spender: Spender


def load_asked(tx: Transaction, execution: Execution) -> Asked:
    agent = tx.agents.get(execution.state["agent"])
    current = tx.messages.of_turn(execution.id)
    if agent is None or not current:
        raise ExecutionError(f"The turn {execution.id} has no agent or no messages")
    return Asked(agent, current)


def load_standing(tx: Transaction, execution: Execution) -> Standing:
    asked = load_asked(tx, execution)
    return Standing(
        agent=asked.agent,
        current=asked.current,
        history=tx.messages.history(execution.state["conversation"], HISTORY_ROWS),
        rests=tx.rests.all(),
        spender=spender_of(tx, execution, agent_id=asked.agent.id),
    )


def note_rests(tx: Transaction, rests: Sequence[Rest]) -> None:
    """What became known of the accounts."""
    for rest in rests:
        tx.rests.put(rest)
