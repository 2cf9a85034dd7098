"""Changes of schedules (crons and heartbeats) by people and the conductor: create, change, remove and undo, within
limits. The functions only write rows; `scheduler/` runs the schedules. Each change stores a version in the same
commit."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from arvis.calendar import Every, next_times, parse, pinned, shortest_gap_seconds, zone_of
from arvis.domain.agents import GRAPHS, Agent, graph_named, is_model
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effort import EFFORTS
from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.domain.regex import regex
from arvis.domain.schedules import MadeBy, Missed, Schedule, ScheduleKind
from arvis.domain.text import storable
from arvis.domain.versions import Versioned, version_before
from arvis.domain.workflows import PREFIX
from arvis.ports.store import Transaction
from arvis.services import agents
from arvis.services.workflow_runs import asker_for, graph_of
from arvis.tasks.access import author_after, check_use, written_by

_LARGEST = 16_384
_LONGEST_URL = 2_000
_LONGEST_TEXT = 4_000
_LONGEST_PATH = 200
_MOST_HEADERS = 20
_LONGEST_COOLDOWN = 30 * 86_400

_OPERATORS = (">", "<", ">=", "<=", "==", "!=")
_NOTIFY = ("always", "on_condition", "on_change")
_HEADER = regex(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", re.ASCII)
#: Headers that the HTTP client sets, because only it knows their correct values.
_OWN_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_HEADER_VALUE = regex(r"[\x20-\x7e]{0,2000}", re.ASCII)


def checked_script(raw: Any) -> Mapping[str, Any]:
    """Check the script of a heartbeat and return it unchanged. Raise `Unprocessable` with the name of a wrong field."""
    fields = _object("script", raw, {"type", "url", "headers", "template", "condition", "notify", "cooldown"})
    if fields.get("type") != "script":
        raise _wrong("type", 'must be "script"')
    _check_url(fields.get("url"))
    _text("template", fields.get("template"), _LONGEST_TEXT)
    _check_headers(fields.get("headers"))
    _check_condition(fields.get("condition"))
    if "notify" in fields and fields["notify"] not in _NOTIFY:
        raise _wrong("notify", f"must be one of {', '.join(_NOTIFY)}")
    if not _is_number(cooldown := fields.get("cooldown", 0)) or not 0 <= cooldown <= _LONGEST_COOLDOWN:
        raise _wrong("cooldown", "must be a number of seconds, at most 30 days")
    if len(json.dumps(fields)) > _LARGEST:
        raise _wrong("script", f"is larger than {_LARGEST} bytes")
    return fields


def _check_url(url: Any) -> None:
    _text("url", url, _LONGEST_URL)
    try:
        place = urlsplit(url)
        whole = place.scheme in {"http", "https"} and bool(place.hostname) and url.isprintable() and " " not in url
    except ValueError:
        whole = False
    if not whole:
        raise _wrong("url", "must be an address that begins with http:// or https://")


def _check_headers(headers: Any) -> None:
    if headers is None:
        return
    if not isinstance(headers, dict) or len(headers) > _MOST_HEADERS:
        raise _wrong("headers", f"must be an object of at most {_MOST_HEADERS} texts")
    for name, value in headers.items():
        if not _HEADER.fullmatch(name) or not isinstance(value, str) or not _HEADER_VALUE.fullmatch(value):
            raise _wrong("headers", "must contain valid names and values of HTTP headers")
        if name.lower() in _OWN_HEADERS:
            raise _wrong("headers", f"must not contain {name}, which Arvis sets itself")


def _check_condition(condition: Any) -> None:
    if condition is None:
        return
    fields = _object("condition", condition, {"path", "op", "value", "triggerPrompt"})
    _text("condition.path", fields.get("path"), _LONGEST_PATH)
    if fields.get("op") not in _OPERATORS:
        raise _wrong("condition.op", f"must be one of {' '.join(_OPERATORS)}")
    if not isinstance(fields.get("value"), str) and not _is_number(fields.get("value")):
        raise _wrong("condition.value", "must be a number or a text")
    if "triggerPrompt" in fields:
        _text("condition.triggerPrompt", fields["triggerPrompt"], _LONGEST_TEXT)


def _object(name: str, raw: Any, known: Collection[str]) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise _wrong(name, "must be an object")
    for key, value in raw.items():
        if key not in known:
            raise _wrong(name, f"has no field {str(key)[:40]!r}; its fields are {', '.join(sorted(known))}")
        if isinstance(value, str) and storable(value) != value:
            raise _wrong(f"{name}.{key}", "contains characters that cannot be stored")
    return raw


def _text(name: str, value: Any, most: int) -> None:
    if not isinstance(value, str) or not 0 < len(value) <= most:
        raise _wrong(name, f"must be a text of at most {most} characters")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _wrong(name: str, problem: str) -> Unprocessable:
    return Unprocessable(
        f"`{name}` {problem}.",
        why=(
            "A script is a JSON object with type, url and template. Optional fields are headers, condition, notify "
            "and cooldown."
        ),
        fix='Write for example {"type": "script", "url": "https://…", "template": "{{price}}"}.',
        code="bad_script",
    )


#: The number of next times that are shown for a schedule.
SHOWN_TIMES = 5

#: Keys in a reminder's `memo`: the list of agents that its person could use (None: all agents), and whether the person
#: was paired.
REACH, PAIRED = "reach", "paired"

CHANGEABLE = frozenset(
    {
        "name", "schedule", "timezone", "prompt", "platform", "connector", "channel", "thread", "script", "missed",
        "grace", "graph", "max_cycles", "enabled", "model", "effort",
    }
)  # fmt: skip

#: The graphs that a schedule can use. Only schedules use the graph `heartbeat`.
_GRAPHS = GRAPHS | {"heartbeat"}
_MOST_CYCLES = 10
#: Fields that only enable or disable a schedule. Changing them does not change the user for whom the schedule acts.
_SWITCHES = frozenset({"enabled"})
#: Fields that the scheduler writes while a schedule runs. An undo does not change them.
_LIVED = ("last_run", "failures", "cooldown_until", "memo")

_LONGEST_NAME = 100
_LONGEST_PLACE = 200
_LARGEST_PROMPT = 8_192


@dataclass(frozen=True, slots=True)
class Rules:
    """The limits of schedules: the maximum number of crons and heartbeats of an agent, the maximum number of reminders
    of a person, and the minimum number of seconds between two times. `zone` is the default time zone."""

    zone: str = "UTC"
    crons_per_agent: int = 10
    heartbeats_per_agent: int = 10
    reminders_per_person: int = 20
    least_seconds: int = 30
    least_script_seconds: int = 5
    least_reminder_seconds: int = 60

    def most(self, kind: ScheduleKind) -> int:
        return self.crons_per_agent if kind is ScheduleKind.CRON else self.heartbeats_per_agent

    def least(self, schedule: Schedule) -> int:
        if schedule.script is not None:
            return self.least_script_seconds
        return self.least_reminder_seconds if is_reminder(schedule) else self.least_seconds


def add_schedule(tx: Transaction, wanted: Schedule, rules: Rules, now: int) -> Schedule:
    """Create a schedule. `wanted.agent_id` can be a slug. The schedule gets a new id and new times, and a name if it
    has none. If its time expression is a time of day without a date, add the next date with this time."""
    agent = _agent(tx, wanted.agent_id)
    _refuse_more(tx, wanted, agent, rules)
    name = wanted.name.strip() or _free_name(tx, agent, wanted.kind)
    wanted = _checked(tx, replace(wanted, id=tx.new_id(), agent_id=agent.id, name=name))
    made = replace(_timed(tx, wanted, rules, now), last_run=None, created_at=now, updated_at=now)
    if made.enabled and isinstance(parse(made.schedule), Every):
        made = replace(made, next_run=now)  # The first occurrence of an interval is due at once.
    tx.schedules.add(made)
    _keep(tx, None, made, made.principal_id, now)
    return made


def change_schedule(
    tx: Transaction, schedule_id: str, changes: Mapping[str, Any], rules: Rules, now: int, *, by: str | None
) -> Schedule:
    """Change the fields of `Schedule` that `changes` names; keep the other fields.

    From then on the schedule acts for `by` (the id of a person), so that no user can put text into a schedule with
    another user's rights. A change that only enables or disables the schedule does not change this person. The
    schedule's author is the user who last changed its text. The next time is computed again only if a field on which it
    depends has changed.
    """
    known = find_schedule(tx, schedule_id)
    wanted = with_changes(known, changes)
    if not changes.keys() <= _SWITCHES:
        wanted = _taken_over(wanted, by)
        words = {"prompt": wanted.prompt, "script": wanted.script, "graph": wanted.graph}
        wanted = replace(wanted, author_id=author_after(tx, words, changes, known.author, by))
    return _write(tx, known, wanted, rules, now)


def remove_schedule(tx: Transaction, schedule_id: str, now: int, *, by: str | None) -> Schedule:
    """Remove a schedule and return it."""
    known = find_schedule(tx, schedule_id)
    tx.schedules.remove(known.id)
    _keep(tx, known, None, by, now)
    return known


def undo_schedule(tx: Transaction, schedule_id: str, rules: Rules, now: int, *, by: str | None) -> Schedule | None:
    """Restore the schedule's previous version and store it as a new version, so a second call reverses the first. The
    restored schedule acts for `by`. A removed schedule is restored with its old id. If there is no previous version,
    remove the schedule and return None.

    Raise `UsageError` if the previous version is no longer allowed: its name is taken, the limit of schedules is
    reached, or its time has passed.
    """
    known = tx.schedules.get(schedule_id)
    versions = tx.versions.newest(Versioned.SCHEDULE, schedule_id, 2)
    if known is None and not versions:
        raise _no_schedule()
    before = version_before(versions).data
    if before is None:
        remove_schedule(tx, schedule_id, now, by=by)
        return None
    wanted = _schedule_of(before)
    wanted = replace(wanted, author_id=wanted.author)  # restoring a version does not change its author
    if known is not None:
        wanted = replace(wanted, **{name: getattr(known, name) for name in _LIVED})
        return _write(tx, known, _taken_over(wanted, by), rules, now)
    wanted = _taken_over(wanted, by)
    _refuse_more(tx, wanted, _agent(tx, wanted.agent_id), rules)
    back = replace(_timed(tx, _checked(tx, wanted), rules, now), updated_at=now)
    tx.schedules.add(back)
    _keep(tx, None, back, by, now)
    return back


def with_changes(schedule: Schedule, changes: Mapping[str, Any]) -> Schedule:
    """Return the schedule with these changes. Raise `Unprocessable` for a field that cannot be changed."""
    if unknown := changes.keys() - CHANGEABLE:
        raise Unprocessable(f"`{min(unknown)}` of a schedule cannot be changed.", fix="Create another schedule.")
    return replace(schedule, **changes)


def find_schedule(tx: Transaction, schedule_id: str) -> Schedule:
    schedule = tx.schedules.get(schedule_id)
    if schedule is None:
        raise _no_schedule()
    return schedule


def _no_schedule() -> NotFound:
    return NotFound(
        "There is no such schedule.",
        fix="`arvis schedules list` and GET /api/schedules list the schedules.",
    )


def zone_for(tx: Transaction, schedule: Schedule, rules: Rules) -> str:
    """Return the name of the schedule's time zone: its own zone, else the zone of its agent, else the default zone."""
    agent = tx.agents.get(schedule.agent_id)
    return schedule.timezone or (agent.timezone if agent else None) or rules.zone


