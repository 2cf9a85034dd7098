"""The shapes of the queue: jobs with what they are about, their stories, and what is done to many at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.explanation import job_explanation
from arvis.ports.browsing import JobStory, QueueItem
from arvis.ports.insights import MessageTimeline
from arvis.web.schemas import (
    INTEGER,
    JOB,
    LABEL,
    NUMBER,
    STEP,
    STRING,
    TIME,
    Schema,
    array,
    one_of,
    optional,
    record,
)
from arvis.web.steps import story_steps
from arvis.web.views import Json, job_view, timeline_view

_MICROS = 1_000_000
#: So many jobs at once: by their ids, and by a filter.
MOST_IDS, MOST_FOUND = 500, 200
ACTIONS = ("retry", "cancel", "delete")

QUEUE_JOB: Schema = record(
    {
        **JOB["properties"],
        "about": {**STRING, "description": "The beginning of its message, or the name of its schedule or web hook."},
        "platform": optional(STRING),
        "connector": optional(STRING),
        "channelId": optional(STRING),
        "person": optional(STRING),
    }
)
QUEUE_JOB_DETAIL: Schema = record({**QUEUE_JOB["properties"], "payload": {"type": "object"}})
RETRY: Schema = record(
    {"content": {**STRING, "description": "Other words for its message; its turn then begins anew.", "minLength": 1}},
    required=(),
)
STORY: Schema = record(
    {
        "id": STRING,
        "kind": JOB["properties"]["kind"],
        "status": JOB["properties"]["status"],
        "explanation": {**STRING, "description": "Why it stands where it stands, in a sentence."},
        "agent": optional(STRING),
        "about": STRING,
        "content": optional({**STRING, "description": "Of a message or delivery, the whole text."}),
        "createdAt": TIME,
        "steps": array(STEP),
        "costUsd": NUMBER,
        "inputTokens": INTEGER,
        "outputTokens": INTEGER,
        "messageId": optional(STRING),
        "executionId": optional(STRING),
        "deliveryId": optional(STRING),
    }
)
JOB_FILTER: Schema = record(
    {"kind": JOB["properties"]["kind"], "status": STRING, "agent": LABEL, "lane": LABEL}, required=()
)
BULK: Schema = record(
    {
        "action": one_of(ACTIONS),
        "ids": {**array(LABEL), "maxItems": MOST_IDS, "minItems": 1},
        "filter": {**JOB_FILTER, "description": f"At most {MOST_FOUND} are done at once; `cursor` goes on."},
        "cursor": STRING,
    },
    required=("action",),
)
BULK_DONE: Schema = record(
    {
        "done": INTEGER,
        "refused": array(record({"id": STRING, "code": STRING, "message": STRING})),
        "remaining": {**INTEGER, "description": "Of a filter: how many follow; counted to 100,000."},
        "nextCursor": optional(STRING),
    }
)


def queue_view(item: QueueItem) -> Json:
    job, address = item.job, item.address
    return {
        **job_view(job, {}),
        "agent": item.agent,
        "about": item.about,
        "platform": address.platform if address else None,
        "connector": address.connector if address else None,
        "channelId": address.channel if address else None,
        "person": item.person,
    }


def told_view(item: QueueItem, timeline: MessageTimeline) -> Json:
    """The story of a message's job is that of its message."""
    told: Mapping[str, Any] = timeline_view(timeline)
    same = ("explanation", "content", "steps", "costUsd", "inputTokens", "outputTokens")
    return {**_head(item), **{name: told[name] for name in same}}


def story_view(story: JobStory) -> Json:
    item, calls = story.item, story.calls
    return {
        **_head(item),
        "explanation": job_explanation(job_view(item.job, {}), item.agent),
        "content": story.delivery.content if story.delivery is not None else None,
        "steps": story_steps(story),
        "costUsd": sum(call.cost_micros for call in calls) / _MICROS,
        "inputTokens": sum(call.input_tokens for call in calls),
        "outputTokens": sum(call.output_tokens for call in calls),
    }


def _head(item: QueueItem) -> Json:
    job = item.job
    return {
        "id": job.id,
        "kind": job.kind,
        "status": job.status,
        "agent": item.agent,
        "about": item.about,
        "createdAt": job.created_at,
        "messageId": job.message_id,
        "executionId": job.execution_id,
        "deliveryId": job.delivery_id,
    }
