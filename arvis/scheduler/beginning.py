"""Starts the work of one occurrence: a run of the schedule's agent or workflow, or a call of the schedule's script.

A run begins without history; its result is posted in the schedule's channel. The functions are parts of transaction
scripts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.agents import Agent, graph_named
from arvis.domain.dataclass import replace
from arvis.domain.errors import UsageError
from arvis.domain.jobs import JobKind, NewJob, Priority
from arvis.domain.messages import Address, PrincipalRole
from arvis.domain.schedules import Cause, MadeBy, Occurrence, OccurrenceStatus, Schedule, ScheduleKind
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.domain.workflows import PREFIX
from arvis.messaging.messages import posted_by
from arvis.ports.store import Transaction
from arvis.services import schedule_runs
from arvis.services.reminders import task_of
from arvis.services.schedules import limits_of
from arvis.services.workflow_runs import NewWorkflowRun, agent_of, asker_for, begin_keyed, entry_of, find, whole_version
from arvis.tasks.access import refusal, taint_of_authors
from arvis.tasks.state import TaskSpec
from arvis.tasks.task import NewRun, begin_run

STILL_RUNNING = "The previous run of this schedule has not ended."
_GRAPHS = {ScheduleKind.CRON: "agent", ScheduleKind.HEARTBEAT: "heartbeat"}
_KINDS = {ScheduleKind.CRON: JobKind.CRON, ScheduleKind.HEARTBEAT: JobKind.HEARTBEAT}

#: The instructions of every run that a schedule starts.
INSTRUCTIONS = (
    "A schedule has started you: no person waits for you or can answer.\n"
    "- Do the task immediately. Ask nothing, offer nothing, explain nothing.\n"
    "- Write only the result, in one to three lines, unless the task asks for another format.\n"
    "- If it cannot be done, write one line that says what failed.\n"
    "- If there is nothing that people need to hear, write [SILENT] and nothing else."
)


def begin(
    tx: Transaction, schedule: Schedule, due: int, cause: Cause, now: int, *, by: str | None = None
) -> Occurrence | None:
    """Store an occurrence of the schedule for the time `due` (ms), and begin its work. If the work cannot begin, store
    the reason in the occurrence.

    If an occurrence for this time exists already, return None and write nothing. `by` is the id of the person who
    requested the run, or None if the schedule was due. The run has no rights that this person lacks.
    """
    ready = _ready(tx, schedule, by)
    if isinstance(ready, str):
        return note(tx, schedule, due, cause, report=ready, now=now)
    occurrence = Occurrence(tx.new_id(), schedule.id, due, cause, OccurrenceStatus.RUNNING, None, "", now)
    if not tx.occurrences.add(occurrence):
        return None
    if schedule.script is not None:
        begun = _call_script(tx, schedule, occurrence, now, by=by)
        return occurrence if begun else _end(tx, occurrence, STILL_RUNNING, now)
    if schedule.graph is not None and schedule.graph.startswith(PREFIX):
        return _walk(tx, schedule, ready, occurrence, now=now, by=by)
    run = _run(tx, schedule, ready, task_of(schedule), otherwise=_GRAPHS[schedule.kind], by=by)
    return _ask(tx, schedule, run, occurrence, priority=Priority.BACKGROUND, now=now)


def trigger(
    tx: Transaction, schedule: Schedule, occurrence: Occurrence, task: TaskSpec, now: int, *, by: str | None = None
) -> Occurrence:
    """Begin the agent's run of an occurrence whose script has met its condition. Return the changed occurrence.

    The occurrence ends when the run ends. If the run cannot begin, the occurrence ends at once. Before this call, the
    caller must have settled the job of the script in the same commit. `by` is the id of the person who requested the
    occurrence, or None.
    """
    ready = _ready(tx, schedule, by)
    occurrence = replace(occurrence, cause=Cause.CONDITION)
    if isinstance(ready, str):
        return _end(tx, occurrence, ready, now)
    run = _run(tx, schedule, ready, task, otherwise=_GRAPHS[ScheduleKind.CRON], by=by)
    return _ask(tx, schedule, run, occurrence, priority=Priority.MESSAGE, now=now)


def note(tx: Transaction, schedule: Schedule, due: int, cause: Cause, *, report: str, now: int) -> Occurrence | None:
    """Store an occurrence that is skipped for the reason `report`. If the previous occurrence was skipped for the same
    reason, return that occurrence and write nothing."""
    last = next(iter(tx.occurrences.newest(schedule.id, 1)), None)
    skipped = Occurrence(tx.new_id(), schedule.id, due, cause, OccurrenceStatus.SKIPPED, None, report, now, now)
    if last is not None and last.status is OccurrenceStatus.SKIPPED and last.report == report:
        return last
    return skipped if tx.occurrences.add(skipped) else None


def _ready(tx: Transaction, schedule: Schedule, by: str | None) -> tuple[Agent, Address] | str:
    """Return the agent that runs and the address where its result is posted. If the schedule may not run now, return
    the reason as a sentence."""
    agent, place = tx.agents.get(schedule.agent_id), posted_by(tx, schedule.address)
    if agent is None:
        return "The agent of this schedule no longer exists."
    if not agent.active:
        return f"The agent {agent.slug} is {agent.status}."
    person = tx.principals.get(schedule.principal_id) if schedule.principal_id is not None else None
    if person is not None and person.role is PrincipalRole.BLOCKED:
        return "The person for whom the schedule runs is blocked."
    asker = asker_for(tx, schedule.principal_id, schedule.address, limits_of(schedule, by))
    if (against := refusal(tx, agent, asker)) is not None:
        return f"The person for whom the schedule runs may not use the agent {agent.slug}. {against}"
    return place if isinstance(place, str) else (agent, place)


def _ask(
    tx: Transaction, schedule: Schedule, run: NewRun, occurrence: Occurrence, *, priority: int, now: int
) -> Occurrence:
    """Begin the agent's run, which will end this occurrence. Return the occurrence with the id of the execution."""
    kind = _KINDS[schedule.kind]
    begun = begin_run(tx, run, kind=kind, lane=schedule.key, priority=priority, now=now, key=schedule.key)
    if begun is None:
        return _end(tx, occurrence, STILL_RUNNING, now)
    occurrence = replace(occurrence, execution_id=begun.id)
    tx.occurrences.save(occurrence)
    return occurrence


