"""The rows of the tables, and the part of them that the model of the job store predicts."""

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
    """A forbidden state or event."""


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows, by id where that helps."""

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
        """Return the replies and notices that end turns, without progress messages and superseded replies."""
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
    """Check that the table has the jobs of the model."""
    demand(rows.jobs.keys() == model.jobs.keys(), "the jobs are not those of the model")
    for job in model.jobs.values():
        row = rows.jobs[job.id]
        known = (job.status, job.attempts, job.crashes, job.owner, job.claim, job.key, job.merged_into, job.run_at)
        columns = ("status", "attempts", "crashes", "owner", "claim", "key", "merged_into", "run_at")
        demand(tuple(row[column] for column in columns) == known, f"{dict(row)} is not {known}")
        demand(row["ready"] == model.ready(job), f"{job.id} is ready {row['ready']}, not {model.ready(job)}")


def check_lanes(model: JobModel, rows: Rows) -> None:
    """Check that each lane has one live head, the model's order, and correct counters."""
    live: dict[str, list[Row]] = defaultdict(list)
    for row in rows.jobs.values():
        if row["status"] in LIVE:
            live[row["lane"]].append(row)
    for jobs in live.values():  # a head that has begun stays before jobs that were put first
        jobs.sort(key=lambda row: (row["ready"] == 0, row["position"]))
    known = {lane: [job.id for job in jobs] for lane, jobs in model.lanes.items()}
    demand(
        {lane: [row["id"] for row in jobs] for lane, jobs in live.items()} == known,
        "a lane has another order than in the model",
    )
    for lane, jobs in live.items():
        heads = [row["id"] for row in jobs if row["ready"] > 0]
        demand(heads == [jobs[0]["id"]], f"heads of {lane}: {heads}")
        demand(rows.lanes[lane]["live"] == len(jobs), f"{lane} counts {rows.lanes[lane]['live']} of {len(jobs)}")
        demand(rows.lanes[lane]["tail"] >= max(row["position"] for row in jobs), f"{lane} would number backwards")
    empty = [lane for lane in rows.lanes.keys() - live.keys() if rows.lanes[lane]["live"] != 0]
    demand(not empty, f"empty lanes that count live jobs: {empty}")
