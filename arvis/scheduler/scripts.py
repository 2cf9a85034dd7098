"""Script heartbeats: fetch an answer, post the text of a template, and ask the agent if a condition holds; no model
is involved before that (behaviour.md 1.12).

The address comes from a person or a model, so only the guarded fetcher calls it. The answer is untrusted data: it is
posted as the agent's message, tainted, with all tags escaped. All effects of an answer are written in the commit that
ends the job, so a fetch that is repeated after a crash posts nothing twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from arvis.domain.errors import LeaseLost, ToolError
from arvis.domain.jobs import Done, Job, JobResult, Priority, Unfinished
from arvis.domain.markup import escape
from arvis.domain.schedules import Occurrence, OccurrenceStatus, Schedule
from arvis.domain.taint import CLEAN, Label
from arvis.domain.text import storable, storable_json, strict_json
from arvis.messaging.channels import posted_by
from arvis.messaging.messages import post
from arvis.ports.clock import Clock
from arvis.ports.fetcher import Fetched, Fetcher
from arvis.ports.store import Store, Transaction
from arvis.scheduler import beginning
from arvis.scheduler.templates import holds, render
from arvis.services import schedule_runs
from arvis.tasks.task import TaskSpec

TIMEOUT_SECONDS = 10.0
MOST_BYTES = 1_000_000
#: JSON above this size (bytes) is parsed in a thread, so that it does not block the event loop.
_THREAD_BYTES = 65_536
#: Even with a shorter cooldown, a script asks a model no more often than other schedules may.
LEAST_BETWEEN_ASKED_MS = 30_000
_LONGEST_FAILURE = 300
_OK = range(200, 300)

_FROM_OUTSIDE = frozenset({Label.TOOLS})


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """The result of a fetch: the answer, read from JSON, or the reason why there is none."""

    answer: Any = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class ScriptEffects:
    """The effects of an answer: `text` is the filled template, posted only if `say`; `task` is the task for the
    agent. `memo` is the script's new state."""

    text: str
    say: bool
    task: TaskSpec | None
    memo: Mapping[str, Any]


