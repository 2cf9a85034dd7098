"""The changes of a proposal, line by line, as shown to a person before an approval.

The lines show the values that will be written, including defaults that the tag leaves out, not the text of the tag.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from arvis.actions.agents import Plan, known_agent, plan_of
from arvis.actions.clients import wanted_client
from arvis.actions.context import ActionContext
from arvis.actions.report import LISTS
from arvis.actions.schedules import found_schedule, wanted_changes, wanted_schedule
from arvis.approvals.questions import change, line
from arvis.domain.agents import Agent, Binding
from arvis.domain.effects import EffectKind, Proposal
from arvis.domain.schedules import Schedule, ScheduleKind
from arvis.ports.store import Transaction
from arvis.services import agents

#: The most characters shown of the prompt of a deleted agent.
PROMPT_HEAD = 300

_AGENT = ("slug", "name", "role", "description", "prompt", "model", "fallbacks", "tools")
#: Shown where they are not as usual.
_MORE_OF_AGENT = ("graph", "completion", "on_new_message", "timezone", "plugins", "helpers", "context_tokens")
_MORE_OF_SCHEDULE = ("graph", "max_cycles", "grace")
_SCHEDULE = ("name", "schedule", "timezone", "prompt", "platform", "channel", "script", "missed", "enabled")

_Lines = Callable[[Transaction, Proposal, ActionContext], list[str]]


def changes_of(tx: Transaction, proposal: Proposal, situation: ActionContext) -> list[str]:
    """Return every field that would be written, with the present value for an update; for a deletion, the object.
    Raise `UsageError` for an impossible change."""
    if proposal.kind in LISTS:
        return [line("shown in", _place(situation.address.platform, situation.address.channel))]
    lines_of = _LINES.get(proposal.kind)
    if lines_of is not None:
        return lines_of(tx, proposal, situation)
    return [line(name, value) for name, value in proposal.fields.items()]


def hidden_of(tx: Transaction, proposal: Proposal) -> list[str]:
    """Return the parts of a deleted object that are not shown, although the question covers all of it."""
    lines_of = _LINES.get(proposal.kind)
    if lines_of is _stopped_agent:
        return [repr(known_agent(tx, proposal.subject))]
    return [repr(_fields(_schedule(tx, proposal), _SCHEDULE))] if lines_of is _removed_schedule else []


# -- agents ------------------------------------------------------------------------------------------------


def _new_agent(tx: Transaction, proposal: Proposal, situation: ActionContext) -> list[str]:
    plan = plan_of(tx, proposal, situation.address)
    return [*_all(_fields(plan.changed, _AGENT)), *_unusual(plan.changed, _MORE_OF_AGENT), *_channels(plan)]


def _changed_agent(tx: Transaction, proposal: Proposal, situation: ActionContext) -> list[str]:
    plan = plan_of(tx, proposal, situation.address)
    changed = plan.changed
    lines = [change(name, getattr(plan.agent, name), getattr(changed, name)) for name in plan.changes]
    if plan.status is not None:
        lines.append(change("status", plan.agent.status.value, plan.status.value))
    return lines + _channels(plan)


def _channels(plan: Plan) -> list[str]:
    """Return the lines of channels; existing channels are never removed."""
    return [line("channels, one more", _bound(place)) for place in plan.places]


def _stopped_agent(tx: Transaction, proposal: Proposal, _situation: ActionContext) -> list[str]:
    agent = known_agent(tx, proposal.subject)
    channels = [_place(each.platform, each.channel) for each in tx.agents.bindings(agent.id)]
    return _all({"slug": agent.slug, "name": agent.name, "channels": channels}) + _head(agent.prompt)


# -- schedules and clients ---------------------------------------------------------------------------------


def _new_schedule(tx: Transaction, proposal: Proposal, situation: ActionContext) -> list[str]:
    """The agent may be one that the same answer asks for, and that is not there yet."""
    wanted = wanted_schedule(proposal, situation)
    agent = agents.find(tx, wanted.agent_id)
    shown = {"agent": agent.slug if agent is not None else wanted.agent_id, **_fields(wanted, _SCHEDULE)}
    return [*_all(shown), *_unusual(wanted, _MORE_OF_SCHEDULE)]


def _changed_schedule(tx: Transaction, proposal: Proposal, situation: ActionContext) -> list[str]:
    known = _schedule(tx, proposal)
    wanted = wanted_changes(proposal, situation)
    shown = {*_SCHEDULE, *_MORE_OF_SCHEDULE}
    return [change(name, getattr(known, name), value) for name, value in wanted.items() if name in shown]


def _removed_schedule(tx: Transaction, proposal: Proposal, _situation: ActionContext) -> list[str]:
    known = _schedule(tx, proposal)
    agent = tx.agents.get(known.agent_id)
    shown = {"agent": agent.slug if agent is not None else known.agent_id, **_fields(known, _SCHEDULE)}
    return _all({name: value for name, value in shown.items() if name not in {"prompt", "script"}}) + _head(
        known.prompt
    )


def _schedule(tx: Transaction, proposal: Proposal) -> Schedule:
    crons = {EffectKind.UPDATE_CRON, EffectKind.DELETE_CRON}
    return found_schedule(tx, proposal, ScheduleKind.CRON if proposal.kind in crons else ScheduleKind.HEARTBEAT)


def _new_client(_tx: Transaction, proposal: Proposal, _situation: ActionContext) -> list[str]:
    client = wanted_client(proposal)
    return _all({"name": client.name, "plan": client.plan.value, "notes": client.notes})


_LINES: Mapping[EffectKind, _Lines] = {
    EffectKind.CREATE_AGENT: _new_agent,
    EffectKind.UPDATE_AGENT: _changed_agent,
    EffectKind.PAUSE_AGENT: _stopped_agent,
    EffectKind.DELETE_AGENT: _stopped_agent,
    EffectKind.CREATE_CRON: _new_schedule,
    EffectKind.CREATE_HEARTBEAT: _new_schedule,
    EffectKind.UPDATE_CRON: _changed_schedule,
    EffectKind.UPDATE_HEARTBEAT: _changed_schedule,
    EffectKind.DELETE_CRON: _removed_schedule,
    EffectKind.DELETE_HEARTBEAT: _removed_schedule,
    EffectKind.CREATE_CLIENT: _new_client,
}


# -- lines -------------------------------------------------------------------------------------------------


def _fields(holder: Agent | Schedule, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(holder, name) for name in names}


def _unusual(holder: Agent | Schedule, names: tuple[str, ...]) -> list[str]:
    usual = {field.name: field.default for field in fields(holder)}
    return [line(name, getattr(holder, name)) for name in names if getattr(holder, name) != usual[name]]


def _all(shown: Mapping[str, Any]) -> list[str]:
    """Return the lines without empty values; a value that is off is kept."""
    return [line(name, value) for name, value in shown.items() if value or value is False]


def _head(prompt: str) -> list[str]:
    if not prompt:
        return []
    if len(prompt) <= PROMPT_HEAD:
        return [line("prompt", prompt)]
    return [line(f"prompt, the first {PROMPT_HEAD} of {len(prompt)} characters", prompt[:PROMPT_HEAD])]


def _bound(binding: Binding) -> str:
    return f"{_place(binding.platform, binding.channel)} ({binding.permission})"


def _place(platform: str, channel: str) -> str:
    return f"{platform} {channel}"
