"""Script heartbeats, and the handler of the scheduler's jobs (`ScheduleHandler`).

Script heartbeats fetch an answer from an address, post a text from a template, and start the agent if a condition
is met. Only the agent calls a model.

A person or a model wrote the address, so only the guarded fetcher calls it. The answer is untrusted: it is posted as
the agent's message with a taint, all tags are escaped, and every value is shortened. All effects of an answer are
written in the commit that ends the job, so a fetch that is repeated after a crash posts nothing twice.
"""

from __future__ import annotations

import asyncio
import json
import math
import operator
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import LeaseLost, ToolError
from arvis.domain.jobs import Done, Fail, Job, JobResult, Priority, Unfinished
from arvis.domain.markup import escape
from arvis.domain.regex import regex
from arvis.domain.schedules import Occurrence, OccurrenceStatus, Schedule
from arvis.domain.taint import CLEAN, Label
from arvis.domain.text import storable, storable_json, strict_json
from arvis.domain.webhooks import value_at
from arvis.messaging.messages import post, posted_by
from arvis.ports.clock import Clock
from arvis.ports.http import Fetched, Fetcher
from arvis.ports.store import Store, Transaction
from arvis.queue.queue import Handler
from arvis.scheduler import beginning
from arvis.services import schedule_runs
from arvis.tasks.state import TaskSpec

#: The text that replaces a value that the answer does not contain.
UNKNOWN = "??"
#: The maximum number of characters of one inserted value, and of the whole text.
LONGEST_VALUE = 500
LONGEST_TEXT = 8_000

_PLACE = regex(r"\{\{\s*([^{}]{1,200}?)\s*\}\}")
#: The number of characters of a value that are read. It is higher than `LONGEST_VALUE`, because blanks are removed
#: afterwards.
_LOOKED_AT = 10_000
#: The significant digits of numbers below 1, and the decimals of all other numbers.
_DIGITS = 4
_DECIMALS = 2
#: Numbers from `_HUGE` on, and numbers below `_TINY`, are shown with an exponent. Numbers from `_ABSURD` on are not
#: shown.
_HUGE, _TINY = 1e21, 1e-20
_ABSURD = 1e308

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


def render(template: str, answer: Any) -> str:
    """Return the template with values of the answer in its placeholders: `{{a.b.c}}`, and for lists `{{a.0.b}}` or
    `{{a[0].b}}`. Placeholders inside a value are not replaced."""
    room = LONGEST_TEXT

    def put(place: re.Match[str]) -> str:
        """Return the text for one placeholder. To save time, return "" if the earlier values already have
        `LONGEST_TEXT` characters."""
        nonlocal room
        text = shown(value_at(answer, place[1])) if room > 0 else ""
        room -= len(text)
        return text

    return _PLACE.sub(put, template)[:LONGEST_TEXT]


