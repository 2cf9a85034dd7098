"""The supported part of OpenAI's chat completion schemas, and OpenAI's error format."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from arvis.domain.regex import regex
from arvis.web.http.errors import Failure
from arvis.web.http.schema import (
    ANYTHING,
    BOOLEAN,
    INTEGER,
    LABEL,
    STRING,
    Schema,
    array,
    object_schema,
    one_of,
    optional,
)

#: The response header with the id of the message that an accepted request became.
MESSAGE_HEADER = "X-Arvis-Message-Id"
#: The response header that keeps OpenAI's client libraries from sending an accepted request again.
_NO_RETRY = {"x-should-retry": "false"}


def _open(schema: Schema) -> Schema:
    """Return a copy of the schema. The copy allows additional fields, because clients send more fields than the schema
    lists. `requests.parameters_of` applies or refuses these additional fields."""
    return {**schema, "additionalProperties": True}


_CACHED = object_schema({"cached_tokens": INTEGER})
USAGE = object_schema(
    {
        "prompt_tokens": INTEGER,
        "completion_tokens": INTEGER,
        "total_tokens": INTEGER,
        "prompt_tokens_details": _CACHED,
    }
)
_CALL = object_schema(
    {"id": STRING, "type": one_of(["function"]), "function": object_schema({"name": STRING, "arguments": STRING})}
)
_REPLY = object_schema(
    {"role": STRING, "content": optional(STRING), "refusal": optional(STRING), "tool_calls": array(_CALL)},
    required=("role", "content", "refusal"),
)
_CHOICE = object_schema(
    {
        "index": INTEGER,
        "message": _REPLY,
        "logprobs": {"type": "null"},
        "finish_reason": one_of(["stop", "length", "tool_calls"]),
    }
)
COMPLETION: Schema = {
    **object_schema(
        {
            "id": STRING,
            "object": one_of(["chat.completion"]),
            "created": INTEGER,
            "model": STRING,
            "choices": array(_CHOICE),
            "usage": USAGE,
        }
    ),
    "description": "With `stream`: server-sent events of `chat.completion.chunk`, ended by `[DONE]`.",
}
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_MESSAGE = _open(
    object_schema(
        {
            "role": one_of(_ROLES),
            "content": {**ANYTHING, "description": "A text, or a list of parts; null means an empty text."},
        },
        required=("role",),
    )
)
REQUEST = _open(
    object_schema(
        {
            "model": {**LABEL, "description": "The slug of an agent."},
            "messages": array(_MESSAGE),
            "user": {
                "type": "string",
                "maxLength": 200,
                "description": "The name of the conversation; default: a conversation of the key.",
            },
            "stream": BOOLEAN,
            "stream_options": _open(object_schema({"include_usage": BOOLEAN}, required=())),
        },
        required=("model", "messages"),
    )
)
MODEL = object_schema({"id": STRING, "object": one_of(["model"]), "created": INTEGER, "owned_by": STRING})
MODELS = object_schema({"object": one_of(["list"]), "data": array(MODEL)})
ERROR = object_schema(
    {"error": object_schema({"message": STRING, "type": STRING, "code": optional(STRING), "param": optional(STRING)})}
)

_PARAMETER = regex(r"`([\w.\[\]]+)`")
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    409: "conflict_error",
    429: "rate_limit_error",
}
_FIRST_OF_THE_SERVER = 500
_UNPROCESSABLE = 422
#: The error codes that keep status 422. Every other error with status 422 gets status 400, because OpenAI uses 400 for
#: invalid requests. The RFC draft on `Idempotency-Key` requires 422 if a key was used for another request.
_KEPT_CODES = frozenset({"key_reused"})


def error_of(failure: Failure) -> dict[str, Any]:
    """Return the error in OpenAI's format. The fix is part of the message, because clients show only the message."""
    kind = "server_error" if failure.status >= _FIRST_OF_THE_SERVER else "invalid_request_error"
    named = _PARAMETER.match(failure.message)
    return {
        "error": {
            "message": f"{failure.message} {failure.fix}".strip(),
            "type": _TYPES.get(failure.status, kind),
            "code": failure.code,
            "param": named[1] if named else None,
        }
    }


def refusal(failure: Failure, message_id: str | None = None) -> Response:
    """Return the error response. `message_id` is set once the message is accepted."""
    status = 400 if failure.status == _UNPROCESSABLE and failure.code not in _KEPT_CODES else failure.status
    headers = dict(failure.to_response().headers) if failure.status in {401, 429, 503} else {}
    kept = {name: value for name, value in headers.items() if name in {"www-authenticate", "retry-after"}}
    accepted = {} if message_id is None else {MESSAGE_HEADER: message_id, **_NO_RETRY}
    return JSONResponse(error_of(failure), status, headers={**kept, **accepted})
