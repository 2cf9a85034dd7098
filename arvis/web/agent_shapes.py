"""Agents as this port takes and shows them. What values must be is said in `arvis.domain.agent_rules`."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.agent_rules import COMPLETIONS, ON_NEW_MESSAGE, SLUG
from arvis.domain.agents import Agent, AgentVersion, Binding, Permission
from arvis.domain.messages import Respond
from arvis.web.bodies import Fields, unusable
from arvis.web.schemas import AGENT, INTEGER, STRING, TIME, Schema, array, one_of, optional, record
from arvis.web.views import Json, agent_view

_TEXTS = ("slug", "name", "role", "description", "prompt", "graph", "completion")
_LISTS = {
    "fallbacks": "fallbacks",
    "tools": "tools",
    "allow_users": "allowUsers",
    "plugins": "plugins",
    "helpers": "helpers",
}

BINDING = record(
    {
        "platform": STRING,
        "channel": STRING,
        "permission": one_of(Permission),
        "respond": {
            **optional(one_of(Respond)),
            "description": "Which messages of a group are for the agent; null: as its bot is set.",
        },
        "observe": {**optional(INTEGER), "description": "How many others it reads along; null: as its bot is set."},
    }
)
NEW_BINDING = record(BINDING["properties"], required=("platform", "channel"))
_MORE: dict[str, Schema] = {
    "prompt": STRING,
    "fallbacks": {**array(STRING), "description": "Models to try after `model`, as provider/model."},
    "tools": {**array(STRING), "description": "Names, or `server.*`."},
    "completion": one_of(COMPLETIONS),
    "contextTokens": {**optional(INTEGER), "description": "The ceiling of its prompt; null: the model's window."},
    "timezone": optional(STRING),
    "allowUsers": {
        **optional(array(STRING)),
        "description": "The only people who may ask it, besides owners; null: everybody, empty: owners alone.",
    },
    "onNewMessage": {
        **optional(one_of(ON_NEW_MESSAGE)),
        "description": "What a message does that comes while it works.",
    },
    "plugins": {**array(STRING), "description": "What extends its prompts."},
    "helpers": {**array(STRING), "description": "Slugs of agents to whom it may hand a talk over."},
}
_WRITTEN: dict[str, Schema] = {
    "name": STRING,
    "role": STRING,
    "description": STRING,
    "model": {**optional(STRING), "description": "provider/model; null: the account's own."},
    "graph": {**STRING, "description": "How it works: one of GET /api/graphs, or `workflow:SLUG`."},
    **_MORE,
}
AGENT_DETAIL = record({**AGENT["properties"], **_MORE, "bindings": array(BINDING)})
NEW_AGENT = record(
    {
        "slug": {**STRING, "pattern": f"^{SLUG.pattern}$"},
        **_WRITTEN,
        "name": {**STRING, "description": "Default: the slug."},
        "bindings": array(NEW_BINDING),
    },
    required=("slug",),
)
CHANGED_AGENT = {**record(_WRITTEN, required=()), "description": "What is left out stays as it is."}
VERSION = record(
    {
        "version": INTEGER,
        "at": TIME,
        "by": {**STRING, "description": "The id of a principal, or `configuration`."},
        "agent": AGENT_DETAIL,
    }
)


def written(fields: Fields) -> Json:
    """The fields that were sent, under their names in `Agent`. `null` counts where nothing is a value."""
    found: Json = {name: value for name in _TEXTS if (value := fields.text(name)) is not None}
    found |= {name: fields.texts(sent) for name, sent in _LISTS.items() if fields.raw(sent) is not None}
    found |= {name: fields.text(name) for name in ("model", "timezone") if fields.has(name)}
    if fields.has("allowUsers") and fields.raw("allowUsers") is None:
        found["allow_users"] = None
    if fields.has("onNewMessage"):
        found["on_new_message"] = fields.text("onNewMessage")
    if fields.has("contextTokens"):
        found["context_tokens"] = fields.whole("contextTokens")
    return found


def binding_of(fields: Fields, agent_id: str) -> Binding:
    permission = fields.text("permission") or Permission.FULL
    if permission not in set(Permission):
        raise unusable("permission", "must be one of " + ", ".join(Permission))
    respond = fields.text("respond")
    if respond is not None and respond not in set(Respond):
        raise unusable("respond", "must be one of " + ", ".join(Respond))
    return Binding(
        platform=fields.required_text("platform"),
        channel=fields.required_text("channel"),
        agent_id=agent_id,
        permission=Permission(permission),
        respond=Respond(respond) if respond is not None else None,
        observe=fields.whole("observe"),
    )


def binding_view(binding: Binding) -> Json:
    return {
        "platform": binding.platform,
        "channel": binding.channel,
        "permission": binding.permission,
        "respond": binding.respond,
        "observe": binding.observe,
    }


def detail_view(agent: Agent, bindings: Sequence[Binding]) -> Json:
    return {
        **agent_view(agent),
        "prompt": agent.prompt,
        "fallbacks": list(agent.fallbacks),
        "tools": list(agent.tools),
        "completion": agent.completion,
        "contextTokens": agent.context_tokens,
        "timezone": agent.timezone,
        "allowUsers": None if agent.allow_users is None else list(agent.allow_users),
        "onNewMessage": agent.on_new_message,
        "plugins": list(agent.plugins),
        "helpers": list(agent.helpers),
        "bindings": [binding_view(binding) for binding in bindings],
    }


def version_view(version: AgentVersion) -> Json:
    return {
        "version": version.version,
        "at": version.at,
        "by": version.by_id,
        "agent": detail_view(version.agent, version.bindings),
    }
