"""Convert the reasoning effort to the forms that Anthropic's models accept: adaptive thinking with an effort, or a
budget of tokens for thinking. If a model refuses one form, the provider sends the request again in the other form, and
finally without thinking."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effort import NONE, THINKING_TOKENS, named_efforts, nearest
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.regex import regex
from arvis.domain.runs import RunRequest


class Form(StrEnum):
    #: The model decides how much it thinks, guided by an effort.
    ADAPTIVE = "adaptive"
    #: A number of tokens for thinking.
    BUDGET = "budget"
    #: The model does not think.
    NONE = "none"


#: The efforts of adaptive thinking.
_ADAPTIVE_EFFORTS = ("low", "medium", "high", "xhigh", "max")
#: The smallest budget that the vendor accepts, and the minimum number of tokens that must remain for the reply.
_LEAST_BUDGET, _LEAST_REPLY = 1_024, 1_024

_ADAPTIVE = regex(r"claude-(?:opus|sonnet|haiku)-4-[6-9]\b|claude-[a-z]+-(?:[5-9]|\d\d)\b|claude-mythos", re.IGNORECASE)
_WITHOUT = regex(r"claude-(?:[12]|instant|3-(?!7)|3\.[05])", re.IGNORECASE)
_ABOUT_THINKING = regex(r"\bthinking\b|\beffort\b|output_config|budget_tokens|\badaptive\b", re.IGNORECASE)

_ABOUT_FORMAT = regex(r"output_config\.format|output_format|json_schema|structured output|\bschema\b", re.IGNORECASE)
_ABOUT_SAMPLING = regex(r"\btemperature\b|\btop_p\b")

_NEXT: Mapping[Form, tuple[Form, ...]] = {
    Form.ADAPTIVE: (Form.BUDGET, Form.NONE),
    Form.BUDGET: (Form.ADAPTIVE, Form.NONE),
    Form.NONE: (),
}


def first_thinking(model: str) -> Thinking:
    """Return the form of thinking for the first request, which depends on the name of the model. Other vendors' models
    are tried with a budget, because their servers accept this form."""
    plain = model.rpartition("/")[2]
    if _ADAPTIVE.match(plain):
        return Thinking(Form.ADAPTIVE)
    return Thinking(Form.NONE if _WITHOUT.match(plain) else Form.BUDGET)


@dataclass(frozen=True, slots=True)
class Thinking:
    """The form of thinking that one model accepts."""

    form: Form
    efforts: tuple[str, ...] = _ADAPTIVE_EFFORTS
    #: The forms that the model has refused.
    refused: frozenset[Form] = frozenset()
    #: True if the model accepts sampling parameters while it does not think.
    sampling: bool = True
    #: True if the model accepts a JSON schema for the reply.
    schemas: bool = True

    def fields(self, request: RunRequest, origin: str) -> dict[str, Any]:
        """Return the request's fields for thinking. Return no fields if the request has no effort or the model cannot
        think with it. `origin` names the server and the model."""
        effort = request.effort
        if effort is None or self.form is Form.NONE:
            return {}
        if effort == NONE:
            return {"thinking": {"type": "disabled"}}
        if self.form is Form.ADAPTIVE:
            word = nearest(effort, self.efforts)
            return {"thinking": {"type": "adaptive"}, "output_config": {"effort": word}} if word else {}
        budget = min(THINKING_TOKENS[effort], request.max_tokens - _LEAST_REPLY)
        if budget < _LEAST_BUDGET or not _may_begin(request, origin):
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}

    def format_fields(self, request: RunRequest) -> dict[str, Any]:
        """Return the request's fields for the format of the reply. The vendor has no field for JSON without a
        schema."""
        wanted = request.format
        if wanted is None or wanted.schema is None or not self.schemas:
            return {}
        return {"output_config": {"format": {"type": "json_schema", "schema": wanted.schema}}}

    def without_refused(self, request: RunRequest, fields: Mapping[str, Any]) -> RunRequest:
        """Return the request without sampling parameters if the model refuses them, as every thinking model does."""
        thinks = fields.get("thinking", {}).get("type", "disabled") != "disabled"
        return replace(request, sampling={}) if request.sampling and (thinks or not self.sampling) else request

    def after(
        self, error: ProviderError, fields: Mapping[str, Any], request: RunRequest, *, formatted: bool = False
    ) -> Thinking | None:
        """Return the form for the next attempt after the request with `fields` failed with `error`; None if the error
        has another cause."""
        if error.kind is not ProviderErrorKind.BAD_REQUEST:
            return None
        if request.sampling and self.sampling and _ABOUT_SAMPLING.search(error.what):
            return replace(self, sampling=False)
        if formatted and _ABOUT_FORMAT.search(error.what):
            return replace(self, schemas=False)
        effort = request.effort
        if effort is None or not fields or not _ABOUT_THINKING.search(error.what):
            return None
        sent = fields.get("output_config", {}).get("effort", effort)
        named = named_efforts(error.what, sent)
        if self.form is Form.ADAPTIVE and named and named != self.efforts:
            return replace(self, efforts=named)
        known = self.refused | {self.form}
        return replace(self, form=next(form for form in _NEXT[self.form] if form not in known), refused=known)


def merged(thinking: Mapping[str, Any], formatted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields for thinking and for the format together; both can have an `output_config`."""
    output = {**thinking.get("output_config", {}), **formatted.get("output_config", {})}
    return {**thinking, **({"output_config": output} if output else {})}


def _may_begin(request: RunRequest, origin: str) -> bool:
    """Return whether the request may enable thinking with a budget. Within a turn, the vendor requires that the message
    with the last tool calls begins with thoughts. Tool calls of another model have no thoughts that this server
    accepts."""
    if not (request.turns and request.turns[-1].outputs):
        return True
    last = next((turn for turn in reversed(request.turns) if turn.calls), None)
    return last is None or (last.thoughts is not None and last.thoughts.get("origin") == origin)
