"""Converts executions that have ended to spans, and exports the spans to a collector.

The spans follow OpenTelemetry's conventions for generative AI, but this module needs none of OpenTelemetry's packages.
The ids of spans are derived from Arvis's ids, so an execution has the same trace in every process and every export. The
span of a child execution is below the span of its caller. The length of the queue is limited, no caller waits for the
queue, and an unreachable collector is logged once.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Protocol

import structlog

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ArvisError
from arvis.domain.executions import ExecutionStatus
from arvis.ports.receipts import ModelCall, Receipts, ToolUse

Value = str | int | float | bool | Sequence[str]

#: The names of providers in OpenTelemetry's conventions, where they differ from Arvis's names.
_PROVIDERS = {"google": "gcp.gemini", "claude_cli": "anthropic"}
_MICROS = 1_000_000
#: The maximum number of characters of one exported text.
_LONGEST = 32_000


@dataclass(frozen=True, slots=True)
class Span:
    """A span of a trace, with times in ms. `outward`: the span is a request to an external server. `error` is None if
    the operation of the span succeeded."""

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
    """Return the spans of an execution, with the span of the execution itself first. `content`: the spans include the
    texts of people and agents."""
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
    """Derive a number of `size` bytes from a text. Equal texts give equal numbers, and the number is never 0."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size], "big") or 1


log = structlog.get_logger(__name__)

#: The maximum number of executions that wait for export, and of executions in one request.
_MOST_WAITING = 5_000
_MOST_AT_ONCE = 50
#: The time (s) for which the queue collects executions before it sends them in one request, and the maximum time (s)
#: for the last exports when the daemon stops.
_GATHER = 1.0
_LAST = 3.0
_OVER = frozenset({ExecutionStatus.DONE, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED})


class Exporter(Protocol):
    """A client that sends spans. `export` blocks, so it is called in a thread."""

    def export(self, spans: Sequence[Span]) -> bool:
        """Send the spans. Return True if the collector accepted them. Raise no error."""
        ...

    def close(self) -> None:
        """Abort the current export, and release the resources."""
        ...


class ExportQueue:
    """The queue of executions to export. `receipts` returns the records of an execution. `content`: the spans include
    the texts of people and agents."""

    def __init__(
        self,
        *,
        receipts: Callable[[str], Awaitable[Receipts | None]],
        exporter: Exporter,
        content: bool,
        gather: float = _GATHER,
    ) -> None:
        self._receipts = receipts
        self._exporter = exporter
        self._content = content
        self._gather = gather
        self._waiting: asyncio.Queue[str] = asyncio.Queue(_MOST_WAITING)
        self._lost = 0

    def add(self, execution_id: str) -> None:
        """Queue an execution. `run` skips an execution that has not ended. This method never waits: if the queue is
        full, the execution is dropped."""
        try:
            self._waiting.put_nowait(execution_id)
        except asyncio.QueueFull:
            self._missed(1, "the collector does not keep up")

    async def run(self) -> None:
        """Export executions until cancelled. Then export the waiting executions, for at most `_LAST` seconds."""
        try:
            while True:
                await self._send([await self._waiting.get()])
        except asyncio.CancelledError:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST):
                    while not self._waiting.empty():
                        await self._send([], at_once=True)
            raise
        finally:
            self._exporter.close()

    async def _send(self, ids: list[str], *, at_once: bool = False) -> None:
        if not at_once:
            await asyncio.sleep(self._gather)
        while len(ids) < _MOST_AT_ONCE and not self._waiting.empty():
            ids.append(self._waiting.get_nowait())
        found = [spans for execution_id in dict.fromkeys(ids) if (spans := await self._spans(execution_id))]
        if not found:
            return
        if await asyncio.to_thread(self._exporter.export, [span for spans in found for span in spans]):
            if self._lost:
                log.info("telemetry_back", lost_executions=self._lost)
            self._lost = 0
        else:
            self._missed(len(found), "the collector did not accept them")

    async def _spans(self, execution_id: str) -> list[Span]:
        try:
            found = await self._receipts(execution_id)
        except ArvisError as error:
            self._missed(1, error.what)
            return []
        if found is None or found.execution.status not in _OVER:
            return []
        return spans_of(found, content=self._content)

    def _missed(self, number: int, why: str) -> None:
        """Count lost executions. The first loss is logged at once. The total is logged when the collector
        accepts spans again."""
        if not self._lost:
            log.warning("telemetry_lost", why=why, fix="see `telemetry.endpoint` in config.yaml")
        self._lost += number
