"""The class of a route, which has a method, a path, an access rule, a request and a response.

Routing, access control and the OpenAPI document are all built from the same list of routes, so that no route can exist
without an access rule.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from arvis.domain.changes import ChangeTopic
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import NotFound, Unprocessable
from arvis.domain.events import Changed
from arvis.domain.regex import regex
from arvis.domain.text import storable
from arvis.web.http.errors import Failure
from arvis.web.http.identity import Access, Identity
from arvis.web.http.limits import BodyLimit
from arvis.web.http.models import DONE, Body, Page, View
from arvis.web.http.requests import read_object
from arvis.web.http.schema import BOOLEAN, INTEGER, STRING, Schema

# The topics of changes. After a request that changed data, `application.py` announces the change under the topic of the
# request's route.


_API = "/api/"
_LONGEST_ID = 200

#: The topics whose names differ from their path segments, by the path segment after `/api/`.
_OTHERS: Mapping[str, ChangeTopic] = {
    "auth": ChangeTopic.USERS,
    "erasures": ChangeTopic.PEOPLE,
    "pairings": ChangeTopic.PEOPLE,
    "runs": ChangeTopic.WORKFLOWS,
    "suites": ChangeTopic.EVALUATIONS,
}
#: The POST routes that write nothing.
_ASKING = frozenset({"/api/workflows/validate"})
_KNOWN: Mapping[str, ChangeTopic] = {**{topic.value: topic for topic in ChangeTopic}, **_OTHERS}


def topic_of(path: str) -> ChangeTopic | None:
    """Return the topic of a route's path, or None for a path outside the API. For an API path that has no topic, return
    the topic of settings, so that every change is announced."""
    if not path.startswith(_API):
        return None
    return _KNOWN.get(path.removeprefix(_API).partition("/")[0], ChangeTopic.SETTINGS)


def change_by(method: str, path: str, parameters: Mapping[str, object]) -> Changed | None:
    """Return the change that a successful request has made, or None if the request only read. `path` is the path of the
    route, and `parameters` are its parameters in order. The first parameter is the id of the changed object. The id of
    a bot consists of the first two parameters, its platform and its name."""
    topic = topic_of(path)
    if method in {"GET", "HEAD"} or topic is None or path in _ASKING:
        return None
    values = [str(value) for value in parameters.values()]
    id_ = "/".join(values[: 2 if "{platform}" in path else 1])[:_LONGEST_ID]
    return Changed(topic, id_ or None)


B = TypeVar("B", bound=Body)
R = TypeVar("R")

_DECLARED = "declared_route"
_ID = regex(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_MAX_QUERY = 200
_MAX_PAGE = 200

#: Query parameters of every paged list.
PAGING: Mapping[str, Schema] = {
    "limit": {**INTEGER, "minimum": 1, "maximum": _MAX_PAGE, "default": 50},
    "cursor": {**STRING, "description": "`nextCursor` of the previous page.", "minLength": 1, "maxLength": _MAX_QUERY},
}
FLAG: Schema = BOOLEAN

#: The methods that write, and the header that makes it safe to repeat a write.
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
IDEMPOTENCY_KEY = "Idempotency-Key"


@dataclass(frozen=True, slots=True)
class Call:
    """A request whose caller was admitted."""

    request: Request
    identity: Identity
    body_limit: BodyLimit

    async def read(self, body: type[B], limit: BodyLimit | None = None) -> B:
        """Return the body of the request. Raise `Unprocessable` for an unknown or wrong field. If `limit` is given, it
        replaces the limit of the route."""
        return body.read(await read_object(self.request, limit or self.body_limit))

    def id(self, name: str) -> str:
        """Return an id from the path. Raise `NotFound` if it is malformed."""
        value = str(self.request.path_params[name])
        if not _ID.fullmatch(value):
            raise NotFound("There is no object with this id.", fix="Check the id in the address.")
        return value

    def named(self, name: str, pattern: re.Pattern[str]) -> str | None:
        """Return a path parameter that is a name and not an id; None if the name does not match `pattern`."""
        value = str(self.request.path_params[name])
        return value if pattern.fullmatch(value) else None

    def query(self, name: str) -> str | None:
        value = self.request.query_params.get(name)
        if value is not None and not (
            0 < len(value) <= _MAX_QUERY and value.isprintable() and storable(value) == value
        ):
            raise _wrong_query(name, f"1 to {_MAX_QUERY} printable characters")
        return value

    def choice(self, name: str, *kinds: type[StrEnum]) -> str | None:
        value = self.query(name)
        members = [str(member) for kind in kinds for member in kind]
        if value is not None and value not in members:
            raise _wrong_query(name, "one of " + ", ".join(members))
        return value

    def flag(self, name: str, default: bool) -> bool:
        match self.query(name):
            case None:
                return default
            case "true" | "false" as value:
                return value == "true"
            case _:
                raise _wrong_query(name, "true or false")

    def seconds(self, name: str, default: float, most: float) -> float:
        """Return a number of seconds from the query, at most `most`."""
        text = self.query(name)
        if text is None:
            return default
        if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text, re.ASCII):
            raise _wrong_query(name, "a number of seconds from 0")
        return min(float(text), most)

    @property
    def limit(self) -> int:
        text = self.query("limit") or "50"
        if not re.fullmatch(r"\d{1,4}", text, re.ASCII) or not 1 <= int(text) <= _MAX_PAGE:
            raise _wrong_query("limit", f"a whole number from 1 to {_MAX_PAGE}")
        return int(text)


@dataclass(frozen=True, slots=True)
class ErrorForm:
    """The error format of a route that implements another protocol."""

    schema: Schema
    response: Callable[[Failure], Response]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A route."""

    method: str
    path: str
    summary: str
    access: Access
    handler: Callable[[Call], Awaitable[Response]]
    #: The response for each success status.
    answers: Mapping[int, Schema | type[View]]
    body: Schema | type[Body] | None = None
    query: Mapping[str, Schema] = field(default_factory=dict)
    #: True: the body can contain attachments, so its size limit is larger.
    large: bool = False
    #: Schemas of path parameters that are not ids.
    names: Mapping[str, Schema] = field(default_factory=dict)
    #: True: the last path parameter may contain slashes.
    deep: bool = False
    #: True: the route accepts `Idempotency-Key`. False: the route writes nothing, or has its own protection against
    #: repetition.
    keyed: bool = True
    #: True: the route can run again after a crash, because it uses the `Idempotency-Key` to find the rows of the first
    #: request (`request_of`).
    repeatable: bool = False
    #: The content types of the responses, separated by ", ".
    media: str = "application/json"
    #: The format of the errors, if it is not the format of the API.
    errors: ErrorForm | None = None
    #: The error statuses that this route can return in addition to those of all routes.
    refusals: tuple[int, ...] = ()