def coming(tx: Transaction, schedule: Schedule, rules: Rules, now: int) -> list[int]:
    """Return the next `SHOWN_TIMES` times of a schedule in ms. Return no times if it is disabled or has no next
    time."""
    if not schedule.enabled or schedule.next_run is None:
        return []
    text, zone = parse(schedule.schedule), zone_for(tx, schedule, rules)
    if schedule.next_run <= now:
        return next_times(text, zone, now, SHOWN_TIMES)
    return [schedule.next_run, *next_times(text, zone, schedule.next_run, SHOWN_TIMES - 1)]


def _agent(tx: Transaction, name: str) -> Agent:
    """Return the agent with this id or slug. Raise `NotFound` if it does not exist or is deleted."""
    agent = agents.find(tx, name)
    if agent is None:
        raise NotFound(
            f"There is no agent {name[:64]!r}.", fix="`arvis agents list` lists the agents.", code="unknown_agent"
        )
    return agents.present(tx, agent.id)


def is_reminder(schedule: Schedule) -> bool:
    """Return True if an agent's tool created the schedule for the person in a conversation. Such a schedule counts
    against the person's quota, not the agent's."""
    return schedule.created_by is MadeBy.TOOL


def reach_of(schedule: Schedule) -> dict[str, Any]:
    """Return the part of an execution's state that limits the agents that the execution can use. A reminder can use
    only the agents that its person could use when the reminder was created. Other schedules have no such limit."""
    if not is_reminder(schedule):
        return {}
    # Older reminders lack these keys. Their people count as paired, because an agent answered them.
    return {REACH: schedule.memo.get(REACH), PAIRED: bool(schedule.memo.get(PAIRED, True))}


