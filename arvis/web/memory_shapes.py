"""The shapes of memory at this port: what goes in and out of `arvis.web.memory`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from arvis.domain.memory import EVERYWHERE, Category, Fact, FactStatus, State
from arvis.ports.memory import FactChange
from arvis.web.bodies import Fields, unusable
from arvis.web.schemas import INTEGER, LABEL, NUMBER, STRING, TIME, Schema, array, one_of, optional, record
from arvis.web.views import Json

_SCOPE = re.compile(r"agent|principal:[A-Za-z0-9_-]{1,64}|room:[^:]{1,50}:[^:]{1,200}:.{1,600}")

AGENT: Schema = {**LABEL, "description": "Its slug or id."}
SCOPE: Schema = {
    **STRING,
    "description": "principal:ID, room:PLATFORM:CONNECTOR:CHANNEL:THREAD, or agent (wherever it talks).",
}
TAINT: Schema = {**array(STRING), "description": "Where it came from that nobody vouches for; empty: confirmed."}
FACT = record(
    {
        "id": STRING,
        "number": INTEGER,
        "agent": STRING,
        "scope": SCOPE,
        "category": one_of(Category),
        "content": STRING,
        "taint": TAINT,
        "authorId": optional(STRING),
        "messageId": optional(STRING),
        "executionId": optional(STRING),
        "confidence": {**NUMBER, "minimum": 0, "maximum": 1},
        "status": one_of(FactStatus),
        "supersededBy": optional(STRING),
        "accessedAt": TIME,
        "accessCount": INTEGER,
        "expiresAt": optional(TIME),
        "createdAt": TIME,
        "updatedAt": TIME,
    }
)
FACT_CHANGE = record(
    {
        "id": STRING,
        "change": STRING,
        "otherId": {**optional(STRING), "description": "The fact that took its place."},
        "undoes": {**optional(STRING), "description": "The change that this one took back."},
        "byId": STRING,
        "at": TIME,
    }
)
FACT_DETAIL = record({**FACT["properties"], "changes": array(FACT_CHANGE)})
NEW_FACT = record(
    {"agent": AGENT, "content": STRING, "category": one_of(Category), "scope": {**SCOPE, "default": EVERYWHERE}},
    required=("agent", "content"),
)
KEPT = record(
    {
        **FACT["properties"],
        "kept": {
            **STRING,
            "description": "added, refreshed (it was known) or superseded (it took an older one's place).",
        },
        "oldId": {**optional(STRING), "description": "The older one."},
    }
)
UNDO = record({"agent": AGENT, "scope": {**SCOPE, "default": EVERYWHERE}}, required=("agent",))
UNDONE = record({"undone": STRING})
STATE = record(
    {
        "agent": STRING,
        "scope": SCOPE,
        "key": STRING,
        "value": STRING,
        "taint": TAINT,
        "authorId": optional(STRING),
        "messageId": optional(STRING),
        "updatedAt": TIME,
    }
)
FILTERS: Mapping[str, Schema] = {
    "agent": AGENT,
    "scope": SCOPE,
    "category": one_of(Category),
    "status": {**one_of(FactStatus), "description": "Default: active."},
    "q": {**STRING, "description": "Words; the best first, on one page."},
}


def fact_view(fact: Fact, agents: Mapping[str, str]) -> Json:
    """`agents` maps agent ids to slugs; an agent that is gone is shown by its id."""
    return {
        "id": fact.id,
        "number": fact.number,
        "agent": agents.get(fact.agent_id, fact.agent_id),
        "scope": fact.scope,
        "category": fact.category,
        "content": fact.content,
        "taint": sorted(fact.taint),
        "authorId": fact.author_id,
        "messageId": fact.message_id,
        "executionId": fact.execution_id,
        "confidence": fact.confidence / 1000,
        "status": fact.status,
        "supersededBy": fact.superseded_by,
        "accessedAt": fact.accessed_at,
        "accessCount": fact.access_count,
        "expiresAt": fact.expires_at,
        "createdAt": fact.created_at,
        "updatedAt": fact.updated_at,
    }


def fact_detail_view(fact: Fact, changes: Sequence[FactChange], agents: Mapping[str, str]) -> Json:
    return {**fact_view(fact, agents), "changes": [_change_view(change) for change in changes]}


def state_view(state: State, agents: Mapping[str, str]) -> Json:
    return {
        "agent": agents.get(state.agent_id, state.agent_id),
        "scope": state.scope,
        "key": state.key,
        "value": state.value,
        "taint": sorted(state.taint),
        "authorId": state.author_id,
        "messageId": state.message_id,
        "updatedAt": state.updated_at,
    }


def named_scope(fields: Fields) -> str | None:
    scope = fields.label("scope", most=1000)
    if scope is not None and not _SCOPE.fullmatch(scope):
        raise unusable("scope", "must be agent, principal:ID or room:PLATFORM:CONNECTOR:CHANNEL:THREAD")
    return scope


def named_category(fields: Fields) -> Category:
    text = fields.text("category") or Category.LEARNED_PATTERN
    if text not in {str(member) for member in Category}:
        raise unusable("category", "must be one of " + ", ".join(Category))
    return Category(text)


def _change_view(change: FactChange) -> Json:
    return {
        "id": change.id,
        "change": change.change,
        "otherId": change.other_id,
        "undoes": change.undoes,
        "byId": change.by_id,
        "at": change.at,
    }
