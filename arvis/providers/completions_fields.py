"""Fields that servers of the chat-completions format treat differently: the provider learns from refusals which of
them each server accepts.

A server that refuses a request because of one of these fields gets it once more without the field, and later requests
in the form that it accepted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Account
from arvis.ports.clock import Clock
from arvis.providers import failures

OLD_LIMIT, NEW_LIMIT = "max_tokens", "max_completion_tokens"
_REFUSING = frozenset({400, 422})
_NAMES = re.compile(r"\b(?:max_tokens|max_completion_tokens|reasoning_content|reasoning|stream_options)\b")
_REQUIRED = re.compile(r"must be passed back|\bis missing\b|\bmissing\b.{0,40}reasoning_content", re.IGNORECASE)
#: Maximum characters of a refusal that are examined.
_LOOKED_AT = 8_192

#: OpenAI's models that refuse `max_tokens`, on any server.
_NEW_MODELS = re.compile(r"(?:o\d|gpt-[5-9]|codex|chatgpt-[5-9])\b", re.IGNORECASE)


class FieldRefused(ProviderError):
    """A refusal that names fields of the request; `required` says that the server expected reasoning that was not
    sent."""

    def __init__(self, error: ProviderError, named: frozenset[str], *, required: bool) -> None:
        super().__init__(error.kind, error.what, retry_after=error.retry_after, elsewhere=error.elsewhere)
        self.named = named
        self.required = required


@dataclass(frozen=True, slots=True)
class Accepted:
    """The form of requests that one model of one server accepts: the name of the limit, and the optional fields."""

    limit: str
    reasoning: bool = True
    reasoning_required: bool = False
    stream_options: bool = True

    def after(self, refused: FieldRefused, document: Mapping[str, Any]) -> Accepted | None:
        """Return the form to try after a refusal of this document; None when the refusal names no field that can be
        left out."""
        if refused.required:
            return None if self.reasoning_required else replace(self, reasoning=True, reasoning_required=True)
        sent = {name for message in document["messages"] for name in message} | document.keys()
        named = refused.named & sent
        if named & {"reasoning", "reasoning_content"}:
            return replace(self, reasoning=False, reasoning_required=False)
        if "stream_options" in named:
            return replace(self, stream_options=False)
        if self.limit in named:
            return replace(self, limit=NEW_LIMIT if self.limit == OLD_LIMIT else OLD_LIMIT)
        return None


def first_try(account: Account, model: str, *, field: str) -> Accepted:
    """Return the form of the first request. Servers with an address of their own know the old name of the limit,
    except for models that refuse it."""
    newer = _NEW_MODELS.match(model.rpartition("/")[2]) is not None
    own = account.base_url is not None and not newer
    return Accepted(OLD_LIMIT if own else NEW_LIMIT if newer and account.provider != "openrouter" else field)


def failure(account: Account, status: int, headers: Mapping[str, str], document: object, clock: Clock) -> ProviderError:
    """Return the vendor's error, with the fields that it names."""
    error = failures.from_answer(account, status, headers, document, clock)
    if status not in _REFUSING or error.kind is not ProviderErrorKind.BAD_REQUEST:
        return error
    text = json.dumps(document, ensure_ascii=False)[:_LOOKED_AT]
    named = frozenset(_NAMES.findall(text))
    required = "reasoning_content" in named and _REQUIRED.search(text) is not None
    return FieldRefused(error, named, required=required) if named else error
