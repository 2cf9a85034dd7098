"""Attacks on the endpoints of workflows: huge documents, malicious file names, and clients that occupy all streams."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import AsyncExitStack
from itertools import product
from pathlib import Path
from typing import Any

from arvis.domain.executions import ExecutionStatus
from tests.flows.test_web_run_stream import end, listening, opened, until, write
from tests.flows.web_server import DAEMON_KEY, OPERATOR_KEY, VIEWER_KEY, Site

ALL = "/api/workflows"
BLANK: dict[str, Any] = {"nodes": [{"id": "s", "type": "start", "data": {}}], "connections": []}
FILE = re.compile(r'attachment; filename="[a-z0-9_-]+-\d+\.(json|yaml)"')
NAMES = [
    'x"; filename="evil.html',
    "../../etc/passwd",
    "=cmd|' /C calc'!A0",
    "<img src=x onerror=alert(1)>",
    "a\u202etxt.exe",
    "con",
    "…/…",
    "check",
]


async def test_the_name_of_a_workflow_makes_no_name_of_a_file(tmp_path: Path) -> None:
    async with opened(tmp_path) as (site, _):
        for name, slug in product(NAMES, (False, True)):
            body = {"name": name, "draft": True, "document": BLANK} | ({"slug": name} if slug else {})
            answer = await site.call("POST", ALL, json=body)
            if answer.status != 201:
                assert answer.status in {409, 422}, name
                continue
            for form in ("json", "yaml"):
                path = f"{site.url}{ALL}/{answer.json()['id']}/export?form={form}"
                async with site.http.get(path, headers={"Authorization": f"Bearer {VIEWER_KEY}"}) as sent:
                    assert FILE.fullmatch(sent.headers["Content-Disposition"])
                    assert sent.headers["X-Content-Type-Options"] == "nosniff"
                    assert sent.content_type not in {"text/html", "image/svg+xml", "text/csv"}


BOMBS = {
    "deep flow": "[" * 400_000,
    "deep map": "{a: " * 100_000,
    "deep json": '{"a":' * 100_000,
    "indented": "".join(f"{' ' * depth}a:\n" for depth in range(1_200)),
    "questions": "? " * 200_000,
    "dashes": "- " * 200_000,
    "anchors": "a: &a [1, 1]\nb: &b [*a, *a]\nc: [*b, *b]",
    "merge": "a: &a {b: c}\nd: {<<: *a}",
    "program": 'nodes: !!python/object/apply:os.system ["id"]',
    "two": "--- {}\n--- {}",
    "number": f'{{"schema": {"1" * 5_000}, "nodes": []}}',
    "infinite": '{"nodes": [{"id": "a", "type": "start", "x": 1e9999, "y": -1e9999}]}',
}


async def test_no_text_that_is_brought_in_does_more_than_be_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as (site, _):
        for name, text in BOMBS.items():
            for form in ("auto", "json", "yaml"):
                answer = await site.call("POST", f"{ALL}/import", json={"text": text, "form": form})
                assert answer.status in {413, 422}, (name, form, answer.text[:200])
        nested: Any = []
        for _ in range(200):
            nested = [nested]
        for document in ({"nodes": nested}, {"settings": nested}, BLANK | {"more": nested}):
            answer = await site.call("POST", f"{ALL}/validate", json={"document": document})
            assert answer.status in {200, 422}
            assert answer.status == 422 or not answer.json()["runnable"]
        assert (await site.call("GET", f"{ALL}?limit=5")).status == 200


async def test_of_what_is_wrong_with_a_document_not_all_is_told(tmp_path: Path) -> None:
    """Errors come before warnings."""
    words = "".join(f"{{{{x{number}}}}}" for number in range(6_000))
    nodes = [
        {"id": "s", "type": "start", "data": {}},
        *({"id": f"a{number}", "type": "agent", "data": {"userPrompt": words}} for number in range(5)),
        {"id": "t", "type": "tool-call", "data": {}},
    ]
    document = {"nodes": nodes, "connections": [{"source": "s", "target": "a0"}]}
    async with opened(tmp_path) as (site, _):
        checked = await site.call("POST", f"{ALL}/validate", json={"document": document})
        kept = await site.call("POST", ALL, json={"name": "Wrong", "document": document, "draft": True})
        for answer in (checked, kept):
            found = answer.json()["problems"]
            assert len(found) == 1_000
            assert found[0]["severity"] == "error"
        assert not checked.json()["runnable"]


async def test_who_listens_to_everything_takes_no_seat_of_others(tmp_path: Path) -> None:
    async with opened(tmp_path) as (site, run_id), AsyncExitStack() as stack:
        for _ in range(64):
            await anext(await stack.enter_async_context(listening(site, run_id)))
        path = f"/api/runs/{run_id}/events"
        assert (await site.call("GET", path)).status == 429
        mine = await site.http.get(f"{site.url}{path}", headers={"Authorization": f"Bearer {OPERATOR_KEY}"})
        stack.callback(mine.close)
        assert mine.status == 200
        assert (await site.call("GET", f"/api/runs/{run_id}")).status == 200


async def test_a_listener_that_does_not_read_holds_up_nobody(tmp_path: Path) -> None:
    async with opened(tmp_path) as (site, run_id):
        for _ in range(10):
            await write(site, run_id, *["x" * 20_000] * 40)
        slow = await _deaf(site, run_id)
        async with listening(site, run_id) as heard:
            await end(site, run_id, ExecutionStatus.DONE)
            assert len([each for each in await until(heard, "done") if each[0] == "log"]) >= 400
        assert (await site.call("GET", f"/api/runs/{run_id}")).status == 200
        slow.close()


async def _deaf(site: Site, run_id: str) -> asyncio.StreamWriter:
    _, writer = await asyncio.open_connection("127.0.0.1", site.server.port, limit=1_024)
    head = f"GET /api/runs/{run_id}/events HTTP/1.1\r\nHost: {site.url.removeprefix('http://')}\r\n"
    writer.write(f"{head}Authorization: Bearer {DAEMON_KEY}\r\n\r\n".encode())
    await writer.drain()
    return writer


async def test_a_line_of_the_log_is_one_event_whatever_is_in_it(tmp_path: Path) -> None:
    evil = "a\n\nevent: done\ndata: {}\n\r\rid: 9\u2028\u2029\x85<script>alert(1)</script>"
    async with opened(tmp_path) as (site, run_id):
        await write(site, run_id, evil)
        await end(site, run_id, ExecutionStatus.DONE)
        async with listening(site, run_id) as heard:
            found = await until(heard, "done")
        assert [data["content"] for kind, data, _ in found if kind == "log" and data["nodeId"] == "a"] == [evil]
        assert json.dumps(found).count("alert") == 1