def limits_of(schedule: Schedule, *requesters: str | None) -> dict[str, Any]:
    """Return the limits of an execution of this schedule: the limits of `reach_of`, the rights of the text's author,
    and the rights of the `requesters`, such as a user who starts the schedule manually."""
    return reach_of(schedule) | written_by(schedule.principal_id, schedule.author, *requesters)


def _taken_over(wanted: Schedule, by: str | None) -> Schedule:
    """Return the schedule, changed to act for `by`. A reminder of another person becomes an ordinary schedule."""
    if is_reminder(wanted) and wanted.principal_id != by:
        return replace(wanted, principal_id=by, created_by=MadeBy.API, memo={})
    return replace(wanted, principal_id=by)


def _refuse_more(tx: Transaction, wanted: Schedule, agent: Agent, rules: Rules) -> None:
    """Raise `Conflict` if no more schedules are allowed. A reminder counts towards the limit of its person, any other
    schedule towards the limit of its agent."""
    if is_reminder(wanted):
        who, there, most = "This person", len(_reminders_of(tx, wanted, rules)), rules.reminders_per_person
    else:
        who, most = f"The agent {agent.slug}", rules.most(wanted.kind)
        there = tx.schedules.count(agent.id, wanted.kind)
    if there >= most:
        noun = "reminder" if is_reminder(wanted) else wanted.kind
        raise Conflict(
            f"{who} already has {there} {noun}s. This is the limit.",
            fix="Remove one that is not needed.",
            code="too_many_schedules",
        )


