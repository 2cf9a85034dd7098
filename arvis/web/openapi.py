"""The OpenAPI document, made from the table of routes and from nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from arvis import __version__
from arvis.web.endpoints import Endpoint
from arvis.web.errors import STATUSES
from arvis.web.identity import PUBLIC
from arvis.web.schemas import ERROR, Schema

_PARAMETER = re.compile(r"\{(\w+)\}")
_ABOUT = """Errors have one form and a fix. Times are milliseconds since the epoch. Lists are paged: hand `nextCursor`
back as `cursor`. Members and chat keys use their own channels: `web-USERID`, `cli-USERID` (each also with a
`-suffix`), and `dashboard-agent-SLUG`, where each of them has a conversation of its own."""


def describe(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Arvis", "version": __version__, "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": {"Error": ERROR},
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "arvis_session"},
            },
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": _operation_id(endpoint),
        "parameters": [*_path_parameters(endpoint), *_query_parameters(endpoint)],
        "responses": {**_errors(endpoint), **_answers(endpoint)},
        "security": [] if endpoint.access == PUBLIC else [{"key": []}, {"cookie": []}],
    }
    if endpoint.access != PUBLIC:
        operation["x-roles"] = sorted(endpoint.access)
    if endpoint.body is not None:
        operation["requestBody"] = {"required": True, "content": _content(endpoint.body)}
    return operation


def _operation_id(endpoint: Endpoint) -> str:
    words = re.findall(r"\w+", endpoint.path)
    return "_".join([endpoint.method.lower(), *(word for word in words if word != "api")])


def _path_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    schema: Schema = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}
    names = _PARAMETER.findall(endpoint.path)
    return [
        {"name": name, "in": "path", "required": True, "schema": endpoint.names.get(name, schema)} for name in names
    ]


def _query_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "query", "required": False, "schema": schema} for name, schema in endpoint.query.items()
    ]


def _answers(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.path == "/metrics":
        return {"200": {"description": "Done", "content": {"text/plain": {"schema": {"type": "string"}}}}}
    return {
        str(status): {
            "description": "Not now" if status == HTTPStatus.SERVICE_UNAVAILABLE else "Done",
            "content": _content(schema),
        }
        for status, schema in endpoint.answers.items()
    }


def _errors(endpoint: Endpoint) -> dict[str, Any]:
    possible = {status for _, status in STATUSES} - ({401, 403} if endpoint.access == PUBLIC else set())
    if "{" not in endpoint.path and endpoint.body is None:
        possible -= {404, 409}
    reference = {"$ref": "#/components/schemas/Error"}
    errors = {str(status): {"description": "Refused", "content": _content(reference)} for status in sorted(possible)}
    return {**errors, "default": {"description": "Refused", "content": _content(reference)}}


def _content(schema: Schema) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
