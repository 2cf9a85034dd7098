"""The limits of the configuration, passed to every part that needs them."""

from __future__ import annotations

from arvis.actions.context import Limits
from arvis.config import Config
from arvis.services.schedules import Rules


def schedule_rules(config: Config) -> Rules:
    bounds = config.limits
    return Rules(
        zone=config.scheduler.timezone,
        crons_per_agent=bounds.crons_per_agent,
        heartbeats_per_agent=bounds.heartbeats_per_agent,
        reminders_per_person=bounds.reminders_per_person,
    )


def reply_limits(config: Config) -> Limits:
    bounds = config.limits
    return Limits(
        delegation_depth=bounds.delegation_depth,
        delegation_fan_out=bounds.delegation_fan_out,
        delegation_jobs=bounds.delegation_jobs,
        crons_per_agent=bounds.crons_per_agent,
        heartbeats_per_agent=bounds.heartbeats_per_agent,
    )
