"""Traces of real turns, sent to a collector on 127.0.0.1 by OTLP over HTTP."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from arvis.domain.executions import Execution, ExecutionStatus
from arvis.ports.receipts import ModelCall, Receipts, ToolUse
from arvis.telemetry.export_queue import ExportQueue, Span, spans_of
from arvis.telemetry.exporter import OtlpExporter

START = 1_700_000_000_000


@dataclass
class Collector:
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    spans: list[Any] = field(default_factory=list)
    resources: list[Any] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        data = gzip.decompress(body) if request.headers.get("content-encoding") == "gzip" else body
        asked = ExportTraceServiceRequest.FromString(data)
        self.headers = dict(request.headers)
        for resource in asked.resource_spans:
            self.resources.append(resource.resource)
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        self.came.set()
        answer = ExportTraceServiceResponse().SerializeToString()
        return web.Response(body=answer, content_type="application/x-protobuf")


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    collector = Collector()
    application = web.Application()
    application.router.add_post("/v1/traces", collector.take)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    collector.url = site.name
    address = runner.addresses[0]
    collector.url = f"http://127.0.0.1:{address[1]}"
    try:
        yield collector
    finally:
        await runner.cleanup()


def an_execution(status: ExecutionStatus = ExecutionStatus.DONE, *, execution_id: str = "e1") -> Execution:
    return Execution(
        id=execution_id, graph="agent", version="1", state={}, status=status, result=None, lane="l", priority=5, principal_id=None,
        parent_wait=None, steps=4, error=None, created_at=START, updated_at=START + 900,
    )  # fmt: skip


def some_receipts(**changes: Any) -> Receipts:
    calls = [
        ModelCall("u1", "google", "flash", "main", START + 10, 200, 100, 5, 80, 0, 1500, None),
        ModelCall("u2", "google", "flash", "main", START + 400, 300, 150, 20, 0, 0, 2500, "rate_limit"),
    ]
    tools = [ToolUse("c/1/tool 1: web_search", "web_search", START + 210, START + 400, True, '{"q": "x"}', "found")]
    return Receipts(**{
        "execution": an_execution(), "ancestors": (), "agent_id": "a1", "agent": "helper", "conversation_id": "c1",
        "calls": calls, "tools": tools, "question": "What?", "reply": "That.", **changes,
    })  # fmt: skip


def attributes(span: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


def test_spans_have_the_times_and_names_of_the_receipts() -> None:
    root, first, tool, second = spans_of(some_receipts(), content=False)
    assert [root.name, first.name, tool.name, second.name] == [
        "invoke_agent helper", "chat flash", "execute_tool web_search", "chat flash",
    ]  # fmt: skip
    assert (root.began_at, root.ended_at, root.parent) == (START, START + 900, None)
    assert (first.began_at, first.ended_at) == (START + 10, START + 210)
    assert {first.parent, tool.parent, second.parent} == {root.id}
    assert root.attributes["gen_ai.usage.input_tokens"] == 250
    assert first.attributes["gen_ai.provider.name"] == "gcp.gemini"
    assert (second.error, second.attributes["error.type"]) == ("rate_limit", "rate_limit")
    assert tool.attributes["error.type"] == "tool_error"
    assert not any("message" in name or "arguments" in name for span in (root, tool) for name in span.attributes)


def test_content_goes_along_only_where_it_is_wanted() -> None:
    root, _, tool, _ = spans_of(some_receipts(), content=True)
    assert "What?" in str(root.attributes["gen_ai.input.messages"])
    assert "That." in str(root.attributes["gen_ai.output.messages"])
    assert tool.attributes["gen_ai.tool.call.arguments"] == '{"q": "x"}'


def test_what_was_told_again_and_what_was_called_are_of_one_trace() -> None:
    (once, *_), (again, *_) = (spans_of(some_receipts(), content=False) for _ in range(2))
    child, *_ = spans_of(some_receipts(execution=an_execution(execution_id="e2"), ancestors=("e1",)), content=False)
    assert (once.trace_id, once.id) == (again.trace_id, again.id)
    assert (child.trace_id, child.parent) == (once.trace_id, once.id)


async def test_a_collector_is_told_what_is_over() -> None:
    known = {
        "e1": some_receipts(),
        "e2": some_receipts(execution=an_execution(ExecutionStatus.PAUSED, execution_id="e2")),
    }
    async with collecting() as collector:
        exporter = OtlpExporter(endpoint=collector.url, headers={"x-key": "s3cret"}, service="house", version="1")
        queue = ExportQueue(receipts=reader(known), exporter=exporter, content=False, gather=0)
        running = asyncio.create_task(queue.run())
        for each in ("e1", "e2", "gone"):
            queue.add(each)
        async with asyncio.timeout(5):
            await collector.came.wait()
        await stopped(running)
    assert collector.headers["x-key"] == "s3cret"
    assert {each.key: each.value.string_value for each in collector.resources[0].attributes}["service.name"] == "house"
    assert sorted(span.name for span in collector.spans) == [
        "chat flash", "chat flash", "execute_tool web_search", "invoke_agent helper",
    ]  # fmt: skip
    (root,) = [span for span in collector.spans if not span.parent_span_id]
    assert root.start_time_unix_nano == START * 1_000_000
    assert attributes(root)["gen_ai.conversation.id"] == "c1"
    assert len(root.trace_id) == 16


async def test_the_last_ones_are_told_at_the_end() -> None:
    async with collecting() as collector:
        exporter = OtlpExporter(endpoint=f"{collector.url}/v1/traces", headers={}, service="house", version="1")
        queue = ExportQueue(receipts=reader({"e1": some_receipts()}), exporter=exporter, content=False, gather=60)
        running = asyncio.create_task(queue.run())
        await asyncio.sleep(0)
        queue.add("e1")
        await stopped(running)
    assert len(collector.spans) == 4


async def test_a_collector_that_is_not_there_costs_a_line(caplog: pytest.LogCaptureFixture) -> None:
    exporter = Refusing()
    queue = ExportQueue(receipts=reader({"e1": some_receipts()}), exporter=exporter, content=False, gather=0)
    running = asyncio.create_task(queue.run())
    for _ in range(10_000):
        queue.add("e1")
    async with asyncio.timeout(5):
        await exporter.asked.wait()
    assert queue._waiting.qsize() <= 5_000
    assert queue._lost > 0
    await stopped(running)


async def test_lost_executions_are_counted_and_not_their_spans() -> None:
    known = {each: some_receipts(execution=an_execution(execution_id=each)) for each in ("e1", "e2")}
    queue = ExportQueue(receipts=reader(known), exporter=Refusing(), content=False, gather=0)
    for each in ("e1", "e2", "gone"):
        queue.add(each)
    await queue._send([])
    assert queue._lost == 2


async def test_a_dead_port_is_given_up_soon() -> None:
    async with collecting() as collector:
        pass
    exporter = OtlpExporter(endpoint=collector.url, headers={}, service="house", version="1")
    sending = asyncio.create_task(asyncio.to_thread(exporter.export, spans_of(some_receipts(), content=False)))
    await asyncio.sleep(0.2)
    exporter.close()
    async with asyncio.timeout(8):
        assert await sending is False


def test_nothing_of_it_is_imported_unasked() -> None:
    code = "import sys, arvis.app.daemon, arvis.app.telemetry; sys.exit('opentelemetry.sdk' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_endpoint_without_the_packages_says_what_to_install() -> None:
    code = """
import sys
sys.modules["opentelemetry.exporter"] = None
from arvis.app.telemetry import exporter_of
from arvis.config.servers import Telemetry
from arvis.domain.errors import ConfigError
try:
    exporter_of(Telemetry(endpoint="http://127.0.0.1:4318"), "http://127.0.0.1:4318")
except ConfigError as error:
    sys.exit("pip install 'arvis[otel]'" not in error.fix)
sys.exit(2)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@dataclass
class Refusing:
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    def export(self, spans: Sequence[Span]) -> bool:
        self.loop.call_soon_threadsafe(self.asked.set)
        return False

    def close(self) -> None:
        pass


def reader(known: dict[str, Receipts]) -> Any:
    async def read(execution_id: str) -> Receipts | None:
        return known.get(execution_id)

    return read


async def stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
