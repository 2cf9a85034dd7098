"""Crons and heartbeats that a conductor creates, changes, deletes and lists.

Everything is checked before the first write, so a refused change writes nothing. A schedule belongs to the person for
whom the conductor created it; the scheduler runs it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from arvis.actions.context import ActionContext
from arvis.actions.report import done, quoted
from arvis.calendar import for_people
from arvis.domain.effects import EffectKind, EffectResult, Proposal
from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.domain.messages import Address
from arvis.domain.schedules import MadeBy, Missed, Schedule, ScheduleKind
from arvis.ports.store import Transaction
from arvis.services import agents, schedules
from arvis.services.schedules import Rules

_CREATE = {EffectKind.CREATE_CRON: ScheduleKind.CRON, EffectKind.CREATE_HEARTBEAT: ScheduleKind.HEARTBEAT}
_UPDATE = {EffectKind.UPDATE_CRON: ScheduleKind.CRON, EffectKind.UPDATE_HEARTBEAT: ScheduleKind.HEARTBEAT}
_DELETE = {EffectKind.DELETE_CRON: ScheduleKind.CRON, EffectKind.DELETE_HEARTBEAT: ScheduleKind.HEARTBEAT}
#: The kinds of actions that can change the times of schedules.
CHANGES = frozenset({*_CREATE, *_UPDATE, *_DELETE})
_LIST = {EffectKind.LIST_CRONS: ScheduleKind.CRON, EffectKind.LIST_HEARTBEATS: ScheduleKind.HEARTBEAT}

#: The interval of a heartbeat for which the tag names no schedule.
_EVERY_MINUTE = "every 60s"
#: The maximum number of schedules that are searched by name, and the maximum number that a reply lists.
_MOST, _LISTED = 1_000, 50

_TEXTS = ("name", "schedule", "prompt", "timezone", "graph", "model", "effort")
_NUMBERS = ("max_cycles", "grace")
_PLACE = frozenset({"channel", "platform"})


def apply_schedule(
    tx: Transaction, proposal: Proposal, situation: ActionContext, now: int, *, zone: str = "UTC"
) -> EffectResult:
    """Carry out an action on a schedule. `zone` is the daemon's time zone. Raise `UsageError` if the action is
    impossible."""
    limits = situation.limits
    rules = Rules(zone=zone, crons_per_agent=limits.crons_per_agent, heartbeats_per_agent=limits.heartbeats_per_agent)
    kind = proposal.kind
    if kind in _CREATE:
        return _create(tx, proposal, situation, rules, now)
    if kind in _UPDATE:
        return _update(tx, proposal, situation, rules, now)
    if kind in _DELETE:
        known = found_schedule(tx, proposal, _DELETE[kind])
        gone = schedules.remove_schedule(tx, known.id, now, by=_author(situation))
        return done(proposal, f"deleted the {gone.kind} {quoted(gone.name)}")
    return done(proposal, _listed(tx, _LIST[kind], rules, now))


def _create(tx: Transaction, proposal: Proposal, situation: ActionContext, rules: Rules, now: int) -> EffectResult:
    wanted = wanted_schedule(proposal, situation)
    made = schedules.add_schedule(tx, wanted, rules, now)
    shown = f"{made.kind} {quoted(made.name)} for {quoted(wanted.agent_id)}"
    return done(proposal, f"created the {shown}{_next(tx, made, rules, now)}")


def wanted_schedule(proposal: Proposal, situation: ActionContext) -> Schedule:
    """Return the schedule that a tag asks for, with defaults for missing fields. Its `agent_id` is the agent's name
    from the tag."""
    kind, fields = _CREATE[proposal.kind], _known(proposal.fields)
    agent = str(fields.get("agent") or "").strip()
    if not agent:
        raise Unprocessable("`agent` is missing", fix="Name the agent that the schedule starts.")
    place = _place(fields, situation.address)
    given = _changes(fields, situation.address)
    default = "" if kind is ScheduleKind.CRON else _EVERY_MINUTE
    zone = situation.principal.timezone if situation.principal is not None else None
    blank = Schedule(
        id="", kind=kind, agent_id=agent, name="", schedule=default, timezone=zone, prompt="",
        platform=place.platform, connector=place.connector, channel=place.channel, thread=place.thread, script=None,
        missed=Missed.ONCE, enabled=True, principal_id=_author(situation), last_run=None, next_run=None, created_at=0,
        updated_at=0, created_by=MadeBy.TAG,
    )  # fmt: skip
    return schedules.with_changes(blank, given)


def _update(tx: Transaction, proposal: Proposal, situation: ActionContext, rules: Rules, now: int) -> EffectResult:
    known = found_schedule(tx, proposal, _UPDATE[proposal.kind])
    changes = wanted_changes(proposal, situation)
    changed = schedules.change_schedule(tx, known.id, changes, rules, now, by=_author(situation))
    return done(proposal, f"changed the {changed.kind} {quoted(changed.name)}{_next(tx, changed, rules, now)}")


def wanted_changes(proposal: Proposal, situation: ActionContext) -> dict[str, Any]:
    """Return the changes that a tag asks for, by field of `Schedule`. Raise `Unprocessable` if the tag asks for no
    change."""
    changes = _changes(_known(proposal.fields), situation.address)
    if not changes:
        raise Unprocessable("the tag contains no field to change", fix="Give at least one field with its new value.")
    return changes


def _author(situation: ActionContext) -> str | None:
    """Return the id of the principal for whom the action is done."""
    return situation.principal.id if situation.principal is not None else None


def _known(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields that are neither None nor an empty text."""
    return {name: value for name, value in fields.items() if value is not None and value != ""}


