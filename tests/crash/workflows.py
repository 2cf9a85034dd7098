"""Kill a daemon repeatedly while it runs workflows.

Users start runs (each with a key, so that a request can be repeated) and answer approvals with yes. The daemon is
killed at random times. At the end, every run must have ended once: no run is lost or duplicated, and no visit of an
agent node was completed twice.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import aiohttp

from arvis.testing.openai_server import openai_server
from tests.crash.campaign import judged, play_all
from tests.crash.daemon import Daemon, free_port, write_config
from tests.crash.report import EpisodeResult, Report, by_kind, report_of
from tests.crash.variants.build import copied
from tests.crash.verdict import Kind, Violation
from tests.crash.workflow_document import LAST, SLUG, VISITS, Model, document

API_KEY = "crash-key"
#: Length of a model call (seconds). Calls of one run can overlap, and kills interrupt some of them.
THINKING = (0.02, 0.15)
#: Range of seconds from ready to a kill.
WINDOW = (0.1, 1.2)
#: After the last kill, every run must end within this time (seconds).
PATIENCE = 120.0


@dataclass(slots=True)
class History:
    """The facts of an episode."""

    kills: int = 0
    runs: int = 0
    #: Model calls that were repeated because the daemon was killed before it could store the answer.
    repeated: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(EpisodeResult):
    """The figures of an episode with workflows."""

    runs: int
    repeated: int

    @property
    def figures(self) -> Mapping[str, Any]:
        return {"kills": self.kills, "runs": self.runs, "repeatedModelCalls": self.repeated}


class Episode:
    """One daemon, its runs and its kills, which are spread over the time in which runs are started and continue."""

    def __init__(self, *, seed: str, runs: int, kills: int, folder: Path, code: Path) -> None:
        self._rng = Random(seed)
        self._runs = runs
        self._kills = kills
        self._folder = folder
        self._code = code
        self._base = f"http://127.0.0.1:{free_port()}"
        self._started: dict[str, str] = {}
        self.history = History()

    async def play(self) -> History:
        model = Model(rng=self._rng, delay=THINKING)
        async with openai_server(default=model) as server:
            config = self._folder / "config.yaml"
            port = int(self._base.rpartition(":")[2])
            write_config(config, port=port, api_key=API_KEY, model_url=server.base_url, database=None)
            daemon = Daemon(code=self._code, folder=self._folder, config=config)
            try:
                await self._run(daemon)
                self._judge()
                # The log may not contain errors, even those of processes that were killed.
                self.history.faults += [f"log: {line}" for line in daemon.complaints()]
            finally:
                await daemon.close()
        self.history.repeated = model.finished.total() - self.history.runs * (sum(VISITS.values()) + 1)
        return self.history

    async def _run(self, daemon: Daemon) -> None:
        await daemon.start()
        await daemon.ready()
        headers = {"Authorization": f"Bearer {API_KEY}"}
        async with aiohttp.ClientSession(self._base, headers=headers) as http:
            await self._request(http, "POST", "/api/workflows", {"name": SLUG, "slug": SLUG, "document": document()})
            tasks = [asyncio.create_task(self._start_runs(http)), asyncio.create_task(self._approve(http))]
            try:
                for _ in range(self._kills):
                    await self._kill(daemon)
                await asyncio.wait_for(self._until_over(http, tasks[0]), PATIENCE)
            except TimeoutError:
                self.history.faults.append(f"Not over {PATIENCE:.0f} s after the last kill")
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        await daemon.stop()

    async def _kill(self, daemon: Daemon) -> None:
        await asyncio.sleep(self._rng.uniform(*WINDOW))
        daemon.kill()
        await daemon.killed()
        self.history.kills += 1
        await daemon.start()
        await daemon.ready()

    async def _start_runs(self, http: aiohttp.ClientSession) -> None:
        """Start the runs, spread over the time of the kills, so that kills meet runs at every node."""
        for number in range(self._runs):
            body = {"input": f"run {number:03}"}
            run = await self._request(http, "POST", f"/api/workflows/{SLUG}/runs", body, key=f"run-{number}")
            self._started[run["id"]] = body["input"]
            self.history.runs += 1
            await asyncio.sleep(self._rng.uniform(0, 2 * 1.8 * self._kills / self._runs))

    async def _approve(self, http: aiohttp.ClientSession) -> None:
        while True:
            waits = await self._request(http, "GET", "/api/questions?limit=100")
            for wait in waits["items"]:
                with suppress(aiohttp.ClientResponseError):
                    await self._request(http, "POST", f"/api/questions/{wait['id']}/answer", {"decision": "approve"})
            await asyncio.sleep(0.2)

    async def _until_over(self, http: aiohttp.ClientSession, beginning: asyncio.Task[None]) -> None:
        await beginning
        for run_id in self._started:
            async for over in self._states(http, run_id):
                if over:
                    break

    async def _states(self, http: aiohttp.ClientSession, run_id: str) -> AsyncIterator[bool]:
        """Poll the run and yield whether it has ended."""
        while True:
            run = await self._request(http, "GET", f"/api/runs/{run_id}")
            yield run["status"] in {"completed", "failed", "cancelled"}
            await asyncio.sleep(0.1)

    async def _request(
        self, http: aiohttp.ClientSession, method: str, path: str, body: Any = None, *, key: str | None = None
    ) -> Any:
        """Repeat a request until the daemon answers. Raise its refusals; a 409 means that an earlier try was carried
        out."""
        headers = {"Idempotency-Key": key} if key is not None else {}
        while True:
            try:
                async with http.request(method, path, json=body, headers=headers) as answer:
                    if answer.status < 500 and not (answer.status == 409 and key is not None):
                        answer.raise_for_status()
                        return await answer.json()
            except aiohttp.ClientResponseError:
                raise
            except (aiohttp.ClientError, ConnectionError, TimeoutError):
                """The daemon was killed. Its next boot answers."""
            await asyncio.sleep(0.05)

    # -- the judgement -------------------------------------------------------------------------------------

    def _judge(self) -> None:
        with closing(sqlite3.connect(f"file:{self._folder / 'data' / 'arvis.db'}?mode=ro", uri=True)) as rows:
            rows.row_factory = sqlite3.Row
            self.history.faults += [*self._of_runs(rows), *self._of_logs(rows), *_of_children(rows)]

    def _of_runs(self, rows: sqlite3.Connection) -> Iterator[str]:
        known = {
            row["id"]: row
            for row in rows.execute(
                "SELECT executions.id, status, error, result FROM workflow_runs JOIN executions ON executions.id = execution_id"
            )
        }
        yield from (f"{run}: the test did not start it" for run in known.keys() - self._started.keys())
        for run_id, text in self._started.items():
            if (row := known.get(run_id)) is None:
                yield f"{run_id}: lost"
            elif row["status"] != "done":
                yield f"{run_id}: {row['status']}: {row['error']}"
            elif LAST.replace("{input}", text) not in json.loads(row["result"])["output"]:
                yield f"{run_id}: it ended with {row['result'][:200]}"

    def _of_logs(self, rows: sqlite3.Connection) -> Iterator[str]:
        """Check the log: one answer for each visit of an agent node, and one beginning and one end of the subagent's
        call."""
        for run_id in self._started:
            lines = rows.execute(
                "SELECT * FROM workflow_run_log WHERE run_id = ? ORDER BY number", (run_id,)
            ).fetchall()
            if [line["number"] for line in lines] != list(range(1, len(lines) + 1)):
                yield f"{run_id}: its log has gaps"
            answers = Counter(line["node_id"] for line in lines if line["type"] == "llm_response")
            if dict(answers) != VISITS:
                yield f"{run_id}: agent nodes answered {dict(answers)}, not {VISITS}"
            calls = Counter(line["type"] for line in lines if line["type"].startswith("subagent_call"))
            if dict(calls) != {"subagent_call_start": 1, "subagent_call_end": 1}:
                yield f"{run_id}: its subagent left {dict(calls)}"


def _of_children(rows: sqlite3.Connection) -> Iterator[str]:
    """Check that every execution that a run called has ended, and that there is one for each visit."""
    for row in rows.execute(
        "SELECT waits.execution_id AS run, executions.status, COUNT(*) AS number FROM executions "
        "JOIN waits ON waits.id = executions.parent_wait JOIN workflow_runs ON workflow_runs.execution_id = waits.execution_id "
        "GROUP BY waits.execution_id, executions.status"
    ):
        if row["status"] != "done" or row["number"] != sum(VISITS.values()):
            yield f"{row['run']}: {row['number']} of its children are {row['status']}"


async def play_one(seed: str, *, runs: int, kills: int, code: Path) -> Result:
    """Play and judge one episode."""

    def result_of(history: History, seconds: float) -> Result:
        return Result(
            seed=seed,
            seconds=seconds,
            kills=history.kills,
            runs=history.runs,
            repeated=history.repeated,
            violations=[Violation("a_run_ends_once", Kind.OTHER, fault) for fault in history.faults],
        )

    return await judged(
        lambda folder: Episode(seed=seed, runs=runs, kills=kills, folder=folder, code=code).play(), result_of
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--kills", type=int, default=200)


def play(options: argparse.Namespace) -> Report:
    with copied() as code:
        episode = play_one(options.seed, runs=options.runs, kills=options.kills, code=code)
        results = asyncio.run(play_all([episode]))
    return report_of({**results[0].figures, **by_kind(results)}, results)