def _reminders_of(tx: Transaction, wanted: Schedule, rules: Rules) -> list[Schedule]:
    return tx.schedules.of_person(wanted.principal_id or "", max(1, rules.reminders_per_person))


def _write(tx: Transaction, known: Schedule, wanted: Schedule, rules: Rules, now: int) -> Schedule:
    wanted = replace(wanted, next_run=known.next_run, failures=0, cooldown_until=None)
    changed = replace(_checked(tx, wanted), updated_at=now)
    if changed.script != known.script:
        changed = replace(changed, memo={})
    if _timing(changed) != _timing(known):
        changed = _timed(tx, changed, rules, now)
    tx.schedules.update(changed, now)
    _keep(tx, known, changed, changed.principal_id, now)
    return changed


def _keep(tx: Transaction, before: Schedule | None, after: Schedule | None, by: str | None, now: int) -> None:
    """Store a version of the change. Store nothing if the schedule is unchanged, because undoing such a version would
    have no effect."""
    row = before or after
    if row is None or (before and after and replace(before, updated_at=after.updated_at) == after):
        return
    tx.versions.keep(
        Versioned.SCHEDULE, row.id, asdict(after) if after else None, by, now, before=asdict(before) if before else None
    )


def _schedule_of(data: Mapping[str, Any]) -> Schedule:
    """Return the schedule of a stored version. Old versions lack `created_by`."""
    enums = {"kind": ScheduleKind(data["kind"]), "missed": Missed(data["missed"])}
    return Schedule(**{**data, **enums, "created_by": MadeBy(data.get("created_by", MadeBy.API))})


def _free_name(tx: Transaction, agent: Agent, kind: ScheduleKind) -> str:
    names = (f"{kind} {number}" for number in count(1))
    return next(name for name in names if tx.schedules.named(agent.id, kind, name) is None)


# -- rules -------------------------------------------------------------------------------------------------


def _checked(tx: Transaction, wanted: Schedule) -> Schedule:
    """Check the schedule except its times. Return it in its stored form."""
    _check_texts(wanted)
    _check_name(tx, wanted)
    _check_person(tx, wanted)
    wanted = _check_work(tx, wanted)
    if wanted.script is None:
        return wanted
    if wanted.kind is not ScheduleKind.HEARTBEAT:
        raise Unprocessable(
            "Only a heartbeat can have a script.", fix="Create a heartbeat, or replace the script with a prompt."
        )
    return replace(wanted, script=checked_script(wanted.script))


def _timed(tx: Transaction, wanted: Schedule, rules: Rules, now: int) -> Schedule:
    """Return the schedule with its time expression in the stored form, and with its next time. Raise `Unprocessable` if
    the expression is not allowed."""
    zone = zone_for(tx, wanted, rules)
    zone_of(zone)
    schedule = pinned(parse(wanted.schedule), zone, now)
    if shortest_gap_seconds(schedule) < rules.least(wanted):
        raise Unprocessable(
            f"The schedule {wanted.schedule[:80]!r} runs more often than every {rules.least(wanted)} seconds.",
            fix=f"Choose times that are at least {rules.least(wanted)} seconds apart.",
            code="too_often",
        )
    times = next_times(schedule, zone, now, 1)
    if wanted.enabled and not times:
        raise Unprocessable(
            f"The schedule {wanted.schedule[:80]!r} would never run.",
            why=f"Its time is in the past, or does not exist in {zone} because of a clock change.",
            fix="Choose a time in the future.",
            code="bad_schedule",
        )
    return replace(wanted, schedule=schedule.text, next_run=times[0] if wanted.enabled else None)