Handler = Callable[[R, Call], Awaitable[Response]]


def route(
    method: str,
    path: str,
    summary: str,
    access: Access,
    answers: Mapping[int, Schema | type[View]],
    *,
    body: type[Body] | None = None,
    query: Mapping[str, Schema] | None = None,
    **more: Any,
) -> Callable[[Handler[R]], Handler[R]]:
    """Declare the route that a method of a `Routes` class handles. `more` contains further fields of `Endpoint`."""

    def declare(handler: Handler[R]) -> Handler[R]:
        declared = partial(
            Endpoint, method, path, summary, access, answers=answers, body=body, query=query or {}, **more
        )
        setattr(handler, _DECLARED, declared)
        return handler

    return declare


class Routes:
    """The routes of a resource. Each method that has the decorator `route` handles one route."""

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints in the order of their declarations."""
        found = [(name, getattr(handler, _DECLARED, None)) for name, handler in vars(type(self)).items()]
        return [declared(handler=getattr(self, name)) for name, declared in found if declared is not None]


#: Views contain no cycles, so the encoder does not check for cycles.
_ENCODER = json.JSONEncoder(
    default=View.to_json, ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
)


class _Json(JSONResponse):
    def render(self, content: Any) -> bytes:
        return _ENCODER.encode(content).encode()


def answer(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return _Json(data, status, headers=headers)


def done() -> Response:
    return answer(DONE)


def answer_page(items: Sequence[View], next_cursor: str | None) -> Response:
    return answer(Page(items=list(items), next_cursor=next_cursor))


def _wrong_query(name: str, expected: str) -> Unprocessable:
    return Unprocessable(f"`{name}` must be {expected}.", fix="GET /openapi.json describes every parameter.")
