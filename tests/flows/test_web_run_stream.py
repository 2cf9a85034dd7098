"""The events of a run: each log line comes once and in order, for every writer and every client that reconnects."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.agents import Agent
from arvis.domain.events import Changed, NoticesMissed, RunAdvanced
from arvis.domain.executions import ExecutionStatus
from arvis.ports.store import Transaction
from arvis.web.http.limits import Timeouts
from tests.flows.test_web_workflow_runs import asks
from tests.flows.web_server import CHAT_KEY, DAEMON_KEY, Site, running_site

DOCUMENT = {
    "nodes": [{"id": "s", "type": "start", "data": {}}, {"id": "a", "type": "agent", "data": {}}],
    "connections": [{"source": "s", "target": "a"}],
}
Heard = tuple[str, Any, int | None]


@contextlib.asynccontextmanager
async def opened(folder: Path, patience: Timeouts | None = None) -> AsyncIterator[tuple[Site, str]]:
    async with running_site(folder, real_insights=True, real_operations=True, patience=patience) as site:
        await site.store.write(lambda tx: tx.agents.add(Agent(id="a1", slug="helper", name="helper"), 0))
        await site.call("POST", "/api/workflows", json={"name": "Told", "document": DOCUMENT})
        answer = await site.call("POST", "/api/workflows/told/runs", json={})
        assert answer.status == 201, answer.text
        yield site, answer.json()["id"]


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[tuple[Site, str]]:
    async with opened(tmp_path) as found:
        yield found


@contextlib.asynccontextmanager
async def listening(site: Site, run_id: str, after: int | None = None) -> AsyncIterator[AsyncIterator[Heard]]:
    headers = {"Authorization": f"Bearer {DAEMON_KEY}"} | ({} if after is None else {"Last-Event-ID": str(after)})
    async with site.http.get(f"{site.url}/api/runs/{run_id}/events", headers=headers) as response:
        assert response.status == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield _events(response.content)


async def _events(lines: Any) -> AsyncIterator[Heard]:
    fields: dict[str, str] = {}
    async for line in lines:
        name, _, value = line.decode().rstrip("\n").replace(": keep", "comment: keep", 1).partition(": ")
        if name:
            fields[name] = value
        elif fields:
            if "event" in fields:
                yield fields["event"], json.loads(fields["data"]), int(fields["id"]) if "id" in fields else None
            else:
                yield "comment", next(iter(fields.values())), None
            fields = {}


async def until(heard: AsyncIterator[Heard], kind: str) -> list[Heard]:
    """Return all events up to the first one of this kind."""
    found: list[Heard] = []
    async with asyncio.timeout(10):
        async for each in heard:
            found.append(each)
            if each[0] == kind:
                return found
    raise AssertionError(f"it ended without {kind}: {found}")


async def write(site: Site, run_id: str, *contents: str) -> None:
    """Write the row, then publish the event."""
    await site.store.write(
        lambda tx: tx.workflow_runs.log(run_id, [("a", "llm_response", each) for each in contents], 1)
    )
    site.bus.publish(RunAdvanced(run_id))


async def end(site: Site, run_id: str, status: ExecutionStatus, error: str | None = None) -> None:
    def over(tx: Transaction) -> None:
        tx.workflow_runs.log(run_id, [("system", "run_end", status.value)], 2)
        tx.executions.drop_cursors(run_id)
        tx.executions.set_status(run_id, status, error, 2)

    await site.store.write(over)
    site.bus.publish(Changed("workflows", run_id))


def lines_of(heard: list[Heard]) -> list[tuple[int | None, str]]:
    return [(number, data["content"]) for kind, data, number in heard if kind == "log"]


async def test_each_line_comes_once_and_in_order_while_the_run_writes(told: tuple[Site, str]) -> None:
    site, run_id = told

    async def work() -> None:
        for number in range(2, 302, 3):
            await write(site, run_id, *(f"line {each}" for each in range(number, number + 3)))
        await end(site, run_id, ExecutionStatus.DONE)

    async with listening(site, run_id) as heard:
        first = [await anext(heard), await anext(heard)]
        _, found = await asyncio.gather(work(), until(heard, "done"))
        with pytest.raises(StopAsyncIteration):
            await anext(heard)
    kinds = [kind for kind, _, _ in (*first, *found)]
    assert (kinds[0], kinds[-1]) == ("start", "done")
    assert lines_of([*first, *found])[1:-1] == [(number, f"line {number}") for number in range(2, 302)]
    assert found[-1][1]["status"] == "completed"


async def test_who_comes_back_is_told_the_rest_and_nothing_twice(told: tuple[Site, str]) -> None:
    site, run_id = told
    await write(site, run_id, "two", "three")
    async with listening(site, run_id) as heard:
        before = await until(heard, "state")
    assert [number for number, _ in lines_of(before)] == [1, 2, 3]
    await write(site, run_id, "four")  # nobody listens, but the run continues
    async with listening(site, run_id, after=3) as heard:
        again = await until(heard, "state")
        await write(site, run_id, "five")
        await end(site, run_id, ExecutionStatus.CANCELLED)
        rest = await until(heard, "done")
    assert lines_of([*again, *rest]) == [(4, "four"), (5, "five"), (6, "cancelled")]
    assert rest[-1][1]["status"] == "cancelled"


async def test_several_listen_at_once_and_each_hears_all(told: tuple[Site, str]) -> None:
    site, run_id = told

    async def listen() -> list[Heard]:
        async with listening(site, run_id) as heard:
            ready.release()
            return await until(heard, "done")

    ready = asyncio.Semaphore(0)
    listeners = [asyncio.create_task(listen()) for _ in range(3)]
    for _ in listeners:
        await ready.acquire()
    for number in range(2, 40):
        await write(site, run_id, f"line {number}")
    await end(site, run_id, ExecutionStatus.DONE)
    told_all = [lines_of(await listener) for listener in listeners]
    assert told_all[0] == told_all[1] == told_all[2]
    assert [number for number, _ in told_all[0]] == list(range(1, 41))


async def test_a_failed_run_ends_with_its_error(told: tuple[Site, str]) -> None:
    site, run_id = told
    await end(site, run_id, ExecutionStatus.FAILED, "Writer: no model answered")
    async with listening(site, run_id) as heard:
        found = await until(heard, "error")
    assert [kind for kind, _, _ in found] == ["start", "log", "log", "state", "error"]
    assert (found[-1][1]["status"], found[-1][1]["error"]) == ("failed", "Writer: no model answered")


async def test_the_state_is_told_when_it_changes_and_then_alone(told: tuple[Site, str]) -> None:
    site, run_id = told
    async with listening(site, run_id) as heard:
        assert (await until(heard, "state"))[-1][1] == {
            "status": "pending", "waitingForInput": False, "currentNodeId": None,
        }  # fmt: skip
        site.bus.publish(Changed("workflows", run_id))
        await site.store.write(asks, run_id, "a", "w1")
        site.bus.publish(Changed("workflows", run_id))
        kind, state, _ = await anext(heard)
        assert (kind, state) == ("state", {"status": "paused", "waitingForInput": True, "currentNodeId": "a"})


async def test_news_of_other_processes_that_were_missed_are_looked_up(told: tuple[Site, str]) -> None:
    site, run_id = told
    async with listening(site, run_id) as heard:
        await until(heard, "state")
        await site.store.write(lambda tx: tx.workflow_runs.log(run_id, [("a", "llm_response", "from afar")], 1))
        site.bus.publish(NoticesMissed())
        assert (await anext(heard))[1]["content"] == "from afar"


async def test_a_quiet_stream_gives_signs_of_life(tmp_path: Path) -> None:
    async with opened(tmp_path, Timeouts(keepalive=0.05)) as (site, run_id), listening(site, run_id) as heard:
        await until(heard, "comment")


async def test_who_leaves_holds_nothing(told: tuple[Site, str]) -> None:
    site, run_id = told
    for _ in range(70):  # more streams than one key may have open
        async with listening(site, run_id) as heard:
            await anext(heard)
    assert (await site.call("GET", f"/api/runs/{run_id}/events", key=CHAT_KEY)).status == 403
    for after in ("x", "-1"):
        assert (await site.call("GET", f"/api/runs/{run_id}/events?after={after}")).status == 422
