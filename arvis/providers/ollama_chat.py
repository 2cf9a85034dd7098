"""Ollama's chat on the wire: a prompt as messages, an answer as one document or as a line for each piece.

No value in a document is trusted to have the promised type: a wrong type makes the answer unreadable and never
crashes.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import TOOL_CALLS, Account, RunRequest, RunResult, Turn
from arvis.ports.clock import Clock
from arvis.providers import failures
from arvis.providers.calls import CallDrafts
from arvis.providers.reply import ReplyText, printable, token_count

#: Ollama's default context (tokens), and the context assumed for a model that does not report one.
_LEAST_CONTEXT = 4_096
_UNKNOWN_CONTEXT = 8_192
_MOST_CONTEXT = 1 << 21
#: The largest context (tokens) that is requested from a server that does not report the model's maximum.
UNTOLD_CONTEXT = 131_072

#: The minimum bytes per token that a prompt may have; too many tokens cost memory, too few lose the beginning.
_BYTES_A_TOKEN = 2.5
#: The maximum average bytes per token: a prompt that is too long even at this rate is refused. The runner estimates
#: more closely, because it knows how the model counts.
MOST_BYTES_A_TOKEN = 4.5
_TOKENS_A_PICTURE = 1_600

_LONGEST_NAME = 200
_TOO_LONG = re.compile(r"exceeds? (?:the )?(?:available )?context|context (?:length|window|size)", re.IGNORECASE)


def prompt_tokens(request: RunRequest, *, bytes_a_token: float = _BYTES_A_TOKEN) -> int:
    """Return an estimate that is rather too high; with the maximum bytes per token, rather too low."""
    texts = [request.system, request.changing, request.now, *(text for turn in request.turns for text in _texts(turn))]
    size = sum(len(text.encode("utf-8", "replace")) for text in texts) + sum(len(str(t)) for t in request.tools)
    pictures = sum(len(turn.images) for turn in request.turns)
    return round(size / bytes_a_token) + pictures * _TOKENS_A_PICTURE


def context_for(needed: int) -> int:
    """Return the context size, rounded up in large steps, so that a growing conversation does not make the server
    reload the model at every turn."""
    context = _LEAST_CONTEXT
    while context < needed:
        context *= 2
    return context


def context_length(document: object) -> int:
    """Return a model's maximum context from the answer of `/api/show`: a field with its architecture's name."""
    info = document.get("model_info") if isinstance(document, Mapping) else None
    for name, value in info.items() if isinstance(info, Mapping) else ():
        if str(name).endswith(".context_length") and (length := token_count(value)):
            return min(length, _MOST_CONTEXT)
    return _UNKNOWN_CONTEXT


def messages_of(turn: Turn, turns: Sequence[Turn]) -> Iterator[dict[str, Any]]:
    """Return the messages. The outputs of tools are separate messages, which name the tool."""
    names = {call.id: call.name for each in turns for call in each.calls} if turn.outputs else {}
    for output in turn.outputs:
        yield {"role": "tool", "tool_name": names.get(output.call_id, "unknown"), "content": output.content}
    if not (turn.content or turn.images or turn.calls) and turn.outputs:
        return
    message: dict[str, Any] = {"role": turn.role, "content": turn.content}
    if turn.images:
        message["images"] = [base64.b64encode(image.data).decode() for image in turn.images]
    if turn.calls:
        calls = [{"function": {"name": call.name, "arguments": call.arguments or {}}} for call in turn.calls]
        message["tool_calls"] = calls
    yield message


class OllamaResponse:
    """One answer while its documents arrive. `finished` is True once the server said `done`."""

    def __init__(self, *, reply: ReplyText, account: Account, max_bytes: int) -> None:
        self.account = account
        self.finished = False
        self._reply = reply
        self._calls = CallDrafts(account=account, max_bytes=max_bytes)
        self._model: str | None = None
        self._input_tokens: int | None = None
        self._output_tokens: int | None = None
        self._stop_reason = "end"

    def take(self, document: object) -> bool:
        """Read the next document. Return False when the reply has reached its maximum size. Raises `ProviderError`."""
        if not isinstance(document, Mapping):
            raise failures.unreadable(self.account, "it is not an object")
        if error := document.get("error"):
            raise _refined(failures.from_error_object(self.account, error))
        more = self._take_message(document.get("message"))
        if document.get("done") is True:
            self._finish(document)
        return more

    def _reason(self) -> str:
        """Return the reason for the end; a reply that was cut counts as cut, even if it contains tool calls."""
        calls = self._calls and not self._reply.is_cut(self._stop_reason)
        return TOOL_CALLS if calls else self._stop_reason

    def result(self, request: RunRequest) -> RunResult:
        return self._reply.result(
            request,
            self.account,
            model=self._model,
            input_tokens=self._input_tokens,
            output_tokens=self._output_tokens,
            stop_reason=self._reason(),
            calls=self._calls.result(cut=self._reply.is_cut(self._stop_reason)),
        )

    def _take_message(self, message: object) -> bool:
        match message:
            case None:
                return True
            case {"tool_calls": list(calls)}:
                for call in calls:
                    self._take_call(call)
        match message:
            case {"content": str(text)}:
                return self._reply.add(text)
            case Mapping() if message.get("content") is None:
                return True
        raise failures.unreadable(self.account, "its message has a wrong type")

    def _take_call(self, call: object) -> None:
        match call:
            case {"function": {"name": str(name), **function}}:
                self._calls.add_whole(name, function.get("arguments") or {})
            case _:
                raise failures.unreadable(self.account, "its tool calls have a wrong type")

    def _finish(self, document: Mapping[str, object]) -> None:
        self.finished = True
        self._input_tokens = token_count(document.get("prompt_eval_count"))
        self._output_tokens = token_count(document.get("eval_count"))
        match document.get("model"):
            case str(model):
                self._model = printable(model, _LONGEST_NAME) or None
        match document.get("done_reason"):
            case str(reason) if reason != "stop":
                self._stop_reason = printable(reason, 32)


def failure(account: Account, status: int, headers: Mapping[str, str], document: object, clock: Clock) -> ProviderError:
    """Read Ollama's error, which is a bare string."""
    return _refined(failures.from_answer(account, status, headers, document, clock))


def _refined(plain: ProviderError) -> ProviderError:
    if not _TOO_LONG.search(plain.what):
        return plain
    return plain.refined(ProviderErrorKind.TOO_LONG)


def _texts(turn: Turn) -> Iterator[str]:
    yield turn.content
    yield from (output.content for output in turn.outputs)
    yield from (str(call.arguments) for call in turn.calls)
