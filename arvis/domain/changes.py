"""Change notices: clients that receive one read the changed data again. A notice contains a topic (the kind of the
changed data) and perhaps the id of the changed item. `changes_of` returns the notices for an event of the bus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from arvis.domain.effects import EffectKind
from arvis.domain.events import (
    AccountsChanged,
    BotsChanged,
    BotStateChanged,
    Changed,
    ConversationRewound,
    DeliverySettled,
    Event,
    ExecutionPaused,
    GraphCompleted,
    JobSettled,
    MessageReceived,
    SchedulesChanged,
    SettingsChanged,
    StatusChanged,
)


class ChangeTopic(StrEnum):
    """The kinds of data that pages show. `overview` is the page that summarises the others."""

    ACCOUNTS = "accounts"
    AGENTS = "agents"
    BACKUPS = "backups"
    BOTS = "bots"
    CLIENTS = "clients"
    SUMMARIES = "summaries"
    CONVERSATIONS = "conversations"
    DELIVERIES = "deliveries"
    EVALUATIONS = "evaluations"
    EXECUTIONS = "executions"
    JOBS = "jobs"
    KEYS = "keys"
    KNOWLEDGE = "knowledge"
    MEMORY = "memory"
    MESSAGES = "messages"
    NOTIFICATIONS = "notifications"
    OVERVIEW = "overview"
    PEOPLE = "people"
    PROJECTS = "projects"
    SCHEDULES = "schedules"
    SETTINGS = "settings"
    SKILLS = "skills"
    USERS = "users"
    VARIABLES = "variables"
    QUESTIONS = "questions"
    WEBHOOKS = "webhooks"
    WORKFLOWS = "workflows"


#: The types of events, besides `Changed`, for which `changes_of` returns notices.
CHANGE_EVENTS: Sequence[type[Event]] = (
    AccountsChanged,
    BotsChanged,
    BotStateChanged,
    ConversationRewound,
    DeliverySettled,
    ExecutionPaused,
    GraphCompleted,
    JobSettled,
    MessageReceived,
    SchedulesChanged,
    SettingsChanged,
    StatusChanged,
)


def topic_of_effect(kind: EffectKind) -> ChangeTopic | None:
    """Return the topic of the data that an action of this kind changes; None if the action changes no data, or if
    another event reports the change."""
    match kind:
        case EffectKind.REMEMBER | EffectKind.STATE:
            return ChangeTopic.MEMORY
        case EffectKind.CREATE_CLIENT:
            return ChangeTopic.CLIENTS
        case EffectKind.CREATE_AGENT | EffectKind.UPDATE_AGENT | EffectKind.PAUSE_AGENT | EffectKind.DELETE_AGENT:
            return ChangeTopic.AGENTS
        case _:
            return None


def changes_of(event: Event) -> Sequence[Changed]:
    """Return one notice for each topic whose data this event reports as changed."""
    if (topic := _WHOLE.get(type(event))) is not None:
        return (Changed(topic),)
    match event:
        case Changed():
            return (event,)
        case StatusChanged(message_id=message_id) | MessageReceived(message_id=message_id):
            return Changed(ChangeTopic.MESSAGES, message_id), Changed(ChangeTopic.JOBS)
        case GraphCompleted(thread_id=conversation):
            return Changed(ChangeTopic.EXECUTIONS), Changed(ChangeTopic.CONVERSATIONS, conversation or None)
        case ConversationRewound(conversation_id=conversation):
            return Changed(ChangeTopic.CONVERSATIONS, conversation), Changed(ChangeTopic.JOBS)
        case JobSettled(job_id=job_id):
            return (Changed(ChangeTopic.JOBS, job_id),)
        case ExecutionPaused(execution_id=execution_id, wait_id=wait_id):
            return Changed(ChangeTopic.QUESTIONS, wait_id), Changed(ChangeTopic.EXECUTIONS, execution_id)
        case BotStateChanged(platform=platform, name=name):
            return (Changed(ChangeTopic.BOTS, f"{platform}/{name}"),)
        case _:
            return ()


_WHOLE: Mapping[type[Event], ChangeTopic] = {
    AccountsChanged: ChangeTopic.ACCOUNTS,
    BotsChanged: ChangeTopic.BOTS,
    DeliverySettled: ChangeTopic.DELIVERIES,
    SchedulesChanged: ChangeTopic.SCHEDULES,
    SettingsChanged: ChangeTopic.SETTINGS,
}
