"""Read chat-completion documents: one complete answer, or the pieces of a stream.

No value in a document is trusted to have the promised type: a wrong type makes the answer unreadable, which the
runner may retry, and never crashes. Missing fields (usage, model) are left out of the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.providers import failures
from arvis.providers.calls import CallDrafts
from arvis.providers.prompts import origin_of
from arvis.providers.reply import ReplyText, printable, token_count
from arvis.providers.thoughts import Reasoning

#: Maximum characters of a model's name, and of a refusal that is passed on.
_LONGEST_NAME = 200
_LONGEST_REFUSAL = 1_000


@dataclass(frozen=True, slots=True)
class Choice:
    """The first choice of a document; a chunk that only carries usage has none."""

    text: str = ""
    refusal: str = ""
    finish_reason: str | None = None
    part: Mapping[str, object] = field(default_factory=dict)
    tool_calls: Sequence[object] = ()


class CompletionsResponse:
    """One answer while its documents arrive. `finished` is True once a finish reason was given."""

    def __init__(self, *, reply: ReplyText, account: Account, max_bytes: int) -> None:
        self.account = account
        self.finished = False
        self._reply = reply
        self._calls = CallDrafts(account=account, max_bytes=max_bytes)
        self._model: str | None = None
        self._input_tokens: int | None = None
        self._output_tokens: int | None = None
        self._cached_tokens = 0
        self._refusal = ""
        self._stop_reason = "end"
        self._reasoning = Reasoning(max_bytes)

    def take(self, document: object, *, part: str) -> bool:
        """Read the next document; its text is under `part` (`message` or `delta`). Return False when the reply has
        reached its maximum size. Raises `ProviderError` for an error object, a refusal or a wrong type."""
        if not isinstance(document, Mapping):
            raise failures.unreadable(self.account, "it is not an object")
        if document.get("error"):
            raise failures.from_error_object(self.account, document["error"])
        self._note(document)
        choice = self._choice(document.get("choices"), part)
        self._reasoning.add(choice.part)
        if len(self._refusal) < _LONGEST_REFUSAL:
            self._refusal += choice.refusal[:_LONGEST_REFUSAL]
        for number, call in enumerate(choice.tool_calls):
            self._take_call(number, call)
        if choice.finish_reason is not None:
            self._finish(choice.finish_reason)
        return self._reply.add(choice.text)

    def result(self, request: RunRequest) -> RunResult:
        """Return the reply. Raises `ProviderError` when it is empty or the model declined."""
        try:
            return self._reply.result(
                request,
                self.account,
                model=self._model,
                input_tokens=self._input_tokens,
                output_tokens=self._output_tokens,
                stop_reason=self._stop_reason,
                calls=self._calls.result(cut=self._reply.is_cut(self._stop_reason)),
                cached_tokens=self._cached_tokens,
                thoughts=self._reasoning.result(origin_of(request, self.account)) if self._calls else None,
            )
        except ProviderError:
            if not self._refusal:
                raise
            text = failures.redact(f"the model declined: {self._refusal}", self.account)
            raise ProviderError(ProviderErrorKind.REFUSED, text) from None

    def _note(self, document: Mapping[str, object]) -> None:
        match document:
            case {"model": str(model)} if model:
                self._model = printable(model, _LONGEST_NAME) or None
        match document.get("usage"):
            case {"prompt_tokens": prompt, "completion_tokens": completion}:
                self._input_tokens = token_count(prompt)
                self._output_tokens = token_count(completion)
        match document.get("usage"):
            case {"prompt_tokens_details": {"cached_tokens": cached}}:
                self._cached_tokens = token_count(cached) or 0

    def _choice(self, choices: object, part: str) -> Choice:
        match choices:
            case None | []:
                return Choice()
            case [Mapping() as first, *_]:
                content = first.get(part) or {}
                if isinstance(content, Mapping):
                    return Choice(
                        text=self._string(content.get("content")),
                        refusal=self._string(content.get("refusal")),
                        part=content,
                        finish_reason=self._string(first.get("finish_reason")) or None,
                        tool_calls=self._list(content.get("tool_calls")),
                    )
        raise failures.unreadable(self.account, "its choices have a wrong type")

    def _take_call(self, number: int, call: object) -> None:
        """Read a complete call, or a piece of the call that `index` numbers."""
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(call, Mapping) or not isinstance(function, Mapping):
            raise failures.unreadable(self.account, "its tool calls have a wrong type")
        index = call.get("index")
        self._calls.add(
            index if isinstance(index, int) else number,
            id=self._string(call.get("id")),
            name=self._string(function.get("name")),
            arguments=self._string(function.get("arguments")),
        )

    def _list(self, value: object) -> Sequence[object]:
        if value is None or isinstance(value, list):
            return value or ()
        raise failures.unreadable(self.account, "its choices have a wrong type")

    def _string(self, value: object) -> str:
        if value is None or isinstance(value, str):
            return value or ""
        raise failures.unreadable(self.account, "its choices have a wrong type")

    def _finish(self, reason: str) -> None:
        self.finished = True
        match reason:
            case "content_filter":
                raise ProviderError(
                    ProviderErrorKind.REFUSED,
                    f"the content filter of the account {self.account.name} stopped the reply",
                )
            case "error":
                raise failures.from_error_object(self.account, None)
            case "stop":
                self._stop_reason = "end"
            case _:
                self._stop_reason = printable(reason, 32)
