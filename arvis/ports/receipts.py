"""The stored receipts of an ended execution, from which traces are built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from arvis.domain.executions import Execution


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One try of a model call. Times in ms; `error` is its kind, None when it answered."""

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
    """One call of a tool. Times in ms: it ended at `at`, and began at `began_at` or a little later if its start was
    not measured. `arguments` and `output` are truncated, and empty if they were not stored."""

    id: str
    name: str
    began_at: int
    at: int
    failed: bool
    arguments: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True)
class Receipts:
    """`ancestors` are the executions that called it, the nearest first. `agent` is a slug; `question` and `reply` are
    the texts ("" if no person asked)."""

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
        """Return the receipts of an execution, or of the execution that a message belongs to."""
        ...
