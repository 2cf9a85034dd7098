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
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.crash import campaign
from tests.crash.builds import copied
from tests.crash.episode import Episode, Plan
from tests.crash.history import Boot
from tests.crash.report import EpisodeResult, Report, by_kind, report_of
from tests.crash.verdict import COMMON_RULES, judge
from tests.crash.workflow_document import LAST, SLUG, VISITS, Model, document

#: Length of a model call (seconds). Calls of one run can overlap, and kills interrupt some of them.
THINKING = (0.02, 0.15)
#: Average seconds of a kill and the start after it.
CYCLE = 1.8


@dataclass(frozen=True, slots=True)
class WorkflowPlan(Plan):
    """The settings of an episode with workflows."""

    window: float = 1.2
    patience: float = 120.0
    runs: int = 50


@dataclass(frozen=True, slots=True)
class History:
    """The facts of an episode."""

    boots: Sequence[Boot]
    #: Number of runs that the users started.
    runs: int
    #: Model calls that were repeated because the daemon was killed before it could store the answer.
    repeated: int
    problems: Sequence[str] = ()
    rows: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(EpisodeResult):
    """The figures of an episode with workflows."""

    runs: int
    repeated: int

    @property
    def figures(self) -> Mapping[str, Any]:
        return {"kills": self.kills, "runs": self.runs, "repeatedModelCalls": self.repeated}


class WorkflowEpisode(Episode[WorkflowPlan, History]):
    """The runs are started during the whole time of the kills, so that kills meet runs at every node."""

    def __init__(self, plan: WorkflowPlan) -> None:
        super().__init__(plan)
        self._model = Model(rng=self.rng, delay=THINKING)
        #: Run -> its input.
        self._started: dict[str, str] = {}

    def model(self) -> Model:
        return self._model

    async def start_load(self) -> None:
        await self.cluster.start()
        await self.cluster.ready()
        await self._request("POST", "/api/workflows", {"name": SLUG, "slug": SLUG, "document": document()})
        self.in_background(self._start_runs(), writes=True)
        self.in_background(self._approve())

    async def drain(self, end: float) -> None:
        for run_id in self._started:
            while (await self._request("GET", f"/api/runs/{run_id}"))["status"] not in {
                "completed",
                "failed",
                "cancelled",
            }:
                if time.monotonic() > end:
                    self.problems.append(f"Not over {self.plan.patience:.0f} s after the last kill")
                    return
                await asyncio.sleep(0.1)

    async def _start_runs(self) -> None:
        for number in range(self.plan.runs):
            body = {"input": f"run {number:03}"}
            run = await self._request("POST", f"/api/workflows/{SLUG}/runs", body, key=f"run-{number}")
            self._started[run["id"]] = body["input"]
            await asyncio.sleep(self.rng.uniform(0, 2 * CYCLE * self.plan.disturbances / self.plan.runs))

    async def _approve(self) -> None:
        while True:
            questions = await self._request("GET", "/api/questions?limit=100")
            for question in questions["items"]:
                with suppress(aiohttp.ClientResponseError):
                    await self._request("POST", f"/api/questions/{question['id']}/answer", {"decision": "approve"})
            await asyncio.sleep(0.2)

    async def _request(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> Any:
        """Repeat a request until the daemon answers. Raise its refusals; a 409 means that an earlier try was carried
        out."""
        [endpoint] = self.endpoints.endpoints
        headers = endpoint.headers | ({"Idempotency-Key": key} if key is not None else {})
        while True:
            try:
                async with endpoint.session.request(method, endpoint.url + path, json=body, headers=headers) as answer:
                    if answer.status < 500 and not (answer.status == 409 and key is not None):
                        answer.raise_for_status()
                        return await answer.json()
            except aiohttp.ClientResponseError:
                raise
            except (aiohttp.ClientError, ConnectionError, TimeoutError):
                """The daemon was killed. Its next boot answers."""
            await asyncio.sleep(0.05)

    def history(self) -> History:
        runs = len(self._started)
        repeated = self._model.finished.total() - runs * (sum(VISITS.values()) + 1)
        return History(self.boot_log.boots, runs, repeated, tuple(self.problems), self.rows)

    def inspect(self) -> dict[str, list[str]]:
        with closing(sqlite3.connect(f"file:{self.data / 'arvis.db'}?mode=ro", uri=True)) as rows:
            rows.row_factory = sqlite3.Row
            return {
                "a run ends once": list(self._of_runs(rows)),
                "a visit is completed once": list(self._of_logs(rows)),
                "a called execution ends": list(_of_children(rows)),
            }

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


async def play_one(plan: WorkflowPlan) -> Result:
    """Play and judge one episode."""
    return await campaign.play(plan, WorkflowEpisode, result_of)


def result_of(seed: str, history: History, seconds: float) -> Result:
    return Result(
        seed=seed,
        seconds=seconds,
        kills=sum(boot.killed for boot in history.boots),
        runs=history.runs,
        repeated=history.repeated,
        violations=judge(COMMON_RULES, history),
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--kills", type=int, default=200)


def play(options: argparse.Namespace) -> Report:
    with copied() as code:
        plan = WorkflowPlan(options.seed, options.kills, code, runs=options.runs)
        results = asyncio.run(campaign.play_all([play_one(plan)]))
    return report_of({**results[0].figures, **by_kind(results)}, results)