class ScriptRunner:
    """Implements `Handler` for the jobs that `beginning` adds for scripts. `fetcher` is opened when it is first
    needed; an answer may take `seconds`."""

    def __init__(
        self,
        *,
        store: Store,
        fetcher: Callable[[], Awaitable[Fetcher]],
        clock: Clock,
        seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._store = store
        self._fetcher = fetcher
        self._clock = clock
        self._seconds = seconds

    async def run(self, job: Job) -> JobResult:
        script = await self._store.read(_script_of, job)
        finding = ScriptResult() if script is None else await self._find(script)
        await self._store.write(conclude, job, script, finding, self._clock.now())
        return Done()

    def postponed(self, tx: Transaction, job: Job, outcome: Unfinished, now: int) -> None:
        """Do nothing: `ScheduleHandler` ends the occurrence of a job that is given up."""

    async def announce(self, job: Job, outcome: Unfinished) -> None:
        """Do nothing: no client waits for it."""

    async def _find(self, script: Mapping[str, Any]) -> ScriptResult:
        try:
            fetcher = await self._fetcher()
            fetched = await fetcher.fetch(
                script["url"],
                max_bytes=MOST_BYTES,
                timeout=self._seconds,
                headers={"Accept": "application/json", **(script.get("headers") or {})},
            )
        except ToolError as error:  # refused, or no answer
            return ScriptResult(failure=error.what)
        if fetched.status not in _OK:
            return ScriptResult(failure=f"The address answered with status {fetched.status}.")
        if fetched.truncated:
            return ScriptResult(failure=f"The answer is larger than {MOST_BYTES:,} bytes.")
        if len(fetched.body) > _THREAD_BYTES:
            return await asyncio.to_thread(read_answer, fetched)
        return read_answer(fetched)


def read_answer(fetched: Fetched) -> ScriptResult:
    try:
        text = fetched.body.decode("utf-8-sig")
        return ScriptResult(storable_json(strict_json(text)))
    except (ValueError, RecursionError):
        return ScriptResult(failure="The answer is no JSON.")


def judge(script: Mapping[str, Any], answer: Any, memo: Mapping[str, Any], now: int) -> ScriptEffects:
    """Decide the effects of an answer. `notify` says when the text is posted: `always`, `on_condition` while the
    condition holds, `on_change` when it differs from the last posted text. Within `cooldown` seconds of the last
    time, neither a condition nor a change counts."""
    condition, notify = script.get("condition"), script.get("notify", "always")
    text = render(script["template"], answer)
    met = condition is not None and holds(condition, answer)
    rests = int(script.get("cooldown", 0) * 1000)
    awake = _passed(memo.get("said"), now, rests)
    say = {"always": True, "on_condition": met and awake, "on_change": text != memo.get("text") and awake}[notify]
    task = None
    if met and _passed(memo.get("asked"), now, max(rests, LEAST_BETWEEN_ASKED_MS)):
        task = _task_of((condition or {}).get("triggerPrompt"), answer)
    kept = {name: value for name, value in memo.items() if name != "failure"}
    kept |= {"text": text, "said": now} if say else {}
    kept |= {"asked": now} if task is not None else {}
    return ScriptEffects(text, say and bool(text.strip()), task, kept)


def _task_of(prompt: str | None, answer: Any) -> TaskSpec | None:
    """Fill the prompt. It may contain values of the answer, which are not its author's own text."""
    if prompt is None:
        return None
    whole = render(prompt, answer)
    return TaskSpec(whole, taint=CLEAN if whole == prompt else _FROM_OUTSIDE)


# -- scripts over a transaction ----------------------------------------------------------------------------


def _script_of(tx: Transaction, job: Job) -> Mapping[str, Any] | None:
    """Return the script to run, unless its occurrence has ended meanwhile."""
    schedule, occurrence = _rows(tx, job)
    return schedule.script if schedule is not None and occurrence is not None else None


def conclude(tx: Transaction, job: Job, script: Mapping[str, Any] | None, finding: ScriptResult, now: int) -> None:
    """Post the text, end the occurrence and the job. If the script was changed during the fetch, nothing is posted,
    because the answer belongs to its old version."""
    if not tx.jobs.settle(job, Done(), now):
        raise LeaseLost("The job was taken away while it ran")
    schedule, occurrence = _rows(tx, job)
    if occurrence is None:
        return
    if schedule is None or script is None or schedule.script != script:
        schedule_runs.end(tx, occurrence, OccurrenceStatus.SKIPPED, "It was changed meanwhile.", now)
    elif finding.failure:
        _fail(tx, schedule, occurrence, finding.failure, now)
    else:
        verdicts = judge(script, finding.answer, schedule.memo, now)
        _post_effects(tx, schedule, occurrence, verdicts, now, by=job.payload.get("by"))


def _rows(tx: Transaction, job: Job) -> tuple[Schedule | None, Occurrence | None]:
    """Return the rows, with the occurrence only while it is open."""
    occurrence = tx.occurrences.get(str(job.payload["occurrence"]))
    schedule = tx.schedules.get(str(job.payload["schedule"]))
    return schedule, occurrence if occurrence is not None and occurrence.ended_at is None else None


def _post_effects(
    tx: Transaction, schedule: Schedule, occurrence: Occurrence, verdicts: ScriptEffects, now: int, *, by: str | None
) -> None:
    refused = _say(tx, schedule, verdicts.text, now) if verdicts.say else ""
    if refused:
        schedule_runs.end(tx, occurrence, OccurrenceStatus.SKIPPED, refused, now)
        return
    tx.schedules.remember(schedule.id, verdicts.memo)
    if verdicts.task is not None:
        beginning.trigger(tx, schedule, occurrence, verdicts.task, now, by=by)
    else:
        status = OccurrenceStatus.DONE if verdicts.say else OccurrenceStatus.SILENT
        schedule_runs.end(tx, occurrence, status, verdicts.text, now)


def _fail(tx: Transaction, schedule: Schedule, occurrence: Occurrence, failure: str, now: int) -> None:
    """Post one line about a failure, and no second one while it continues."""
    line = escape(" ".join(storable(failure).split()))[:_LONGEST_FAILURE]
    if schedule.memo.get("failure") != line:
        _say(tx, schedule, f"{escape(schedule.name)}: {line}", now)
        tx.schedules.remember(schedule.id, {**schedule.memo, "failure": line})
    schedule_runs.end(tx, occurrence, OccurrenceStatus.FAILED, line, now)


def _say(tx: Transaction, schedule: Schedule, text: str, now: int) -> str:
    """Post the text as the agent's message in its channel, or return why not."""
    agent, place = tx.agents.get(schedule.agent_id), posted_by(tx, schedule.address)
    if agent is None or not agent.active:
        return "Its agent is deleted or paused."
    if isinstance(place, str):
        return place
    post(
        tx,
        agent=agent,
        address=place,
        text=text,
        source=schedule.source,
        taint=_FROM_OUTSIDE,
        priority=Priority.BACKGROUND,
        now=now,
    )
    return ""


def _passed(since: int | None, now: int, milliseconds: int) -> bool:
    """Return whether the time has passed; also true if the clock was set back before `since`."""
    return since is None or not 0 <= now - since < milliseconds