def shown(value: Any) -> str:
    """Return a value in the form that people read: one line of at most `LONGEST_VALUE` characters, with tags
    escaped."""
    match value:
        case None:
            return UNKNOWN
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number(value)
        case str():
            text = value[:_LOOKED_AT]
        case _:
            text = json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return escape(text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…")


def holds(condition: Mapping[str, Any], answer: Any) -> bool:
    """Return True if the answer meets the condition. The type of the condition's value decides whether texts or numbers
    are compared. The condition is not met if the answer has no value at the path, or no number where a number is
    compared."""
    found, wanted = value_at(answer, condition["path"]), condition["value"]
    if found is None:
        return False
    compare = _COMPARE[condition["op"]]
    if isinstance(wanted, str):
        return compare(_plain(found), wanted)
    number = _as_number(found)
    return number is not None and compare(number, wanted)


def _number(value: float) -> str:
    """Return a number in the form that people read, such as 1,234,567.89 or 142.3 or 0.00004567."""
    size = abs(value)
    if size >= _HUGE:
        return f"{float(value):.{_DIGITS}g}" if size < _ABSURD else "a number too large to show"
    if isinstance(value, int):
        return f"{value:,}"
    if 0 < size < _TINY:
        return f"{value:.{_DIGITS}g}"
    decimals = _DECIMALS if size >= 1 or size == 0 else _DIGITS - 1 - math.floor(math.log10(size))
    digits = f"{value:,.{decimals}f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _as_number(value: Any) -> float | None:
    """Return the value as a finite number, or None. A text that contains only a number is converted, because many
    services quote numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _plain(value: Any) -> str:
    """Return the value as text, for comparisons."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


TIMEOUT_SECONDS = 10.0
MOST_BYTES = 1_000_000
#: JSON above this size (bytes) is parsed in a thread, so that it does not block the event loop.
_THREAD_BYTES = 65_536
#: The minimum time (ms) between two agent runs of a script, even if its cooldown is shorter. Other schedules have the
#: same minimum.
LEAST_BETWEEN_ASKED_MS = 30_000
_LONGEST_FAILURE = 300
_OK = range(200, 300)

_FROM_OUTSIDE = frozenset({Label.TOOLS})


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """The result of fetching the script's address."""

    #: The parsed answer.
    answer: Any = None
    #: The reason why the fetch failed; "" if it succeeded.
    failure: str = ""


@dataclass(frozen=True, slots=True)
class ScriptEffects:
    """The consequences of an answer: the text to post, the task for the agent, and the new state."""

    #: The filled template.
    text: str
    #: True if `text` is posted.
    say: bool
    #: The task of the agent's run; None if the agent does not run.
    task: TaskSpec | None
    #: The new value of the schedule's `memo`: its last text, the times of the last post and run, and the last failure.
    memo: Mapping[str, Any]


class ScriptRunner:
    """The handler of the jobs that call a script. `fetcher` is called for each fetch and returns the HTTP client.
    `seconds` is the time limit of a fetch."""

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
        """Do nothing: `ScheduleHandler` ends the occurrence of a job that has failed."""

    async def announce(self, job: Job, outcome: Unfinished) -> None:
        """Do nothing, because no client waits for the result of a script."""

    async def _find(self, script: Mapping[str, Any]) -> ScriptResult:
        try:
            fetcher = await self._fetcher()
            fetched = await fetcher.fetch(
                script["url"],
                max_bytes=MOST_BYTES,
                timeout=self._seconds,
                headers={"Accept": "application/json", **(script.get("headers") or {})},
            )
        except ToolError as error:  # the fetcher refused the address, or got no answer
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
        return ScriptResult(failure="The answer is not valid JSON.")


def judge(script: Mapping[str, Any], answer: Any, memo: Mapping[str, Any], now: int) -> ScriptEffects:
    """Return the effects of an answer. The setting `notify` decides if the text is posted. With `always`, every text is
    posted. With `on_condition`, the condition must be met. With `on_change`, the text must differ from the last posted
    text. With the last two settings, at least `cooldown` seconds pass between two posts. With every setting, at least
    `cooldown` seconds pass between two runs of the agent."""
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
    """Return the task with the filled prompt, or None. If the prompt contains values of the answer, the task has a
    taint."""
    if prompt is None:
        return None
    whole = render(prompt, answer)
    return TaskSpec(whole, taint=CLEAN if whole == prompt else _FROM_OUTSIDE)


# -- transaction scripts -----------------------------------------------------------------------------------


def _script_of(tx: Transaction, job: Job) -> Mapping[str, Any] | None:
    """Return the script to run; None if the occurrence has ended or the schedule was deleted."""
    schedule, occurrence = _rows(tx, job)
    return schedule.script if schedule is not None and occurrence is not None else None


def conclude(tx: Transaction, job: Job, script: Mapping[str, Any] | None, finding: ScriptResult, now: int) -> None:
    """Write the effects of a fetch, and settle the job. If the script was changed during the fetch, the occurrence is
    skipped, because the answer belongs to the old script."""
    if not tx.jobs.settle(job, Done(), now):
        raise LeaseLost("This process no longer has the lease of the job, so it stores no result.")
    schedule, occurrence = _rows(tx, job)
    if occurrence is None:
        return
    if schedule is None or script is None or schedule.script != script:
        schedule_runs.end(
            tx, occurrence, OccurrenceStatus.SKIPPED, "The schedule was changed while its script ran.", now
        )
    elif finding.failure:
        _fail(tx, schedule, occurrence, finding.failure, now)
    else:
        verdicts = judge(script, finding.answer, schedule.memo, now)
        _post_effects(tx, schedule, occurrence, verdicts, now, by=job.payload.get("by"))


def _rows(tx: Transaction, job: Job) -> tuple[Schedule | None, Occurrence | None]:
    """Return the schedule and the occurrence of a job. The occurrence is None if it has ended."""
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
    """End the occurrence as failed. Post one line about the failure, unless the last failure had the same text."""
    line = escape(" ".join(storable(failure).split()))[:_LONGEST_FAILURE]
    if schedule.memo.get("failure") != line:
        _say(tx, schedule, f"{escape(schedule.name)}: {line}", now)
        tx.schedules.remember(schedule.id, {**schedule.memo, "failure": line})
    schedule_runs.end(tx, occurrence, OccurrenceStatus.FAILED, line, now)


def _say(tx: Transaction, schedule: Schedule, text: str, now: int) -> str:
    """Post the text as the agent's message in the schedule's channel, and return "". If it cannot be posted, return the
    reason."""
    agent, place = tx.agents.get(schedule.agent_id), posted_by(tx, schedule.address)
    if agent is None or not agent.active:
        return "The agent of this schedule is deleted or paused."
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
    """Return True if `milliseconds` have passed since the time `since`. Also return True if the clock was set back to a
    time before `since`."""
    return since is None or not 0 <= now - since < milliseconds


class ScheduleHandler:
    """The handler of jobs of the kinds `cron`, `heartbeat` and `webhook`. `runs` handles jobs that have an execution.
    `scripts` handles jobs without an execution, which call the script of a schedule."""

    def __init__(self, *, runs: Handler, scripts: Handler) -> None:
        self._runs = runs
        self._scripts = scripts

    async def run(self, job: Job) -> JobResult:
        return await self._handler_of(job).run(job)

    def postponed(self, tx: Transaction, job: Job, outcome: Unfinished, now: int) -> None:
        self._handler_of(job).postponed(tx, job, outcome, now)
        if job.execution_id is not None or not isinstance(outcome, Fail):
            return
        occurrence = tx.occurrences.get(str(job.payload.get("occurrence", "")))
        if occurrence is not None:
            schedule_runs.end(tx, occurrence, OccurrenceStatus.FAILED, outcome.error, now)

    async def announce(self, job: Job, outcome: Unfinished) -> None:
        await self._handler_of(job).announce(job, outcome)

    def _handler_of(self, job: Job) -> Handler:
        return self._runs if job.execution_id is not None else self._scripts
