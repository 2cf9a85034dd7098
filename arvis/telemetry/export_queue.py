"""Tells a collector what is over. What waits to be told is bounded, nobody waits for it, and a collector that is not there
costs a line in the log."""

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

#: Ids of executions that may wait to be told, and how many are told together.
_MOST_WAITING = 5_000
_MOST_AT_ONCE = 50
#: Seconds that more may come in, so that a busy process sends few requests, and that the last ones have at the end.
_GATHER = 1.0
_LAST = 3.0
_OVER = frozenset({ExecutionStatus.DONE, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED})


class Exporter(Protocol):
    """Sends spans; blocks while it does, so it is called in a thread."""

    def export(self, spans: Sequence[Span]) -> bool:
        """Whether the collector took them. Raises nothing."""
        ...

    def close(self) -> None:
        """Give up what is under way."""
        ...


class ExportQueue:
    """`receipts` reads what is on record of an execution. `content`: what people and agents said goes along."""

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
        """This execution is over, or rests; never waits."""
        try:
            self._waiting.put_nowait(execution_id)
        except asyncio.QueueFull:
            self._missed(1, "the collector does not keep up")

    async def run(self) -> None:
        """Until cancelled; then the last ones have a moment."""
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
            self._missed(len(spans), "the collector did not take them")

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
        """The first ones are told in the log, and all of them once the collector is back."""
        if not self._lost:
            log.warning("telemetry_lost", why=why, fix="see `telemetry.endpoint` in config.yaml")
        self._lost += number
