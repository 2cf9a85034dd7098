"""The OpenAPI document, built only from the table of routes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from arvis import __version__
from arvis.domain.regex import regex
from arvis.web.http.endpoints import IDEMPOTENCY_KEY, Endpoint
from arvis.web.http.errors import STATUSES
from arvis.web.http.idempotency import REPLAYED, takes_key
from arvis.web.http.identity import PUBLIC
from arvis.web.http.models import View, schema_of
from arvis.web.http.schema import ERROR, OK, STEP, Components, Schema, for_bodies

#: Example bodies, by method and path.
EXAMPLES: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("POST", "/api/messages"): {
        "content": "Which meetings do I have today?",
        "channelId": "dashboard-agent-helper",
        "id": "m-0001",
    },
    ("POST", "/api/agents"): {"slug": "helper", "name": "Helper", "prompt": "You help with everyday questions."},
    ("POST", "/api/questions/{question}/answer"): {"decision": "approve", "note": "Go on."},
    ("POST", "/api/clients"): {"name": "Acme", "monthlyLimitUsd": 50},
    ("PUT", "/api/variables/{key}"): {"value": "blue"},
    ("POST", "/api/memory"): {"agent": "helper", "content": "The office is closed on Fridays."},
    ("POST", "/api/schedules"): {
        "kind": "cron",
        "agent": "helper",
        "schedule": "0 9 * * 1-5",
        "prompt": "List today's meetings.",
        "platform": "discord",
        "channelId": "1234567890",
    },
    ("POST", "/api/projects"): {"title": "Move to the new office"},
    ("POST", "/api/webhooks"): {
        "path": "issues",
        "agent": "helper",
        "template": "A new issue: {{payload.issue.title}}",
        "platform": "discord",
        "channelId": "1234567890",
    },
}


#: Schemas that have a name in the document, because several routes use them.
NAMED: Mapping[str, Schema] = {
    "Error": ERROR,
    "Ok": OK,
    "Step": STEP,
}


_PARAMETER = regex(r"\{(\w+)\}")
_ABOUT = f"""All errors have the same format and state a fix. Times are milliseconds since the epoch. Lists are paged: send
`nextCursor` as `cursor` to get the next page. In a body, `null` equals an omitted field unless the field's description says
otherwise. Undocumented fields are refused.

`{IDEMPOTENCY_KEY}` makes a write safe to repeat: for a day, the same request with the same key gets the first response, with
`{REPLAYED}: true`, and runs only once. `POST /api/messages` uses the key as the `id` of the message.

