"""The tables as they are, and what of them the model of the job store knows exactly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arvis.domain.messages import FINAL_STATUSES
from arvis.store.sql.session import Row
from tests.conformance.machine.backends import Backend
from tests.conformance.machine.job_model import LIVE, JobModel

OPEN = {"running", "paused"}
FINAL = {status.value for status in FINAL_STATUSES}


class Violation(AssertionError):
    """Something that must never happen did."""


@dataclass(frozen=True, slots=True)
class Rows:
    """All of them, by id where that helps."""

    jobs: Mapping[str, Row]
    lanes: Mapping[str, Row]
    messages: Sequence[Row]
    executions: Mapping[str, Row]
    cursors: Mapping[str, Sequence[Row]]
    waits: Mapping[str, Row]
    deliveries: Mapping[str, Row]

    @property
    def asked(self) -> list[Row]:
        return [row for row in self.messages if row["role"] == "user"]

    @property
    def said(self) -> list[Row]:
        """Replies and notices that answer; neither words on the way nor what a retry by hand replaced."""
        answers = [row for row in self.messages if row["role"] not in {"user", "progress"} and row["execution_id"]]
        return [row for row in answers if not row["superseded"]]


def look(backend: Backend) -> Rows:
    rows = backend.rows
    cursors: dict[str, list[Row]] = defaultdict(list)
    for cursor in rows("SELECT * FROM cursors"):
        cursors[cursor["execution_id"]].append(cursor)
    return Rows(
        jobs={row["id"]: row for row in rows("SELECT * FROM jobs ORDER BY position")},
        lanes={row["lane"]: row for row in rows("SELECT * FROM lanes")},
        messages=rows("SELECT * FROM messages ORDER BY id"),
        executions={row["id"]: row for row in rows("SELECT * FROM executions")},
        cursors=cursors,
        waits={row["id"]: row for row in rows("SELECT * FROM waits")},
        deliveries={row["id"]: row for row in rows("SELECT * FROM deliveries ORDER BY seq")},
    )


def demand(truth: object, what: object) -> None:
    if not truth:
        raise Violation(str(what))


def check_jobs(model: JobModel, rows: Rows) -> None:
    """The table is the model's."""
    demand(rows.jobs.keys() == model.jobs.keys(), "other jobs than the model's")
    for job in model.jobs.values():
        row = rows.jobs[job.id]
        known = (job.status, job.attempts, job.crashes, job.owner, job.claim, job.key, job.merged_into, job.run_at)
        columns = ("status", "attempts", "crashes", "owner", "claim", "key", "merged_into", "run_at")
        demand(tuple(row[column] for column in columns) == known, f"{dict(row)} is no {known}")
        demand(row["ready"] == model.ready(job), f"{job.id} is ready {row['ready']}, not {model.ready(job)}")


def check_lanes(model: JobModel, rows: Rows) -> None:
    """Each lane has one live head, an order, and counters that are right."""
    live: dict[str, list[Row]] = defaultdict(list)
    for row in rows.jobs.values():
        if row["status"] in LIVE:
            live[row["lane"]].append(row)
    for jobs in live.values():  # a head that has begun stays in front of what was added first
        jobs.sort(key=lambda row: (row["ready"] == 0, row["position"]))
    known = {lane: [job.id for job in jobs] for lane, jobs in model.lanes.items()}
    demand({lane: [row["id"] for row in jobs] for lane, jobs in live.items()} == known, "another order in a lane")
    for lane, jobs in live.items():
        heads = [row["id"] for row in jobs if row["ready"] > 0]
        demand(heads == [jobs[0]["id"]], f"heads of {lane}: {heads}")
        demand(rows.lanes[lane]["live"] == len(jobs), f"{lane} counts {rows.lanes[lane]['live']} of {len(jobs)}")
        demand(rows.lanes[lane]["tail"] >= max(row["position"] for row in jobs), f"{lane} would number backwards")
    empty = [lane for lane in rows.lanes.keys() - live.keys() if rows.lanes[lane]["live"] != 0]
    demand(not empty, f"lanes that count what is not there: {empty}")
