"""Convert stored records to spans, by OpenTelemetry's conventions for generative AI, without its packages.

Ids are derived from ours: the same execution is the same trace, whichever process exports it and however often, and
the executions that an agent called are below it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from arvis.domain.executions import ExecutionStatus
from arvis.ports.receipts import ModelCall, Receipts, ToolUse

Value = str | int | float | bool | Sequence[str]

#: Names of providers for which the conventions have another name; every other provider keeps its own.
_PROVIDERS = {"google": "gcp.gemini", "claude_cli": "anthropic"}
_MICROS = 1_000_000
#: Maximum characters of one text, if content is included.
_LONGEST = 32_000


@dataclass(frozen=True, slots=True)
class Span:
    """A span, with times in ms. `outward`: a request to an external server. `error` is None if it succeeded."""

    name: str
    trace_id: int
    id: int
    parent: int | None
    began_at: int
    ended_at: int
    attributes: Mapping[str, Value]
    outward: bool = False
    error: str | None = None


def spans_of(receipts: Receipts, *, content: bool) -> list[Span]:
    """Return the spans of an execution, its own first. `content`: include the texts."""
    execution = receipts.execution
    trace = _number((receipts.ancestors or [execution.id])[-1], 16)
    root = _span_id(execution.id)
    inner = [
        *(_model_span(call, receipts, trace, root) for call in receipts.calls),
        *(_tool_span(tool, receipts, trace, root, content=content) for tool in receipts.tools),
    ]
    failed = execution.status is not ExecutionStatus.DONE
    first = Span(
        name=f"invoke_agent {receipts.agent}".strip(),
        trace_id=trace,
        id=root,
        parent=_span_id(receipts.ancestors[0]) if receipts.ancestors else None,
        began_at=execution.created_at,
        ended_at=max([execution.updated_at, *(span.ended_at for span in inner)]),
        attributes=dict(_root_attributes(receipts, content=content)),
        error=str(execution.status) if failed else None,
    )
    return [first, *sorted(inner, key=lambda span: span.began_at)]


def _root_attributes(receipts: Receipts, *, content: bool) -> Iterator[tuple[str, Value]]:
    execution = receipts.execution
    yield "gen_ai.operation.name", "invoke_agent"
    yield "gen_ai.provider.name", _provider(receipts.calls[-1].provider) if receipts.calls else "arvis"
    yield "gen_ai.agent.name", receipts.agent
    yield "gen_ai.agent.id", receipts.agent_id
    if receipts.conversation_id:
        yield "gen_ai.conversation.id", receipts.conversation_id
    if receipts.calls:
        yield "gen_ai.request.model", receipts.calls[-1].model
    yield "gen_ai.usage.input_tokens", sum(call.input_tokens for call in receipts.calls)
    yield "gen_ai.usage.output_tokens", sum(call.output_tokens for call in receipts.calls)
    yield "arvis.cost_usd", sum(call.cost_micros for call in receipts.calls) / _MICROS
    yield "arvis.execution.id", execution.id
    yield "arvis.execution.graph", execution.graph
    yield "arvis.execution.steps", execution.steps
    if execution.status is not ExecutionStatus.DONE:
        yield "error.type", str(execution.status)
    if content and receipts.question:
        yield "gen_ai.input.messages", _messages("user", receipts.question)
    if content and receipts.reply:
        yield "gen_ai.output.messages", _messages("assistant", receipts.reply)


def _model_span(call: ModelCall, receipts: Receipts, trace: int, root: int) -> Span:
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _provider(call.provider),
        "gen_ai.request.model": call.model,
        "gen_ai.usage.input_tokens": call.input_tokens,
        "gen_ai.usage.output_tokens": call.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": call.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": call.written_tokens,
        "gen_ai.agent.name": receipts.agent,
        "arvis.account": call.account,
        "arvis.cost_usd": call.cost_micros / _MICROS,
    }
    return Span(
        name=f"chat {call.model}",
        trace_id=trace,
        id=_span_id(f"call {call.id}"),
        parent=root,
        began_at=call.started_at,
        ended_at=call.started_at + call.duration_ms,
        attributes=attributes | _of_conversation(receipts) | _error(call.error),
        outward=True,
        error=call.error,
    )


def _tool_span(tool: ToolUse, receipts: Receipts, trace: int, root: int, *, content: bool) -> Span:
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool.name,
        "gen_ai.tool.type": "function",
        "gen_ai.agent.name": receipts.agent,
    }
    error = "tool_error" if tool.failed else None
    captured: dict[str, Value] = {}
    if content and (tool.arguments or tool.output):
        captured = {"gen_ai.tool.call.arguments": tool.arguments, "gen_ai.tool.call.result": tool.output}
    return Span(
        name=f"execute_tool {tool.name}",
        trace_id=trace,
        id=_span_id(f"tool {receipts.execution.id} {tool.id}"),
        parent=root,
        began_at=tool.began_at,
        ended_at=tool.at,
        attributes=attributes | _of_conversation(receipts) | _error(error) | captured,
        error=error,
    )


def _of_conversation(receipts: Receipts) -> dict[str, Value]:
    return {"gen_ai.conversation.id": receipts.conversation_id} if receipts.conversation_id else {}


def _error(error: str | None) -> dict[str, Value]:
    return {} if error is None else {"error.type": error}


def _provider(name: str) -> str:
    return _PROVIDERS.get(name, name)


def _messages(role: str, text: str) -> str:
    captured = {"role": role, "parts": [{"type": "text", "content": text[:_LONGEST]}]}
    return json.dumps([captured if role == "user" else {**captured, "finish_reason": "stop"}], ensure_ascii=False)


def _span_id(text: str) -> int:
    return _number(f"span {text}", 8)


def _number(text: str, size: int) -> int:
    """Return a number of this many bytes that is the same for the same text, and never 0."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size], "big") or 1
