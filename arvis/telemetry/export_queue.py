"""Export finished executions to a collector. The queue is limited, no caller waits for it, and an unreachable
collector costs one line in the log."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import structlog

from arvis.domain.errors import ArvisError
from arvis.domain.executions import ExecutionStatus
from arvis.ports.receipts import Receipts
from arvis.telemetry.spans import Span, spans_of

log = structlog.get_logger(__name__)

#: Maximum executions that wait to be exported, and maximum in one request.
_MOST_WAITING = 5_000
_MOST_AT_ONCE = 50
#: Seconds for which the queue collects more, so that a busy process sends few requests, and seconds for the last ones
#: at shutdown.
_GATHER = 1.0
_LAST = 3.0
_OVER = frozenset({ExecutionStatus.DONE, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED})


class Exporter(Protocol):
    """Sends spans; it blocks meanwhile, so it is called in a thread."""

    def export(self, spans: Sequence[Span]) -> bool:
        """Return whether the collector accepted them. Raises nothing."""
        ...

    def close(self) -> None:
        """Abort the current export."""
        ...


class ExportQueue:
    """Exports executions. `receipts` reads the records of an execution. `content`: include the texts of people and
    agents."""

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
        """Queue an execution that is over or waits; never blocks."""
        try:
            self._waiting.put_nowait(execution_id)
        except asyncio.QueueFull:
            self._missed(1, "the collector does not keep up")

    async def run(self) -> None:
        """Export until cancelled; then the remaining ones get a moment."""
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
        spans = [span for execution_id in dict.fromkeys(ids) for span in await self._spans(execution_id)]
        if not spans:
            return
        if await asyncio.to_thread(self._exporter.export, spans):
            if self._lost:
                log.info("telemetry_back", lost=self._lost)
            self._lost = 0
        else:
            self._missed(len(spans), "the collector did not accept them")

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
        """Log the first lost export, and the total number once the collector is back."""
        if not self._lost:
            log.warning("telemetry_lost", why=why, fix="see `telemetry.endpoint` in config.yaml")
        self._lost += number
