"""The daemon sends traces of turns to a collector on this machine, and works the same without one."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.acceptance.place import opened
from tests.flows.test_telemetry import Collector, attributes, collecting

AGENTS = json.dumps([{"slug": "helper", "name": "Helper", "model": "demo", "tools": ["calculate"]}])
ASKED = 'demo: tool calculate {"expression": "(2+3)*4"}'


def settings(endpoint: str) -> dict[str, str]:
    return {
        "ARVIS__AGENTS": AGENTS,
        "ARVIS__ROUTING__FALLBACK": "helper",
        "ARVIS__TELEMETRY__ENDPOINT": endpoint,
    }


async def told(collector: Collector, number: int) -> None:
    async with asyncio.timeout(20):
        while len(collector.spans) < number:
            collector.came.clear()
            await collector.came.wait()


async def test_a_turn_with_a_tool_is_a_trace(tmp_path: Path) -> None:
    async with collecting() as collector, opened(tmp_path, settings(collector.url)) as place:
        timeline = await place.ask(ASKED, "sums")
        await told(collector, 4)
    assert "20" in timeline["reply"]
    root, *inner = sorted(collector.spans, key=lambda span: (span.parent_span_id, span.start_time_unix_nano))
    assert root.name == "invoke_agent helper"
    assert [span.name.partition(" ")[0] for span in inner] == ["chat", "execute_tool", "chat"]
    assert all(span.trace_id == root.trace_id and span.parent_span_id == root.span_id for span in inner)
    assert all(
        root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano <= root.end_time_unix_nano
        for span in inner
    )
    first = attributes(inner[0])
    assert (first["gen_ai.operation.name"], first["gen_ai.provider.name"]) == ("chat", "demo")
    assert attributes(root)["gen_ai.usage.output_tokens"] == timeline["outputTokens"]
    assert attributes(inner[1])["gen_ai.tool.name"] == "calculate"
    assert not any("(2+3)*4" in str(span) for span in collector.spans)


async def test_a_dead_collector_costs_a_line(tmp_path: Path) -> None:
    async with collecting() as collector:
        pass
    async with opened(tmp_path, settings(collector.url)) as place:
        timeline = await place.ask(ASKED, "sums")
        assert timeline["status"] == "answered"
        file = place.daemon.folder / "daemon.log"
        async with asyncio.timeout(20):
            while "telemetry_lost" not in (log := file.read_text()):  # noqa: ASYNC110 - a file tells nobody
                await asyncio.sleep(0.1)
        assert (await place.ask(ASKED, "sums"))["status"] == "answered"
    assert log.count("telemetry_lost") == 1
    assert "Traceback" not in log
