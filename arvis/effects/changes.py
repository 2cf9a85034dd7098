"""What a proposal would change, line by line, as a person is shown it before saying yes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.agents.asking import change, line
from arvis.domain.effects import EffectKind, Proposal
from arvis.domain.errors import NotFound
from arvis.domain.schedules import ScheduleKind
from arvis.effects.schedules import found_schedule
from arvis.ports.store import Transaction

_UPDATES = frozenset({EffectKind.UPDATE_AGENT, EffectKind.UPDATE_CRON, EffectKind.UPDATE_HEARTBEAT})
_REMOVES = frozenset(
    {EffectKind.PAUSE_AGENT, EffectKind.DELETE_AGENT, EffectKind.DELETE_CRON, EffectKind.DELETE_HEARTBEAT}
)
_OF_CRONS = frozenset({EffectKind.UPDATE_CRON, EffectKind.DELETE_CRON})
_OF_AGENTS = frozenset({EffectKind.UPDATE_AGENT, EffectKind.PAUSE_AGENT, EffectKind.DELETE_AGENT})


def changes_of(tx: Transaction, proposal: Proposal) -> list[str]:
    """Every field that would be written, of an update with what stands there now; of what is to go, what it
    is. Raises `UsageError` where there is no such thing."""
    if proposal.kind in _UPDATES:
        now = _present(tx, proposal)
        return [change(name, now.get(name), value) for name, value in proposal.fields.items()]
    if proposal.kind in _REMOVES:
        return [line(name, value) for name, value in _present(tx, proposal).items() if value]
    return [line(name, value) for name, value in proposal.fields.items()]


def _present(tx: Transaction, proposal: Proposal) -> Mapping[str, Any]:
    return _agent(tx, proposal.subject) if proposal.kind in _OF_AGENTS else _schedule(tx, proposal)


def _agent(tx: Transaction, slug: str) -> Mapping[str, Any]:
    agent = tx.agents.by_slug(slug)
    if agent is None:
        raise NotFound("there is no such agent")
    bindings = tx.agents.bindings(agent.id)
    return {
        "slug": agent.slug,
        "name": agent.name,
        "role": agent.role,
        "description": agent.description,
        "prompt": agent.prompt,
        "model": agent.model,
        "fallbacks": list(agent.fallbacks),
        "tools": list(agent.tools),
        "status": agent.status.value,
        "channels": [f"{binding.platform} {binding.channel}" for binding in bindings],
    }


def _schedule(tx: Transaction, proposal: Proposal) -> Mapping[str, Any]:
    kind = ScheduleKind.CRON if proposal.kind in _OF_CRONS else ScheduleKind.HEARTBEAT
    schedule = found_schedule(tx, proposal, kind)
    agent = tx.agents.get(schedule.agent_id)
    return {
        "agent": agent.slug if agent is not None else schedule.agent_id,
        "name": schedule.name,
        "schedule": schedule.schedule,
        "timezone": schedule.timezone,
        "prompt": schedule.prompt,
        "platform": schedule.platform,
        "channel": schedule.channel,
        "script": schedule.script,
        "missed": schedule.missed.value,
        "enabled": schedule.enabled,
    }
