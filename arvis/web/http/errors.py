"""Errors of the API: a table that maps exceptions to HTTP statuses, and the format of all errors.

The client gets the text of an exception only if the exception is in the table; otherwise it gets a general text.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import (
    ArvisError,
    Conflict,
    DatabaseAway,
    Forbidden,
    Invalid,
    NotFound,
    TooLarge,
    TooMany,
    Unauthorised,
    Unavailable,
    Unprocessable,
    sentences,
)

T = TypeVar("T")

log = logging.getLogger(__name__)

STATUSES: tuple[tuple[type[ArvisError], int], ...] = (
    (Invalid, 400),
    (Unauthorised, 401),
    (Forbidden, 403),
    (NotFound, 404),
    (Conflict, 409),
    (TooLarge, 413),
    (Unprocessable, 422),
    (TooMany, 429),
    (Unavailable, 503),
)


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as the client sees it."""

    status: int
    code: str
    message: str
    fix: str
    #: The seconds until another attempt can succeed; None: unknown.
    seconds: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message, "fix": self.fix}}

    def to_response(self) -> Response:
        headers = _HEADERS_OF_CODES.get(self.code, _EXTRA_HEADERS.get(self.status, {}))
        later = {} if self.seconds is None else {"Retry-After": str(self.seconds)}
        return JSONResponse(self.to_json(), self.status, headers={**headers, **later})


_EXTRA_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "60"}, 503: {"Retry-After": "10"}}
_HEADERS_OF_CODES = {"in_progress": {"Retry-After": "2"}}

INTERNAL = Failure(500, "internal", "An internal error occurred.", "See the log of the daemon.")

STOPPING = Failure(503, "stopping", "Arvis is stopping.", "Send the request again after the restart.")


#: The driver's message about an outage contains names of servers and folders, so it is written only to the log.
AWAY = Failure(503, "unavailable", "The database is not available.", "Send the request again in a few seconds.", 2)


def failure_of(error: ArvisError) -> Failure:
    if isinstance(error, DatabaseAway):
        return AWAY
    for kind, status in STATUSES:
        if isinstance(error, kind):
            message = sentences(error.what, error.why)
            seconds = error.seconds if isinstance(error, TooMany) else None
            return Failure(status, error.code, message, error.fix, seconds)
    log.error("Unexpected error while answering a request", exc_info=error)
    return INTERNAL


async def attempt(work: Awaitable[T]) -> T | Failure:
    """Return the result of `work`. If `work` raises an error, return the error as a `Failure`."""
    try:
        return await work
    except ArvisError as error:
        return failure_of(error)
    # A defect in one request must not end a connection or the server.
    except Exception:
        log.exception("Unexpected error while answering a request")
        return INTERNAL


def failure_of_http(error: HTTPException) -> Failure:
    """Convert an error of the router, such as an unknown path or a wrong method."""
    known = {404: "not_found", 405: "method_not_allowed"}
    return Failure(error.status_code, known.get(error.status_code, "bad_request"), f"{error.detail}.", _WHERE)


_WHERE = "GET /openapi.json lists every path and its methods."