def _check_texts(wanted: Schedule) -> None:
    """Check that each name is one line within its limit, and that the prompt can be stored and is not too long."""
    for name, text in (("name", wanted.name), ("platform", wanted.platform), ("channelId", wanted.channel)):
        most = _LONGEST_NAME if name == "name" else _LONGEST_PLACE
        if not 0 < len(text.strip()) <= most or not text.isprintable():
            raise Unprocessable(f"`{name}` must be 1 to {most} printable characters.", fix="Choose another value.")
    if len(wanted.thread) > _LONGEST_PLACE or not wanted.thread.isprintable():
        raise Unprocessable("`thread` must be the id of a thread.", fix="Omit it to use the channel itself.")
    if len(wanted.connector) > _LONGEST_PLACE or not wanted.connector.isprintable():
        raise Unprocessable("`connector` must be the name of a bot.", fix="Omit it if there is only one bot.")
    if len(wanted.prompt.encode(errors="replace")) > _LARGEST_PROMPT or storable(wanted.prompt) != wanted.prompt:
        raise Unprocessable(f"`prompt` must be a text of at most {_LARGEST_PROMPT} bytes.", fix="Shorten it.")
    if wanted.script is None and wanted.kind is ScheduleKind.CRON and not wanted.prompt.strip():
        raise Unprocessable("`prompt` is missing.", fix="Write the task for the agent.")


def _check_name(tx: Transaction, wanted: Schedule) -> None:
    if is_reminder(wanted):
        return
    other = tx.schedules.named(wanted.agent_id, wanted.kind, wanted.name)
    if other is not None and other.id != wanted.id:
        raise Conflict(
            f"The agent has a {wanted.kind} named {wanted.name!r} already.",
            fix="Choose another name.",
            code="name_taken",
        )


def _check_person(tx: Transaction, wanted: Schedule) -> None:
    """Raise an error if the user for whom the schedule acts may not use its agent. A disabled schedule is not checked,
    because it does nothing."""
    if wanted.enabled:
        asker = asker_for(tx, wanted.principal_id, wanted.address, limits_of(wanted))
        check_use(tx, _agent(tx, wanted.agent_id), asker)


def _check_work(tx: Transaction, wanted: Schedule) -> Schedule:
    """Check the graph, the model, the number of cycles and the grace period. Return the schedule with the stored name
    of its graph."""
    graph = None if wanted.graph is None else graph_named(wanted.graph)
    if graph is not None and graph.startswith(PREFIX):
        graph = graph_of(tx, graph)
    elif graph is not None and graph not in _GRAPHS:
        raise Unprocessable(
            f"`graph` names {wanted.graph!r:.60}, which is not available.",
            fix=f"Use {', '.join(sorted(_GRAPHS))} or {PREFIX}SLUG, or leave `graph` out.",
        )
    _check_model(wanted, graph)
    if not 1 <= wanted.max_cycles <= _MOST_CYCLES:
        raise Unprocessable(f"`maxIterations` must be from 1 to {_MOST_CYCLES}.", fix="Omit it for the default, 1.")
    if wanted.grace is not None and wanted.grace < 0:
        raise Unprocessable(
            "The grace period must be 0 or more milliseconds.", fix="Omit it to run missed times of any age."
        )
    return replace(wanted, graph=graph, model=wanted.model or None, effort=wanted.effort or None)


def _check_model(wanted: Schedule, graph: str | None) -> None:
    if wanted.model and not is_model(wanted.model):
        raise Unprocessable(
            "`model` must be a model as provider/model, or its bare name.",
            fix="Write for example openai/gpt-4o-mini, or null for the model of the agent.",
        )
    if wanted.effort and wanted.effort not in EFFORTS:
        fix = "Use one of them, or null for the effort of the agent."
        raise Unprocessable(f"`effort` must be one of {', '.join(EFFORTS)}.", fix=fix)
    if (wanted.model or wanted.effort) and graph is not None and graph.startswith(PREFIX):
        raise Unprocessable(
            "A schedule of a workflow has no `model` and no `effort`.",
            why="Each node of a workflow has its own model and effort.",
            fix="Set them in the nodes, or choose another `graph`.",
        )


def _timing(schedule: Schedule) -> tuple[str, str | None, bool, bool]:
    """Return the values on which the times of a schedule depend."""
    return schedule.schedule, schedule.timezone, schedule.enabled, schedule.script is None
