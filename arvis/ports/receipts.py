"""The stored receipts of an ended execution, from which traces are built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.executions import Execution


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call to one account. Times in ms."""

    id: str
    provider: str
    model: str
    account: str
    started_at: int
    duration_ms: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    written_tokens: int
    cost_micros: int
    #: The kind of the error; None if the account answered.
    error: str | None


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One tool call. Times in ms."""

    id: str
    name: str
    #: The start of the call; if it was not measured, the last known time before the call.
    began_at: int
    #: The end of the call.
    at: int
    failed: bool
    #: `arguments` and `output` are cut off at a maximum length, and are empty if they were not stored.
    arguments: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True)
class Receipts:
    """An ended execution with its model and tool calls."""

    execution: Execution
    #: The executions above this execution: the caller, the caller's caller, and so on.
    ancestors: Sequence[str]
    agent_id: str
    #: The agent's slug.
    agent: str
    conversation_id: str
    calls: Sequence[ModelCall]
    tools: Sequence[ToolUse]
    #: The text of the person's question; empty if no person asked.
    question: str = ""
    #: The text of the reply; empty if no person asked.
    reply: str = ""


class ReceiptInsights(Protocol):
    async def receipts(self, of: str) -> Receipts | None:
        """Return the receipts of an execution; None if the execution is unknown. `of` is the id of the execution, or of
        a message of its turn."""
        ...