Members and chat keys use their own channels: `web-USERID`, `cli-USERID` (each also with a `-suffix`), and
`dashboard-agent-SLUG`, where each user has a separate conversation."""

#: Descriptions of the groups of routes. A group that is missing here has only its name in the document.
_TAGS = {
    "system": "Health, readiness, metrics and this document.",
    "messages": "Messages and their timelines.",
    "jobs": "The queue.",
    "executions": "Executions of agents, step by step.",
    "questions": "Questions that wait for a person.",
    "notifications": "Problems and results that owners should know.",
    "agents": "Agents, their versions and their channels.",
    "memory": "Facts that agents store about people, projects and themselves.",
    "accounts": "Accounts at model vendors.",
    "bots": "Bots on chat platforms.",
    "hooks": "Incoming events of platforms and webhooks.",
    "webhooks": "Webhooks that start an agent.",
    "variables": "Values and secrets for tools.",
    "schedules": "Reminders, schedules and heartbeats.",
    "workflows": "Workflows, their versions and triggers.",
    "runs": "Workflow runs: start, follow, answer.",
    "people": "People who write to the agents.",
    "pairings": "Pairing requests of unknown people.",
    "auth": "Logging in and out.",
    "mcp": "The Model Context Protocol.",
    "v1": "The OpenAI-compatible API, with OpenAI's error format.",
}

_ID: Schema = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}
_KEY_HEADER: dict[str, Any] = {
    "name": IDEMPOTENCY_KEY,
    "in": "header",
    "required": False,
    "description": "A new text for each write, such as a UUID. A request with a used key does not run again.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
}
_HEADERS: dict[str, dict[str, Any]] = {
    "WWW-Authenticate": {"description": "The authentication scheme.", "schema": {"type": "string"}},
    "Retry-After": {"description": "Seconds until another attempt makes sense.", "schema": {"type": "string"}},
    REPLAYED: {
        "description": f"`true`: the stored response to an earlier request with this `{IDEMPOTENCY_KEY}`.",
        "schema": {"type": "string", "enum": ["true"]},
    },
}
_HEADERS_OF = {401: ("WWW-Authenticate",), 409: ("Retry-After",), 429: ("Retry-After",), 503: ("Retry-After",)}


class _Classes(Components):
    """The components of the document. They describe each view class once."""

    def __init__(self) -> None:
        super().__init__(NAMED)
        self._shared: dict[Any, Any] = {}

    def schema(self, kind: Schema | type[View]) -> Any:
        if isinstance(kind, dict):
            return self.share(kind)
        if kind not in self._shared:
            self._shared[kind] = self.share(schema_of(kind))
        return self._shared[kind]


def describe(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    components = _Classes()
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, components)
    used = sorted({_tag(endpoint) for endpoint in endpoints})
    return {
        "openapi": "3.1.0",
        "info": {"title": "Arvis", "version": __version__, "description": _ABOUT, "license": {"name": "MIT"}},
        "servers": [{"url": "/"}],
        "tags": [{"name": tag, **({"description": _TAGS[tag]} if tag in _TAGS else {})} for tag in used],
        "paths": paths,
        "components": {
            "schemas": components.schemas,
            "parameters": {"IdempotencyKey": _KEY_HEADER},
            "headers": _HEADERS,
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key, or the key in the data folder.",
                },
                "cookie": {"type": "apiKey", "in": "cookie", "name": "arvis_session", "description": "A login."},
            },
        },
    }


def _operation(endpoint: Endpoint, components: _Classes) -> dict[str, Any]:
    public = endpoint.access == PUBLIC
    operation: dict[str, Any] = {
        "tags": [_tag(endpoint)],
        "summary": endpoint.summary,
        "description": "Public." if public else f"Roles: {', '.join(sorted(endpoint.access))}.",
        "operationId": _operation_id(endpoint),
        "parameters": _parameters(endpoint),
        "responses": {**_errors(endpoint, components), **_answers(endpoint, components)},
        "security": [] if public else [{"key": []}, {"cookie": []}],
    }
    if not public:
        operation["x-roles"] = sorted(endpoint.access)
    if endpoint.body is not None:
        content: dict[str, Any] = {"schema": for_bodies(schema_of(endpoint.body))}
        example = EXAMPLES.get((endpoint.method, endpoint.path))
        if example is not None:
            content["example"] = example
        operation["requestBody"] = {"required": True, "content": {"application/json": content}}
    return operation


def _tag(endpoint: Endpoint) -> str:
    words = [word for word in endpoint.path.split("/") if word not in {"", "api"}]
    return "system" if len(words) == 1 and not endpoint.path.startswith(("/api/", "/mcp")) else words[0]


def _operation_id(endpoint: Endpoint) -> str:
    words = re.findall(r"\w+", endpoint.path)
    return "_".join([endpoint.method.lower(), *(word for word in words if word != "api")])


def _parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": endpoint.names.get(name, _ID)}
        for name in _PARAMETER.findall(endpoint.path)
    ]
    in_query = [
        {"name": name, "in": "query", "required": False, "schema": schema} for name, schema in endpoint.query.items()
    ]
    in_header = [{"$ref": "#/components/parameters/IdempotencyKey"}] if takes_key(endpoint) else []
    return [*in_path, *in_query, *in_header]


def _answers(endpoint: Endpoint, components: _Classes) -> dict[str, Any]:
    headers = {"headers": _headers(REPLAYED)} if takes_key(endpoint) else {}
    return {
        str(status): {
            "description": "Not now" if status == HTTPStatus.SERVICE_UNAVAILABLE else "Done",
            **headers,
            **({"content": _content(endpoint.media, components.schema(schema))} if schema else {}),
        }
        for status, schema in endpoint.answers.items()
    }


def _content(media: str, schema: Schema) -> dict[str, Any]:
    """Return the OpenAPI description of a response body for each media type: `schema` for JSON, a string for plain
    text, and an empty description for files and streams."""
    found: dict[str, Any] = {}
    for kind in media.split(", "):
        if kind == "application/json":
            found[kind] = {"schema": schema}
        else:
            found[kind] = {"schema": {"type": "string"}} if kind == "text/plain" else {}
    return found


def _errors(endpoint: Endpoint, components: Components) -> dict[str, Any]:
    """Return the error responses that the handler, or a check before the handler, can send."""
    possible = {status for _, status in STATUSES} - (
        {401, 403} if endpoint.access == PUBLIC and endpoint.method == "GET" else set()
    )
    if "{" not in endpoint.path and endpoint.body is None and not endpoint.query:
        possible -= {404} if takes_key(endpoint) else {404, 409}
    form = ERROR if endpoint.errors is None else endpoint.errors.schema
    return {
        str(status): {
            "description": f"Refused: {HTTPStatus(status).phrase.lower()}",
            **({"headers": _headers(*_HEADERS_OF[status])} if status in _HEADERS_OF else {}),
            "content": {"application/json": {"schema": _either(status, form, components)}},
        }
        for status in sorted({*possible, *endpoint.refusals})
    }


def _either(status: int, form: Schema, components: Components) -> Schema:
    """Return the schema of a response with this error status. A response with status 403 can also have the API's own
    error format, because the middleware refuses unknown hosts and origins before it knows the route."""
    own = components.share(form)
    return own if form is ERROR or status != HTTPStatus.FORBIDDEN else {"anyOf": [own, components.share(ERROR)]}


def _headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
