"""A run as server-sent events: its log while it is written, each line once and in order, and the run's status.

The stream reads rows and the bus only wakes it, so it reports the same in every process. A client that reconnects
names the last line it received (`Last-Event-ID`, or `after`) and receives the later ones.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from arvis.domain.changes import ChangeTopic
from arvis.domain.errors import NotFound
from arvis.domain.events import Changed, RunAdvanced
from arvis.domain.workflows import LogEntry, RunStatus
from arvis.ports.bus import Bus
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.workflows import RunRow
from arvis.web.api.message_status import Watch
from arvis.web.api.workflow_run_models import is_over, run_view, shortened
from arvis.web.http.errors import Failure, attempt
from arvis.web.http.event_stream import KEEP_ALIVE
from arvis.web.http.timeouts import Timeouts

Json = dict[str, Any]

#: Log lines per read.
_LINES = 200


class RunStream:
    def __init__(self, *, insights: Insights, clock: Clock, timeouts: Timeouts) -> None:
        self._insights = insights
        self._clock = clock
        self._timeouts = timeouts

    async def events(self, run_id: str, after: int, watch: Watch) -> AsyncIterator[str]:
        """Yield the lines after line `after` up to the end of the run. An error becomes the last event."""
        last_status: Json | None = None
        while True:
            # The status is read before the lines, so that a finished run has all its lines.
            row = await attempt(self._row(run_id))
            if isinstance(row, Failure):
                yield event("error", row.to_json())
                return
            if last_status is None:
                yield event("start", run_view(row))
            async for entry in self._lines(run_id, after):
                after = entry.number
                yield event("log", line_view(entry), number=after)
            now = run_status(row)
            if now != last_status:
                last_status = now
                yield event("state", now)
            if is_over(row):
                yield await self._end(row)
                return
            if watch.closed:
                yield event("error", watch.failure.to_json())
                return
            before = self._clock.monotonic()
            await watch.changed(self._timeouts.keepalive)
            if self._clock.monotonic() - before >= self._timeouts.keepalive:
                yield KEEP_ALIVE

    async def _row(self, run_id: str) -> RunRow:
        row = await self._insights.run_head(run_id)
        if row is None:
            raise NotFound("The run has been deleted.", fix="Old runs are deleted after a while.")
        return row

    async def _lines(self, run_id: str, after: int) -> AsyncIterator[LogEntry]:
        while entries := await self._insights.run_log(run_id, after=after, limit=_LINES):
            for entry in entries:
                after = entry.number
                yield entry
            if len(entries) < _LINES:
                return

    async def _end(self, row: RunRow) -> str:
        view = await attempt(self._insights.run(row.run.execution_id))
        result = None if view is None or isinstance(view, Failure) else result_view(view.execution.result)
        kind = "error" if row.status is RunStatus.FAILED else "done"
        return event(kind, {**run_view(row), "result": result})


@contextlib.contextmanager
def waking(bus: Bus, run_id: str, watch: Watch) -> Iterator[None]:
    """Wake the watch at every event of this run."""

    def advanced(news: RunAdvanced) -> None:
        if news.run_id == run_id:
            watch.wake()

    def changed(news: Changed) -> None:
        if news.topic == ChangeTopic.WORKFLOWS and news.id in {None, run_id}:
            watch.wake()

    endings = [bus.subscribe(RunAdvanced, advanced), bus.subscribe(Changed, changed)]
    try:
        yield
    finally:
        for end in endings:
            end()


def line_view(entry: LogEntry) -> Json:
    return {
        "number": entry.number,
        "timestamp": entry.at,
        "nodeId": entry.node_id,
        "type": entry.type,
        "content": entry.content,
    }


def run_status(row: RunRow) -> Json:
    shown = run_view(row)
    return {name: shown[name] for name in ("status", "waitingForInput", "currentNodeId")}


def result_view(result: Any) -> Any:
    """Return the result of the run: its last output, if its graph ended as a workflow."""
    output = result.get("output", result) if isinstance(result, Mapping) else result
    return shortened(output)


def event(kind: str, data: Mapping[str, Any], *, number: int | None = None) -> str:
    """Format an event. JSON has no line breaks, so each event has one data line."""
    named = "" if number is None else f"id: {number}\n"
    return f"{named}event: {kind}\ndata: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"
