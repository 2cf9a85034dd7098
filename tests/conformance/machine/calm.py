"""The end of a history: nothing fails any more, and everything that was accepted must end."""

from __future__ import annotations

from arvis.queue.queue import LOOK_SECONDS
from tests.conformance.machine.invariants import check
from tests.conformance.machine.job_model import LIVE
from tests.conformance.machine.process import LEASE_SECONDS, OWNER_IN_PERSON
from tests.conformance.machine.tables import FINAL, OPEN, Rows, demand
from tests.conformance.machine.town import Town

NODE = "node-1"
#: Limits that no history should reach: moves of the clock, and commits between two of them.
LOOKS, COMMITS = 400, 5_000
#: In seconds. After this time the lease of a dead process has expired.
LEASE_IS_OVER = LEASE_SECONDS + 1.0


def come_to_rest(town: Town) -> None:
    """Wake every process, send every event again, answer every question, and check that everything ends."""
    for process in town.processes.values():
        process.frozen = False
    town.rest()
    drain(town)
    nothing_is_forgotten(town)
    if NODE not in town.processes:
        town.start(NODE)
    for event in town.records.events:
        town.bring(town.processes[NODE], event)
    drain(town)
    for _ in range(LOOKS):
        rows = check(town)
        if not unended(rows):
            break
        answer_everything(town, rows)
        town.pass_time(max(LEASE_IS_OVER, until_something_is_due(town, rows)))
        drain(town)
    left = unended(check(town))
    demand(not left, f"never ends: {left}")
    demand(all(event.message_id for event in town.records.events), "an event was never accepted")


def drain(town: Town) -> None:
    """Carry out all waiting requests in order."""
    for _ in range(COMMITS):
        if not town.waiting:
            return
        town.proceed(town.waiting[0])
    demand(False, "too many commits before the clock moves")


def nothing_is_forgotten(town: Town) -> None:
    """Check that every claimable job has run, without any time passing. Only a refused write may need the next look."""
    check(town)
    if town.records.calls["refused"]:
        town.pass_time(LOOK_SECONDS)
        drain(town)
    if any(not process.stopping for process in town.processes.values()):
        ready = [job.id for job in town.jobs.claimable()]
        demand(not ready, f"claimable, but no process runs it: {ready}")


def until_something_is_due(town: Town, rows: Rows) -> float:
    """Return the seconds until the next due time of a job or question."""
    open_waits = [row["expires_at"] for row in rows.waits.values() if row["answered_at"] is None]
    due = [at for at in (town.jobs.next_due(), *open_waits) if at is not None]
    return (min(due, default=0) - town.wall.now) / 1000


def answer_everything(town: Town, rows: Rows) -> None:
    process = town.processes[NODE]
    for wait in rows.waits.values():
        if wait["answered_at"] is None and wait["kind"] in {"approval", "review", "user"}:
            process.do(process.operations.answer_wait(wait["id"], town.word_about(wait, "approve"), OWNER_IN_PERSON))
    town.rest()
    drain(town)


def unended(rows: Rows) -> list[str]:
    """Return the ids of everything that has not ended."""
    return [
        *(row["id"] for row in rows.asked if row["status"] not in FINAL),
        *(row["id"] for row in rows.jobs.values() if row["status"] in LIVE),
        *(row["id"] for row in rows.executions.values() if row["status"] in OPEN),
    ]
