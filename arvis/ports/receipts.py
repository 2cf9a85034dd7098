"""The stored receipts of an ended execution, from which traces are built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from arvis.domain.executions import Execution


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call to one account. Times in ms. `error` is the kind of the error; None: the account answered."""

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
    error: str | None


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One tool call, from `began_at` to `at` (ms). If its start was not measured, `began_at` is the last known time
    before the call. `arguments` and `output` are cut off at a maximum length, and empty if they were not stored."""

    id: str
    name: str
    began_at: int
    at: int
    failed: bool
    arguments: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True)
class Receipts:
    """An ended execution with its model and tool calls. `ancestors` are the executions above it: its caller first, then
    the caller's caller. `agent` is a slug. `question` and `reply` are texts ("": no person asked)."""

    execution: Execution
    ancestors: Sequence[str]
    agent_id: str
    agent: str
    conversation_id: str
    calls: Sequence[ModelCall]
    tools: Sequence[ToolUse]
    question: str = ""
    reply: str = ""


class ReceiptInsights(Protocol):
    async def receipts(self, of: str) -> Receipts | None:
        """Return the receipts of an execution. `of` is its id, or the id of a message of its turn. None: it is
        unknown."""
        ...
