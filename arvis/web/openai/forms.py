"""The formats of answers: chat completions and responses, each complete or as events of a stream."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from arvis.domain.client_calls import ClientCall
from arvis.domain.dataclass import dataclass
from arvis.domain.explanation import CUT
from arvis.ports.insights import MessageTimeline
from arvis.web.http.errors import Failure
from arvis.web.openai.models import error_of

_DONE = "data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The text that the client gets, and the timeline of its message."""

    text: str
    timeline: MessageTimeline
    #: The calls of the client's tools for which the turn waits.
    calls: Sequence[ClientCall] = ()

    @property
    def cut(self) -> bool:
        return self.timeline.reason == CUT


class AnswerForm(Protocol):
    """The formatter of one answer."""

    def whole(self, outcome: Outcome) -> dict[str, Any]:
        """Return the complete answer."""
        ...

    def begin(self) -> str:
        """Return the first events of a stream."""
        ...

    def piece(self, text: str) -> str:
        """Return the events of a piece of the text."""
        ...

    def end(self, outcome: Outcome) -> str:
        """Return the last events. `outcome` has the text of all pieces."""
        ...

    def failed(self, failure: Failure) -> str:
        """Return the last events of a stream that failed."""
        ...


def event(data: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"


# -- chat completions --------------------------------------------------------------------------------------------------


class ChatForm:
    """The formatter of a chat completion. If `usage` is True, the last event of the stream contains the token usage,
    and the field `usage` is null in all other events. OpenAI does the same."""

    def __init__(self, *, message_id: str, created: int, model: str, usage: bool) -> None:
        self._common = {"id": f"chatcmpl-{message_id}", "created": created, "model": model}
        self._usage = usage

    def whole(self, outcome: Outcome) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": outcome.text, "refusal": None}
        if outcome.calls:
            message |= {"content": outcome.text or None, "tool_calls": [_chat_call(call) for call in outcome.calls]}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(outcome)}
        return {**self._common, "object": "chat.completion", "choices": [choice], "usage": _chat_usage(outcome)}

    def begin(self) -> str:
        return self._choice({"role": "assistant", "content": ""})

    def piece(self, text: str) -> str:
        return self._choice({"content": text})

    def end(self, outcome: Outcome) -> str:
        called = [{"index": index, **_chat_call(call)} for index, call in enumerate(outcome.calls)]
        calls = self._choice({"tool_calls": called}) if called else ""
        last = f"{calls}{self._choice({}, _finish_reason(outcome))}"
        return f"{last}{self._event([], _chat_usage(outcome)) if self._usage else ''}{_DONE}"

    def failed(self, failure: Failure) -> str:
        return event(error_of(failure))

    def _choice(self, delta: Mapping[str, Any], finish_reason: str | None = None) -> str:
        return self._event([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}], None)

    def _event(self, choices: Sequence[Mapping[str, Any]], usage: Mapping[str, Any] | None) -> str:
        more = {"usage": usage} if self._usage else {}
        return event({**self._common, "object": "chat.completion.chunk", "choices": choices, **more})


def _chat_call(call: ClientCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _finish_reason(outcome: Outcome) -> str:
    if outcome.calls:
        return "tool_calls"
    return "length" if outcome.cut else "stop"


def _chat_usage(outcome: Outcome) -> dict[str, Any]:
    read, written = outcome.timeline.input_tokens, outcome.timeline.output_tokens
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": outcome.timeline.cached_tokens},
    }


# -- responses ---------------------------------------------------------------------------------------------------------


class ResponsesForm:
    """The formatter of a response. Each event of the stream has a number."""

    def __init__(self, *, message_id: str, created: int, model: str, settings: Mapping[str, Any]) -> None:
        self._message_id = message_id
        #: The fields of every response. `settings` are the fields that repeat settings of the request.
        self._common = {
            "id": f"resp_{message_id}",
            "object": "response",
            "created_at": created,
            "model": model,
            "error": None,
            "incomplete_details": None,
            **settings,
        }
        self._number = -1
        self._begun = False

    def whole(self, outcome: Outcome) -> dict[str, Any]:
        items = [] if outcome.calls and not outcome.text else [self._message(outcome.text)]
        calls = [_function_call(call) for call in outcome.calls]
        status = "incomplete" if outcome.cut else "completed"
        details = {"reason": "max_output_tokens"} if outcome.cut else None
        usage = {
            "input_tokens": outcome.timeline.input_tokens,
            "input_tokens_details": {"cached_tokens": outcome.timeline.cached_tokens},
            "output_tokens": outcome.timeline.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": outcome.timeline.input_tokens + outcome.timeline.output_tokens,
        }
        return {
            **self._common,
            "status": status,
            "incomplete_details": details,
            "output": [*items, *calls],
            "usage": usage,
        }

    def begin(self) -> str:
        response = {**self._common, "status": "in_progress", "output": [], "usage": None}
        return "".join(self._event(name, response=response) for name in ("response.created", "response.in_progress"))

    def piece(self, text: str) -> str:
        return f"{self._begin_message()}{self._part('response.output_text.delta', delta=text, logprobs=[])}"

    def end(self, outcome: Outcome) -> str:
        response = self.whole(outcome)
        events = [] if outcome.calls and not self._begun else [self._begin_message(), *self._end_message(outcome.text)]
        first = len(response["output"]) - len(outcome.calls)
        for index, item in enumerate(response["output"][first:], first):
            events += self._call(item, index)
        status = response["status"]
        return "".join([*events, self._event(f"response.{status}", response=response)])

    def failed(self, failure: Failure) -> str:
        error = {"code": failure.code, "message": f"{failure.message} {failure.fix}".strip()}
        response = {**self._common, "status": "failed", "error": error, "output": [], "usage": None}
        return self._event("response.failed", response=response)

    def _message(self, text: str, status: str = "completed") -> dict[str, Any]:
        content = [_text_part(text)] if status == "completed" else []
        return {
            "type": "message",
            "id": f"msg_{self._message_id}",
            "role": "assistant",
            "status": status,
            "content": content,
        }

    def _begin_message(self) -> str:
        """Return the events with which the message begins; "" if it has begun."""
        if self._begun:
            return ""
        self._begun = True
        added = self._event("response.output_item.added", output_index=0, item=self._message("", "in_progress"))
        return f"{added}{self._part('response.content_part.added', part=_text_part(''))}"

    def _end_message(self, text: str) -> list[str]:
        return [
            self._part("response.output_text.done", text=text, logprobs=[]),
            self._part("response.content_part.done", part=_text_part(text)),
            self._event("response.output_item.done", output_index=0, item=self._message(text)),
        ]

    def _call(self, item: Mapping[str, Any], index: int) -> list[str]:
        place = {"output_index": index, "item_id": item["id"]}
        begun = {**item, "arguments": "", "status": "in_progress"}
        return [
            self._event("response.output_item.added", output_index=index, item=begun),
            self._event("response.function_call_arguments.delta", **place, delta=item["arguments"]),
            self._event(
                "response.function_call_arguments.done", **place, name=item["name"], arguments=item["arguments"]
            ),
            self._event("response.output_item.done", output_index=index, item=item),
        ]

    def _part(self, name: str, /, **fields: Any) -> str:
        return self._event(name, item_id=f"msg_{self._message_id}", output_index=0, content_index=0, **fields)

    def _event(self, name: str, /, **fields: Any) -> str:
        self._number += 1
        return f"event: {name}\n{event({'type': name, 'sequence_number': self._number, **fields})}"


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _function_call(call: ClientCall) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{call.id.removeprefix('call_')}",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": "completed",
    }
