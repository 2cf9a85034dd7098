"""Script heartbeats: fetch an answer, post the text of a template, and ask the agent if a condition holds; no model
is involved before that (behaviour.md 1.12).

The address comes from a person or a model, so only the guarded fetcher calls it. The answer is untrusted data: it is
posted as the agent's message, tainted, with all tags escaped and every value cut to a line or two. All effects of an
answer are written in the commit that ends the job, so a fetch that is repeated after a crash posts nothing twice.
"""

from __future__ import annotations

import asyncio
import json
import math
import operator
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from arvis.domain.errors import LeaseLost, ToolError
from arvis.domain.jobs import Done, Job, JobResult, Priority, Unfinished
from arvis.domain.markup import escape
from arvis.domain.schedules import Occurrence, OccurrenceStatus, Schedule
from arvis.domain.taint import CLEAN, Label
from arvis.domain.text import storable, storable_json, strict_json
from arvis.domain.webhooks import value_at
from arvis.messaging.messages import post, posted_by
from arvis.ports.clock import Clock
from arvis.ports.http import Fetched, Fetcher
from arvis.ports.store import Store, Transaction
from arvis.scheduler import beginning
from arvis.services import schedule_runs
from arvis.tasks.state import TaskSpec

#: Inserted for a value that the answer does not contain.
UNKNOWN = "??"
#: Maximum characters of one value, and of the whole text.
LONGEST_VALUE = 500
LONGEST_TEXT = 8_000

_PLACE = re.compile(r"\{\{\s*([^{}]{1,200}?)\s*\}\}")
#: Characters of a text that are examined: most of it may be blanks.
_LOOKED_AT = 10_000
#: Numbers below 1 are shown with this many significant digits; others with this many decimals.
_DIGITS = 4
_DECIMALS = 2
#: From this number on, digits are not useful to a reader.
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
    """Return the template with its values: `{{a.b.c}}`, in lists by number, `{{a.0.b}}` or `{{a[0].b}}`. Placeholders
    inside a value are not replaced."""
    room = LONGEST_TEXT

    def put(place: re.Match[str]) -> str:
        """Cut a value before it is formatted, because an answer may be very large."""
        nonlocal room
        text = shown(value_at(answer, place[1])) if room > 0 else ""
        room -= len(text)
        return text

    return _PLACE.sub(put, template)[:LONGEST_TEXT]


def shown(value: Any) -> str:
    """Return a value for people, in one line of at most 500 characters."""
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
    """Return whether the condition holds. Numbers are compared as numbers if the condition's value is one, else texts
    as texts. A missing value never meets a condition, and neither does text where a number is required."""
    found, wanted = value_at(answer, condition["path"]), condition["value"]
    if found is None:
        return False
    compare = _COMPARE[condition["op"]]
    if isinstance(wanted, str):
        return compare(_plain(found), wanted)
    number = _as_number(found)
    return number is not None and compare(number, wanted)


def _number(value: float) -> str:
    """1,234,567.89 · 142.3 · 0.00004567"""
    size = abs(value)
    if size >= _HUGE:
        return f"{float(value):.{_DIGITS}g}" if size < _ABSURD else "more than can be said"
    if isinstance(value, int):
        return f"{value:,}"
    if 0 < size < _TINY:
        return f"{value:.{_DIGITS}g}"
    decimals = _DECIMALS if size >= 1 or size == 0 else _DIGITS - 1 - math.floor(math.log10(size))
    digits = f"{value:,.{decimals}f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _as_number(value: Any) -> float | None:
    """Return numbers, and texts that are written as one: many services quote theirs."""
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
        return ScriptResult(failure="The answer is not valid JSON.")


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