def _changes(fields: Mapping[str, Any], here: Address) -> dict[str, Any]:
    """Return the fields of a tag converted to fields of `Schedule`. A place is included only if the tag names one."""
    changes: dict[str, Any] = {name: str(fields[name]).strip() for name in _TEXTS if name in fields}
    changes |= {name: fields[name] for name in _NUMBERS if name in fields}
    if "script" in fields:
        changes["script"] = _script(fields["script"])
    if "missed" in fields:
        changes["missed"] = _missed(fields["missed"])
    if "enabled" in fields:
        changes["enabled"] = _flag(fields["enabled"])
    if _PLACE & fields.keys():
        place = _place(fields, here)
        changes |= {name: getattr(place, name) for name in ("platform", "connector", "channel", "thread")}
    return changes


def _place(fields: Mapping[str, Any], here: Address) -> Address:
    """Return the place for the schedule's posts: the place that the tag names, or the place of the conversation. A
    place on another platform gets no bot name. Any place is permitted, because the gate lets only owners and operators
    change schedules."""
    platform = str(fields.get("platform") or here.platform).strip().lower()
    elsewhere = platform != here.platform
    if elsewhere and "channel" not in fields:
        raise Unprocessable(
            f"`channel` is missing: this conversation is not on {platform}", fix=f"Name a channel on {platform}."
        )
    channel = str(fields.get("channel", here.channel)).strip()
    if not elsewhere and channel == here.channel:
        return here
    return Address(platform, "" if elsewhere else here.connector, channel)


def _script(value: Any) -> Any:
    """Return the script; a text is parsed as JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise Unprocessable("`script` is not JSON", fix="Write one JSON object.") from None


def _missed(value: Any) -> Missed:
    text = str(value).strip().lower()
    if text not in set(Missed):
        raise Unprocessable(f"`missed` must be one of {', '.join(Missed)}", fix="Omit it to use `once`.")
    return Missed(text)


def _flag(value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in {"true", "false"}:
        raise Unprocessable("`enabled` must be true or false", fix="Write true or false.")
    return text == "true"


def found_schedule(tx: Transaction, proposal: Proposal, kind: ScheduleKind) -> Schedule:
    """Return the schedule with the id or name in the proposal. The field `agent` restricts the search by name. Raise
    `NotFound`, or `Conflict` if several schedules have the name."""
    wanted, agent = proposal.subject.strip(), str(proposal.fields.get("agent") or "").strip()
    by_id = tx.schedules.get(wanted)
    if by_id is not None and by_id.kind is kind:
        return by_id
    owner = agents.find(tx, agent) if agent else None
    found = [
        schedule
        for schedule in tx.schedules.all(kind, _MOST)
        if schedule.name.casefold() == wanted.casefold() and (not agent or (owner and schedule.agent_id == owner.id))
    ]
    if not found:
        raise NotFound(f"there is no {kind} of this name", fix=f"List the {kind}s first.")
    if len(found) > 1:
        raise Conflict(f"several {kind}s have this name", fix="Give the id, or both the name and the agent.")
    return found[0]


def _next(tx: Transaction, schedule: Schedule, rules: Rules, now: int) -> str:
    """Return the next times of the schedule in its time zone, as the end of a sentence."""
    times = schedules.coming(tx, schedule, rules, now)
    if not times:
        return "; it is paused" if not schedule.enabled else ""
    zone = schedules.zone_for(tx, schedule, rules)
    return f"; next: {for_people(times, zone)} ({zone})"


def _listed(tx: Transaction, kind: ScheduleKind, rules: Rules, now: int) -> str:
    found = tx.schedules.all(kind, _LISTED + 1)
    if not found:
        return f"There are no {kind}s."
    lines = [_line(tx, schedule, rules, now) for schedule in found[:_LISTED]]
    return "\n".join([f"{kind.capitalize()}s:", *lines, *(["- and more"] if len(found) > _LISTED else [])])


def _line(tx: Transaction, schedule: Schedule, rules: Rules, now: int) -> str:
    agent, zone = tx.agents.get(schedule.agent_id), schedules.zone_for(tx, schedule, rules)
    times = schedules.coming(tx, schedule, rules, now)[:1]
    state = f"next {for_people(times, zone)} ({zone})" if times else "off" if not schedule.enabled else "over"
    by = quoted(agent.slug if agent else schedule.agent_id)
    return f"- {quoted(schedule.name)} of {by}: {quoted(schedule.schedule)}, {state}, to {schedule.platform} " + quoted(
        schedule.channel
    )
