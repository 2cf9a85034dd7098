"""Read the answers of `generateContent`: one document, or the pieces of a stream, which have the same form.

No value in a document is trusted to have the promised type: a wrong type makes the answer unreadable and never
crashes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import TOOL_CALLS, Account, RunRequest, RunResult
from arvis.ports.clock import Clock
from arvis.providers import failures
from arvis.providers.calls import CallDrafts
from arvis.providers.reply import ReplyText, printable, token_count

#: Reasons for an end at which the model or the vendor declined to answer.
_REFUSALS = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE", "OTHER"}
)
_ENDS = {"STOP": "end", "MAX_TOKENS": "length"}

_LONGEST_NAME = 200
_SECONDS = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)s")

_BY_STATUS: Mapping[str, ProviderErrorKind] = {
    "UNAUTHENTICATED": ProviderErrorKind.AUTH,
    "PERMISSION_DENIED": ProviderErrorKind.AUTH,
    "RESOURCE_EXHAUSTED": ProviderErrorKind.RATE_LIMIT,
    "UNAVAILABLE": ProviderErrorKind.OVERLOADED,
    "INTERNAL": ProviderErrorKind.OVERLOADED,
    "DEADLINE_EXCEEDED": ProviderErrorKind.TIMEOUT,
}
_TOO_LONG = re.compile(r"token count .{0,60}exceeds|exceeds the maximum number of tokens", re.IGNORECASE)


class GoogleResponse:
    """One answer while its documents arrive. `finished` is True once a reason for the end was given."""

    def __init__(self, *, reply: ReplyText, account: Account, max_bytes: int) -> None:
        self.account = account
        self.finished = False
        self._reply = reply
        self._calls = CallDrafts(account=account, max_bytes=max_bytes)
        self._model: str | None = None
        self._input_tokens: int | None = None
        self._output_tokens: int | None = None
        self._cached_tokens = 0
        self._stop_reason = "end"

    def take(self, document: object) -> bool:
        """Read the next document. Return False when the reply has reached its maximum size. Raises `ProviderError`
        for an error object, a refusal or a wrong type."""
        if not isinstance(document, Mapping):
            raise failures.unreadable(self.account, "it is not an object")
        if error := document.get("error"):
            raise _refined(error, failures.from_error_object(self.account, error))
        self._note(document)
        match document.get("promptFeedback"):
            case {"blockReason": str(reason)}:
                raise self._refused(reason)
        match document.get("candidates"):
            case None | []:
                return True
            case [Mapping() as candidate, *_]:
                return self._take_candidate(candidate)
        raise self._wrong_type("candidates")

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
            cached_tokens=self._cached_tokens,
        )

    def _note(self, document: Mapping[str, object]) -> None:
        match document.get("modelVersion"):
            case str(model) if model:
                self._model = printable(model, _LONGEST_NAME) or None
        match document.get("usageMetadata"):
            case Mapping() as usage:
                self._input_tokens = token_count(usage.get("promptTokenCount"))
                thoughts = token_count(usage.get("thoughtsTokenCount")) or 0
                answer_tokens = token_count(usage.get("candidatesTokenCount"))
                self._output_tokens = None if answer_tokens is None else answer_tokens + thoughts
                self._cached_tokens = token_count(usage.get("cachedContentTokenCount")) or 0

    def _take_candidate(self, candidate: Mapping[str, object]) -> bool:
        content = candidate.get("content") or {}
        parts = content.get("parts") if isinstance(content, Mapping) else "wrong"
        if parts is not None and not isinstance(parts, list):
            raise self._wrong_type("parts")
        more = self._take_parts(parts or ())
        match candidate.get("finishReason"):
            case None:
                return more
            case str(reason):
                self._finish(reason)
                return more
        raise self._wrong_type("end")

    def _take_parts(self, parts: Sequence[object]) -> bool:
        more = True
        for part in parts:
            match part:
                case {"thought": True}:
                    continue  # what a model thinks aloud is not for the chat
                case {"text": str(text)}:
                    more = self._reply.add(text) and more
                case {"functionCall": {"name": str(name), **call}}:
                    signature = part.get("thoughtSignature") if isinstance(part, Mapping) else None
                    self._calls.add_whole(
                        name,
                        call.get("args") or {},
                        id=_text(call.get("id")),
                        signature=_text(signature),
                    )
                case {"functionCall": _} | {"text": _}:
                    raise self._wrong_type("parts")
                case Mapping():
                    continue  # code, files: nothing that was asked for
                case _:
                    raise self._wrong_type("parts")
        return more

    def _finish(self, reason: str) -> None:
        self.finished = True
        if reason in _REFUSALS:
            raise self._refused(reason)
        if reason.startswith(("MALFORMED_", "UNEXPECTED_", "TOO_MANY_")):
            raise failures.unreadable(self.account, f"it ended with {printable(reason, 64)}")
        self._stop_reason = _ENDS.get(reason) or printable(reason.lower(), 32)

    def _refused(self, reason: str) -> ProviderError:
        text = f"the model of the account {self.account.name} declined ({printable(reason, 64)})"
        return ProviderError(ProviderErrorKind.REFUSED, text)

    def _wrong_type(self, what: str) -> ProviderError:
        return failures.unreadable(self.account, f"its {what} have a wrong type")


def failure(account: Account, status: int, headers: Mapping[str, str], document: object, clock: Clock) -> ProviderError:
    """Read Google's error object: `{"error": {"code", "message", "status", "details"}}`, from some proxies in a list."""
    if isinstance(document, list) and document:
        document = document[0]
    error = document.get("error") if isinstance(document, Mapping) else None
    return _refined(error, failures.from_answer(account, status, headers, document, clock))


def _refined(error: object, plain: ProviderError) -> ProviderError:
    """Return the more exact cause that Google's text names beyond the status."""
    if not isinstance(error, Mapping):
        return plain
    wait = _retry_delay(error.get("details")) if plain.retry_after is None else plain.retry_after
    return plain.refined(_kind(error, plain), retry_after=wait)


def _kind(error: Mapping[str, object], plain: ProviderError) -> ProviderErrorKind:
    match error:
        case {"message": str(message)} if _TOO_LONG.search(message):
            return ProviderErrorKind.TOO_LONG
        case {"details": list(details)} if any("API_KEY_INVALID" in str(detail) for detail in details[:10]):
            return ProviderErrorKind.AUTH
        case {"status": str(status)}:
            return _BY_STATUS.get(status, plain.kind)
        case _:
            return plain.kind


def _retry_delay(details: object) -> float | None:
    """Return the wait that an error's details ask for, in seconds."""
    for detail in details[:10] if isinstance(details, list) else ():
        match detail:
            case {"retryDelay": str(delay)} if found := _SECONDS.fullmatch(delay):
                return float(found[1])
    return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
