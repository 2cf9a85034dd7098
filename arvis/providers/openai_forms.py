"""The forms of requests that models of OpenAI and of compatible servers accept, and how refusals change them.

Servers of these formats treat some fields differently, and some models are only available through another API. A
refusal names the field or the API; the provider then sends the request again in another form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effort import NONE, named_efforts, nearest
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.regex import regex
from arvis.domain.runs import CHAT, RESPONSES, Account, RunRequest
from arvis.ports.clock import Clock
from arvis.providers import failures

OLD_LIMIT, NEW_LIMIT = "max_tokens", "max_completion_tokens"

#: The model parameters that are left out of a repeated request if the model has refused them.
_PARAMETERS = frozenset({"temperature", "top_p", "frequency_penalty", "presence_penalty", "seed"})
#: The model parameters that the Responses API does not have.
_NOT_IN_RESPONSES = frozenset({"frequency_penalty", "presence_penalty", "seed"})
_REFUSING = frozenset({400, 422})
#: The HTTP statuses of a server that does not have the Responses API.
_MISSING = frozenset({404, 405})
_NAMES = regex(
    r"\b(?:max_tokens|max_completion_tokens|reasoning_content|reasoning_effort|reasoning"
    r"|stream_options|response_format|text|temperature|top_p|frequency_penalty|presence_penalty|seed|include)\b"
)
_REQUIRED = regex(r"must be passed back|\bis missing\b|\bmissing\b.{0,40}reasoning_content", re.IGNORECASE)
_OTHER_API = regex(r"v1/responses", re.IGNORECASE)
_ENCRYPTED = regex(r"encrypted[ _]content", re.IGNORECASE)
#: The maximum number of characters of a refusal that are searched for field names.
_LOOKED_AT = 8_192

#: OpenAI's models that refuse `max_tokens`, on any server.
_NEW_MODELS = regex(r"(?:o\d|gpt-[5-9]|codex|chatgpt-[5-9])\b", re.IGNORECASE)
#: OpenAI's models that only its Responses API serves.
_RESPONSES_MODELS = regex(r"(?:o\d|gpt-[5-9])[\w.-]*-(?:pro|codex|deep-research)\b|codex-|computer-use", re.IGNORECASE)


class FieldRefused(ProviderError):
    """A refusal that names fields of the request, or another API."""

    def __init__(self, error: ProviderError, text: str, *, status: int, only_chat: bool) -> None:
        super().__init__(error.kind, error.what, retry_after=error.retry_after, elsewhere=error.elsewhere)
        self.text = text
        self.named = frozenset(_NAMES.findall(text)) if status in _REFUSING else frozenset()
        #: True if the server expected reasoning that was not sent.
        self.required = "reasoning_content" in self.named and _REQUIRED.search(text) is not None
        #: True if the model is only available through the Responses API.
        self.other_api = _OTHER_API.search(text) is not None
        #: True if the model has no encrypted reasoning.
        self.unencrypted = _ENCRYPTED.search(text) is not None
        #: True if the account may use only chat completions.
        self.only_chat = only_chat
        #: True if the server does not have the requested address.
        self.missing = status in _MISSING


@dataclass(frozen=True, slots=True)
class Accepted:
    """The form of requests that one model of one server accepts."""

    #: The name of the field that limits the reply in chat completions.
    limit: str
    #: True if messages may contain the reasoning before their tool calls.
    reasoning: bool = True
    #: True if messages with tool calls must contain reasoning.
    reasoning_required: bool = False
    #: True if the request may contain `stream_options`.
    stream_options: bool = True
    #: The reasoning efforts that the model accepts, by OpenAI's names; None if the model has not refused an effort yet.
    efforts: tuple[str, ...] | None = None
    #: The model parameters that the model refuses.
    refused: frozenset[str] = frozenset()
    #: `schemas`: True if the request may contain a JSON schema for the reply. `json`: True if the request may ask for
    #: JSON.
    schemas: bool = True
    json: bool = True
    #: True if the request uses the Responses API.
    responses: bool = False
    #: True if requests of the Responses API may ask for encrypted reasoning.
    encrypted: bool = True
    #: True if the model accepts tools only without reasoning, because the Responses API is not available for it.
    tools_without_reasoning: bool = False

    def after(self, refused: FieldRefused, document: Mapping[str, Any], request: RunRequest) -> Accepted | None:
        """Return the form for the next attempt after the server refused this document; None if the refusal names no
        field that can be changed or left out."""
        if (other := self._with_other_api(refused)) is not None:
            return other
        if refused.required:
            return None if self.reasoning_required else replace(self, reasoning=True, reasoning_required=True)
        messages = document.get("messages", ())
        sent = {name for message in messages for name in message} | document.keys()
        named = refused.named & sent
        if (less := self._with_less(refused, named, document, request)) is not None:
            return less
        if named & {"reasoning", "reasoning_content"}:
            return replace(self, reasoning=False, reasoning_required=False)
        if "stream_options" in named:
            return replace(self, stream_options=False)
        if self.limit in named:
            return replace(self, limit=NEW_LIMIT if self.limit == OLD_LIMIT else OLD_LIMIT)
        return None

    def _with_other_api(self, refused: FieldRefused) -> Accepted | None:
        if refused.other_api and not self.responses and not self.tools_without_reasoning:
            only_chat = refused.only_chat
            return replace(self, tools_without_reasoning=True) if only_chat else replace(self, responses=True)
        if self.responses and refused.missing:
            return replace(self, responses=False, tools_without_reasoning=True)
        if self.responses and self.encrypted and (refused.unencrypted or "include" in refused.named):
            return replace(self, encrypted=False)
        return None

    def _with_less(
        self, refused: FieldRefused, named: frozenset[str], document: Mapping[str, Any], request: RunRequest
    ) -> Accepted | None:
        """Return the form with another effort or format, or without refused parameters."""
        effort = self.effort_of(request)
        if effort is not None and named & {"reasoning_effort", "reasoning"} and _has_effort(document):
            efforts = named_efforts(refused.text, effort)
            return replace(self, efforts=() if efforts == self.efforts else efforts)
        if request.format is not None and self.json and named & {"response_format", "text"}:
            by_schema = self.schemas and request.format.schema is not None
            return replace(self, schemas=False) if by_schema else replace(self, json=False)
        if parameters := named & _PARAMETERS:
            return replace(self, refused=self.refused | parameters)
        return None

    def effort_of(self, request: RunRequest) -> str | None:
        """Return the reasoning effort to send; None if no effort is sent."""
        if self.tools_without_reasoning and request.tools:
            return NONE
        if request.effort is None or self.efforts is None:
            return request.effort
        return nearest(request.effort, self.efforts)

    def sampling(self, request: RunRequest) -> dict[str, Any]:
        """Return the model parameters to send."""
        refused = self.refused | (_NOT_IN_RESPONSES if self.responses else frozenset())
        return {name: value for name, value in request.sampling.items() if name not in refused}

    def format_of(self, request: RunRequest) -> dict[str, Any] | None:
        """Return the format of the reply in the form of the Responses API; None if no format is sent."""
        wanted = request.format
        if wanted is None or not self.json:
            return None
        if wanted.schema is None or not self.schemas:
            return {"type": "json_object"}
        return {"type": "json_schema", "name": wanted.name, "schema": wanted.schema, "strict": wanted.strict}

    def left_out(self, request: RunRequest) -> tuple[str, ...]:
        """Return the parts of the request that are not sent because the model refuses them."""
        effort = self.effort_of(request)
        lost = request.effort is not None and (effort is None or (effort == NONE) != (request.effort == NONE))
        refused = self.refused | (_NOT_IN_RESPONSES if self.responses else frozenset())
        return (*(["effort"] if lost else []), *sorted(refused & request.sampling.keys()))


def _has_effort(document: Mapping[str, Any]) -> bool:
    return "reasoning_effort" in document or isinstance(document.get("reasoning"), Mapping)


def first_try(account: Account, model: str, *, field: str) -> Accepted:
    """Return the form of the first request. `field` is the name that the vendor uses for the limit of the reply. If the
    account names its own address, the old name `max_tokens` is used, except for models that refuse it."""
    plain = model.rpartition("/")[2]
    newer = _NEW_MODELS.match(plain) is not None
    own = account.base_url is not None and not newer
    limit = OLD_LIMIT if own else NEW_LIMIT if newer and account.provider != "openrouter" else field
    vendor = account.provider == "openai" and account.base_url is None
    other = account.api == RESPONSES or (account.api is None and vendor and bool(_RESPONSES_MODELS.match(plain)))
    return Accepted(limit, responses=other)


def failure(account: Account, status: int, headers: Mapping[str, str], document: object, clock: Clock) -> ProviderError:
    """Return the error of an answer: a `FieldRefused` if the answer names fields of the request, another API, or an
    address that the server does not have."""
    error = failures.from_answer(account, status, headers, document, clock)
    if status not in _REFUSING | _MISSING or error.kind is not ProviderErrorKind.BAD_REQUEST:
        return error
    text = json.dumps(document, ensure_ascii=False)[:_LOOKED_AT]
    refused = FieldRefused(error, text, status=status, only_chat=account.api == CHAT)
    useful = refused.named or refused.other_api or refused.unencrypted or refused.missing
    return refused if useful else error