def _walk(
    tx: Transaction,
    schedule: Schedule,
    ready: tuple[Agent, Address],
    occurrence: Occurrence,
    *,
    now: int,
    by: str | None,
) -> Occurrence:
    """Begin the run of the schedule's workflow, which will end this occurrence. If the run cannot begin, end the
    occurrence as failed."""
    try:
        begun = begin_keyed(tx, _wanted(tx, schedule, *ready, by), now, key=schedule.key)
    except UsageError as gone:
        problem = " ".join(filter(None, [gone.what, gone.why, gone.fix]))
        schedule_runs.end(tx, occurrence, OccurrenceStatus.FAILED, problem, now)
        return tx.occurrences.get(occurrence.id) or occurrence
    if begun is None:
        return _end(tx, occurrence, STILL_RUNNING, now)
    occurrence = replace(occurrence, execution_id=begun.id)
    tx.occurrences.save(occurrence)
    return occurrence


def _wanted(tx: Transaction, schedule: Schedule, agent: Agent, place: Address, by: str | None) -> NewWorkflowRun:
    """Return the workflow run that the schedule starts. Nodes that name no agent use the agent of the schedule."""
    workflow = find(tx, schedule.graph or "")
    version = whole_version(tx, workflow)
    limits = limits_of(schedule, by)
    return NewWorkflowRun(
        workflow=workflow,
        agent=agent_of(tx, version, asker_for(tx, schedule.principal_id, place, limits), agent.id),
        address=place,
        source=schedule.source,
        input=schedule.prompt or None,
        trigger=schedule.prompt or schedule.name,
        principal_id=schedule.principal_id,
        entry=_entry(schedule, version.document),
        taint=_taint_of(tx, schedule),
        priority=Priority.BACKGROUND,
        kind=_KINDS[schedule.kind],
        lane=schedule.key,
        more=limits,
    )


def _entry(schedule: Schedule, document: Mapping[str, Any]) -> str:
    """Return the id of the workflow's trigger for this kind of schedule: `heartbeat` for heartbeats, `schedule` or
    `calendar` for crons. If the workflow has no such trigger, return the node at which its runs usually start."""
    kinds = ("heartbeat",) if schedule.kind is ScheduleKind.HEARTBEAT else ("schedule", "calendar")
    entries = [entry_of(document, kind) for kind in kinds]
    usual = entry_of(document)
    return next((entry for entry in entries if entry != usual), usual)


def _taint_of(tx: Transaction, schedule: Schedule) -> Taint:
    """Return the taint of a schedule's text. The text has a taint if a model wrote it, or if its author has fewer
    rights than the person for whom the schedule runs."""
    model = CLEAN if schedule.created_by is MadeBy.API else frozenset({Label.AGENTS})
    return model | taint_of_authors(tx, schedule.principal_id, [schedule.author])


def _end(tx: Transaction, occurrence: Occurrence, report: str, now: int) -> Occurrence:
    ended = replace(occurrence, status=OccurrenceStatus.SKIPPED, report=report, ended_at=now)
    tx.occurrences.save(ended)
    return ended


def _run(
    tx: Transaction,
    schedule: Schedule,
    ready: tuple[Agent, Address],
    task: TaskSpec,
    *,
    otherwise: str,
    by: str | None,
) -> NewRun:
    """Return the agent run that the schedule starts. If the schedule names no graph, the run uses the graph
    `otherwise`."""
    agent, place = ready
    graph = graph_named(schedule.graph or otherwise)
    return NewRun(
        agent=agent,
        task=replace(
            task,
            instructions=INSTRUCTIONS,
            taint=task.taint | _taint_of(tx, schedule),
            model=schedule.model,
            effort=schedule.effort,
        ),
        address=place,
        principal_id=schedule.principal_id,
        source=schedule.source,
        graph=graph,
        more=limits_of(schedule, by)
        | ({"max_cycles": schedule.max_cycles} if graph == _GRAPHS[ScheduleKind.HEARTBEAT] else {}),
    )


def _call_script(tx: Transaction, schedule: Schedule, occurrence: Occurrence, now: int, *, by: str | None) -> bool:
    """Add the job that runs the schedule's script. The job has no execution, so `ScheduleHandler` passes it to
    `ScriptRunner`. Return False if the schedule's previous job has not ended."""
    job = NewJob(
        kind=JobKind.HEARTBEAT,
        priority=Priority.BACKGROUND,
        lane=schedule.key,
        key=schedule.key,
        key_live=True,
        agent_id=schedule.agent_id,
        principal_id=schedule.principal_id,
        payload={
            "schedule": schedule.id,
            "due": occurrence.due,
            "occurrence": occurrence.id,
            **({"by": by} if by is not None else {}),
        },
    )
    return tx.jobs.add(job, now).created
