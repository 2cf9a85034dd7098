"""Converts jobs of other programs that run at certain times to schedules."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from arvis.calendar import zone_of
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Unprocessable
from arvis.domain.schedules import ScheduleKind
from arvis.interchange.format import Place
from arvis.interchange.peers.draft import SUPPORTED, Draft
from arvis.interchange.peers.home import Row, as_text
from arvis.interchange.peers.transcripts import moment

_MS = 1000
_FIELDS = (5, 6)


@dataclass(frozen=True, slots=True)
class Job:
    """A job of another program. `key` is the id of the job there."""

    key: str
    agent: str
    name: str
    #: The times, in the form that `arvis.calendar` reads.
    times: str
    timezone: str | None
    prompt: str
    #: The place for the job's answers. None means the dashboard.
    place: Place | None
    enabled: bool
    kind: ScheduleKind = ScheduleKind.CRON


def add_job(draft: Draft, job: Job) -> None:
    """Add a schedule. If another schedule already has the name, append the id of the job, because names are unique."""
    name = " ".join("".join(letter for letter in job.name if letter.isprintable()).split())[:80] or job.key
    if not draft.once("schedules", f"{job.agent} {job.kind} {name}"):
        name = f"{name} ({job.key[:12]})"
    place, label = job.place, f"{job.agent}: {name}"
    if place is not None and place.platform not in SUPPORTED:
        draft.home.leave(
            "schedules", label, f"Arvis has no connector for {place.platform}, so its answers go to the dashboard"
        )
        place = None
    shown = Place(platform="web", channel=job.agent) if place is None else place.model_copy(update={"connector": ""})
    if not job.prompt.strip():
        draft.home.leave("schedules", label, "it has no prompt")
    elif draft.add(
        "schedules", label, kind=job.kind, agent=job.agent, name=name, schedule=job.times, timezone=job.timezone,
        prompt=job.prompt, place=shown.model_dump(), enabled=job.enabled,
    ) and not job.enabled:  # fmt: skip
        draft.home.leave("schedules", label, "it was turned off in the other program, and stays off")


def zone_in(draft: Draft, agent: str, name: Any) -> str | None:
    """Return the name of a home's time zone. If the home names no known time zone, add a remark and return None."""
    try:
        return zone_of(as_text(name).strip() or "-").key
    except Unprocessable:
        named = f"its time zone {str(name)[:60]!r} is unknown" if name else "it used the time zone of its machine"
        why = f"{named}; its schedules use the time zone of Arvis, and times of messages without an offset count as UTC"
        draft.home.leave("agents", agent, why)
        return None


def times_of(draft: Draft, label: str, schedule: Row) -> str | None:
    """Return the times of a schedule whose `kind` is `at`, `every` or `cron`, in the form of OpenClaw and nanobot. For
    another kind, for invalid times, or if the only time has passed, add a remark and return None."""
    match schedule.get("kind"):
        case "cron":
            return cron_times(draft, label, schedule.get("expr"))
        case "every":
            return interval(draft, label, schedule.get("everyMs"))
        case "at":
            at = schedule.get("at", schedule.get("atMs"))
            return single_time(draft, label, moment(at))
        case kind:
            why = f"a schedule of the kind {str(kind)[:40]} starts work after an event; use a webhook or a workflow instead"
            draft.home.leave("schedules", label, why)
            return None


def cron_times(draft: Draft, label: str, line: Any) -> str | None:
    fields = line.split() if isinstance(line, str) else []
    if len(fields) in _FIELDS and len(line) <= 200:  # noqa: PLR2004 - a longer text is no cron line
        return " ".join(fields)
    draft.home.leave(
        "schedules", label, f"its times {str(line)[:60]!r} are not a cron expression with five or six fields"
    )
    return None


def interval(draft: Draft, label: str, milliseconds: Any) -> str | None:
    if isinstance(milliseconds, int | float) and _MS <= milliseconds < 10**12:
        seconds = int(milliseconds) // _MS
        for length, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
            if seconds % length == 0:
                return f"every {seconds // length} {unit}"
        return f"every {seconds} s"
    draft.home.leave("schedules", label, f"its interval {str(milliseconds)[:60]!r} is not a number of milliseconds")
    return None


def single_time(draft: Draft, label: str, at: int | None) -> str | None:
    if at is not None and at > draft.choice.now:
        return f"at {datetime.fromtimestamp(at // _MS, UTC).strftime('%Y-%m-%dT%H:%M:%S+00:00')}"
    draft.home.leave("schedules", label, "its only time is unknown or has passed")
    return None
