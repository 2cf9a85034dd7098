"""OpenAI's Responses API: requests, and the answers to them. Newer models accept tools together with a reasoning effort
only here.

Nothing is stored at the vendor (`store: false`): each request contains the whole prompt. The model's reasoning before
its tool calls is requested in encrypted form and sent back with the outputs of the calls.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import LENGTH, Account, RunRequest, RunResult, Turn
from arvis.domain.text import storable_json
from arvis.providers import failures
from arvis.providers.openai_forms import Accepted
from arvis.providers.prompts import origin_of, system_of, turns_of
from arvis.providers.reply import Answer, ReplyText, printable, token_count

Item = dict[str, Any]

#: The smallest limit of a reply that the API accepts, in tokens.
_LEAST_REPLY = 16
_ENCRYPTED = "reasoning.encrypted_content"

# -- requests ----------------------------------------------------------------------------------------------------------


def document_of(request: RunRequest, account: Account, accepted: Accepted, *, stream: bool) -> dict[str, Any]:
    """Return the body of the request."""
    origin = origin_of(request, account)
    document: dict[str, Any] = {
        "model": request.model or account.model,
        "input": [item for turn in turns_of(request) for item in _items(turn, origin if accepted.encrypted else None)],
        "max_output_tokens": max(request.max_tokens, _LEAST_REPLY),
        "store": False,
        **accepted.sampling(request),
    }
    if accepted.encrypted:
        document["include"] = [_ENCRYPTED]
    if system := system_of(request):
        document["instructions"] = system
    if (effort := accepted.effort_of(request)) is not None:
        document["reasoning"] = {"effort": effort}
    if (wanted := accepted.format_of(request)) is not None:
        document["text"] = {"format": wanted}
    if request.tools:
        document["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                # Without this, the API refuses schemas with optional arguments.
                "strict": False,
            }
            for tool in request.tools
        ]
        if request.tools_off:
            document["tool_choice"] = "none"
    if stream:
        document["stream"] = True
    return document


def _items(turn: Turn, origin: str | None) -> Iterator[Item]:
    """Yield the items of a turn. Reasoning is sent back to its `origin`; with None, no reasoning is sent."""
    for output in turn.outputs:
        yield {"type": "function_call_output", "call_id": output.call_id, "output": output.content}
    if origin is not None and turn.thoughts is not None and turn.thoughts.get("origin") == origin:
        yield from turn.thoughts.get("items", ())
    if turn.images:
        parts = [{"type": "input_text", "text": turn.content}] if turn.content else []
        for image in turn.images:
            data = base64.b64encode(image.data).decode()
            parts.append({"type": "input_image", "image_url": f"data:{image.media_type};base64,{data}"})
        yield {"role": turn.role, "content": parts}
    elif turn.content or not (turn.outputs or turn.calls):
        yield {"role": turn.role, "content": turn.content}
    for call in turn.calls:
        yield {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.written if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False),
        }


# -- answers -----------------------------------------------------------------------------------------------------------


_LONGEST_NAME = 200
_LONGEST_REFUSAL = 1_000
#: The maximum number of reasoning items. A normal answer has far fewer.
_MOST_ITEMS = 64


class ResponsesResponse(Answer):
    """One answer, built from JSON documents as they arrive. `finished` is True after a document that contains the
    finished response."""

    def __init__(self, *, reply: ReplyText, account: Account, max_bytes: int) -> None:
        super().__init__(reply=reply, account=account, max_bytes=max_bytes)
        self._refusal = ""
        self._left = max_bytes
        self._thoughts: list[Mapping[str, Any]] = []
        #: The positions of the output items that were read from the stream.
        self._read: set[int] = set()

    def take(self, document: object) -> bool:
        """Read the next event of a stream, or a whole response. Return False if no further event is needed. Raise
        `ProviderError` for an error, a refusal or a wrong type."""
        if not isinstance(document, Mapping):
            raise failures.unreadable(self.account, "it is not an object")
        match document:
            case {"object": "response"}:
                return self._end(document)
            case {"type": "error"}:
                raise failures.from_error_object(self.account, document.get("error") or document)
            case {"error": error} if error:
                raise failures.from_error_object(self.account, error)
            case {"type": str(name)} if name in _READ_EVENTS:
                return self._take_event(name, document)
            case {"type": str()}:
                return True  # an event that repeats text, or that this module does not know
        raise failures.unreadable(self.account, "it is not a response")

    def _take_event(self, name: str, document: Mapping[str, object]) -> bool:
        match document:
            case {"type": "response.output_text.delta", "delta": str(piece)}:
                self._note_read(document)
                return self._reply.add(piece)
            case {"type": "response.refusal.delta", "delta": str(piece)}:
                self._note_read(document)
                self._refusal += piece[: max(0, _LONGEST_REFUSAL - len(self._refusal))]
                return True
            case {"type": "response.output_item.done", "item": Mapping() as item}:
                return self._take_item(item, document.get("output_index"))
            case {"response": Mapping() as response}:
                return self._end(response)
        raise failures.unreadable(self.account, f"its {name} has a wrong type")

    def result(self, request: RunRequest) -> RunResult:
        """Return the reply. Raise `ProviderError` if it is empty or the model declined."""
        try:
            return super().result(request)
        except ProviderError:
            if not self._refusal:
                raise
            text = failures.redact(f"the model declined: {self._refusal}", self.account)
            raise ProviderError(ProviderErrorKind.REFUSED, text) from None

    def _thoughts_of(self, request: RunRequest) -> Mapping[str, Any] | None:
        if not self._thoughts or self._left < 0:
            return None
        return {"origin": origin_of(request, self.account), "items": storable_json(self._thoughts)}

    def _note_read(self, document: Mapping[str, object]) -> None:
        index = document.get("output_index")
        self._read.add(index if isinstance(index, int) else 0)

    def _take_item(self, item: Mapping[str, object], index: object) -> bool:
        """Read a complete item of the output. The text of a message has already arrived if the stream contained its
        pieces."""
        number = index if isinstance(index, int) else len(self._read)
        if number in self._read:
            return True
        self._read.add(number)
        match item:
            case {"type": "message", "content": list(parts)}:
                return self._take_parts(parts)
            case {"type": "function_call", "name": str(name), "arguments": str(arguments)}:
                self._calls.add(number, id=_text(item.get("call_id")), name=name, arguments=arguments)
            case {"type": "reasoning"}:
                self._take_reasoning(item)
            case {"type": "message" | "function_call"}:
                raise failures.unreadable(self.account, "its output has a wrong type")
        return True

    def _take_parts(self, parts: Sequence[object]) -> bool:
        more = True
        for part in parts:
            match part:
                case {"type": "output_text", "text": str(text)}:
                    more = self._reply.add(text) and more
                case {"type": "refusal", "refusal": str(text)}:
                    self._refusal += text[: max(0, _LONGEST_REFUSAL - len(self._refusal))]
                case _:
                    raise failures.unreadable(self.account, "its output has a wrong type")
        return more

    def _take_reasoning(self, item: Mapping[str, object]) -> None:
        """Store encrypted reasoning. Drop reasoning that is not encrypted: it cannot be sent back, because nothing is
        stored at the vendor."""
        content = item.get("encrypted_content")
        if not isinstance(content, str) or len(self._thoughts) == _MOST_ITEMS:
            return
        self._left -= len(content)
        kept = {"type": "reasoning", "summary": [], "encrypted_content": content}
        self._thoughts.append({**kept, "id": item["id"]} if isinstance(item.get("id"), str) else kept)

    def _end(self, response: Mapping[str, object]) -> bool:
        """Read the finished response. Return False, because nothing follows it."""
        if response.get("error"):
            raise failures.from_error_object(self.account, response["error"])
        output = response.get("output") or ()
        if not isinstance(output, Sequence) or not all(isinstance(item, Mapping) for item in output):
            raise failures.unreadable(self.account, "its output has a wrong type")
        for number, item in enumerate(output):
            self._take_item(item, number)
        match response.get("model"):
            case str(model) if model:
                self._model = printable(model, _LONGEST_NAME) or None
        self._count(response.get("usage"))
        self.finished = True
        match response:
            case {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}:
                text = f"the content filter of the account {self.account.name} stopped the reply"
                raise ProviderError(ProviderErrorKind.REFUSED, text)
            case {"status": "incomplete"}:
                self._stop_reason = LENGTH
            case {"status": "failed" | "cancelled"}:
                raise failures.from_error_object(self.account, None)
        return False

    def _count(self, usage: object) -> None:
        match usage:
            case {"input_tokens": read, "output_tokens": written}:
                self._input_tokens, self._output_tokens = token_count(read), token_count(written)
        match usage:
            case {"input_tokens_details": {"cached_tokens": cached}}:
                self._cached_tokens = token_count(cached) or 0


_READ_EVENTS = frozenset(
    {
        "response.output_text.delta",
        "response.refusal.delta",
        "response.output_item.done",
        "response.completed",
        "response.incomplete",
        "response.failed",
    }
)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
