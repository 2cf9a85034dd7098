"""Google's models through the public HTTP API `generateContent`, without an SDK.

The provider makes exactly one call for each request; the runner waits, retries and chooses other accounts. A prompt is
`contents`: text, pictures, function calls and their responses. An answer is one document, or several documents of the
same form in a stream. No value in a document is trusted to have the documented type: a value of a wrong type makes the
answer unreadable, but never crashes the daemon.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from arvis.domain.dataclass import replace
from arvis.domain.effort import nearest, thinking_tokens
from arvis.domain.embeddings import EmbeddingRequest, EmbeddingResult, Purpose
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.regex import regex
from arvis.domain.runs import Account, RunRequest, RunResult, Turn
from arvis.ports.clock import Clock
from arvis.ports.provider import ProviderServices
from arvis.providers import embeddings, failures
from arvis.providers.exchange import Exchange, read_stream, sendable_key
from arvis.providers.prompts import system_of, turns_of
from arvis.providers.reply import Answer, ReplyText, printable, token_count

BASE_URL = "https://generativelanguage.googleapis.com/v1beta"


def create(name: str, services: ProviderServices) -> GoogleProvider:
    """Make the provider; this is the entry point."""
    exchange = Exchange(http=services.http, clock=services.clock, timeouts=services.timeouts, failure=failure)
    return GoogleProvider(name=name, exchange=exchange)


class GoogleProvider:
    """A `StreamingProvider`. An account's `base_url` must end with the version of the API, as Google's own address
    does."""

    def __init__(self, *, name: str, exchange: Exchange) -> None:
        self.name = name
        self._exchange = exchange
        #: The levels and budgets of thinking, and the marks of reply formats, that models have refused, by address and
        #: model.
        self._refused: dict[tuple[str, str], frozenset[str]] = {}

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes), stream=False)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        return await self._call(request, account, ReplyText(max_bytes=request.max_bytes, on_text=on_text), stream=True)

    async def embed(self, request: EmbeddingRequest, account: Account) -> EmbeddingResult:
        async with self._exchange.post(
            account,
            _url(request.model, account, "batchEmbedContents"),
            headers={"x-goog-api-key": sendable_key(account)},
            document={"requests": [_content(text, request) for text in request.texts]},
            stream=False,
            max_bytes=0,
        ) as answered:
            return embeddings.in_embeddings(await answered.document(), request, account)

    async def _call(self, request: RunRequest, account: Account, reply: ReplyText, *, stream: bool) -> RunResult:
        """Make one call. If the model refuses a form of thinking or of the reply, repeat the call without that form."""
        if request.effort is None and request.format is None:
            return await self._once(request, account, reply, {}, stream=stream)
        key = (account.base_url or BASE_URL, model := request.model or account.model)
        mark = _FORMAT_WITH_TOOLS if request.tools else _FORMAT
        while True:
            refused = self._refused.get(key, frozenset())
            thinking = {} if request.effort is None else thinking_of(model, request.effort, refused)
            wanted = {} if mark in refused else format_of(request)
            more = {**({"thinkingConfig": thinking} if thinking else {}), **wanted}
            try:
                result = await self._once(request, account, reply, more, stream=stream)
            except ProviderError as error:
                if error.kind is not ProviderErrorKind.BAD_REQUEST:
                    raise
                if thinking and _ABOUT_THINKING.search(error.what):
                    self._refused[key] = refused | {str(value) for value in thinking.values()}
                elif wanted and _ABOUT_FORMAT.search(error.what):
                    self._refused[key] = refused | {mark}
                else:
                    raise
            else:
                lost = request.effort is not None and not thinking
                return replace(result, left_out=("effort",)) if lost else result

    async def _once(
        self, request: RunRequest, account: Account, reply: ReplyText, more: Mapping[str, Any], *, stream: bool
    ) -> RunResult:
        answer = GoogleResponse(reply=reply, account=account, max_bytes=request.max_bytes)
        async with self._exchange.post(
            account,
            _url(
                request.model or account.model,
                account,
                "streamGenerateContent?alt=sse" if stream else "generateContent",
            ),
            headers={"x-goog-api-key": sendable_key(account)},
            document=_document(request, more),
            stream=stream,
            max_bytes=request.max_bytes,
            begin_within=request.begin_within,
        ) as answered:
            if not stream:
                answer.take(await answered.document())
                return answer.result(request)
            await read_stream(answered.events(), answer.take, answer, reply)
        return answer.result(request)


def _url(model: str, account: Account, method: str) -> str:
    base = (account.base_url or BASE_URL).rstrip("/")
    return f"{base}/models/{quote(model, safe='')}:{method}"


_TASKS = {Purpose.DOCUMENT: "RETRIEVAL_DOCUMENT", Purpose.QUERY: "RETRIEVAL_QUERY"}


def _content(text: str, request: EmbeddingRequest) -> dict[str, Any]:
    content: dict[str, Any] = {
        "model": f"models/{request.model}",
        "content": {"parts": [{"text": text}]},
        "taskType": _TASKS[request.purpose],
    }
    return content if request.dimensions is None else {**content, "outputDimensionality": request.dimensions}


#: Google's names of the sampling parameters, by the names that OpenAI and Arvis use.
_TUNED = {
    "temperature": "temperature",
    "top_p": "topP",
    "seed": "seed",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
}


#: Gemini 2.5 has a budget of tokens for thinking, later models have levels, and earlier models cannot think.
_BUDGET_MODELS = regex(r"gemini-2\.5", re.IGNORECASE)
_LEVEL_MODELS = regex(r"gemini-(?:[3-9]|\d\d|flash|pro)", re.IGNORECASE)
_LEVELS = ("minimal", "low", "medium", "high")
#: The largest budget that all models accept, and the smallest budget of models that cannot disable thinking.
_MOST_BUDGET, _LEAST_PRO_BUDGET = 24_576, 128
_ABOUT_THINKING = regex(r"thinking", re.IGNORECASE)


def thinking_of(model: str, effort: str, refused: Collection[str] = ()) -> dict[str, Any]:
    """Return Google's `thinkingConfig` for the effort; empty if the model accepts no suitable value. `refused` are the
    levels and budgets that the model has refused."""
    plain = model.rpartition("/")[2]
    if _BUDGET_MODELS.match(plain):
        budget = min(thinking_tokens(effort), _MOST_BUDGET)
        budget = max(budget, _LEAST_PRO_BUDGET) if "pro" in plain else budget
        return {} if str(budget) in refused else {"thinkingBudget": budget}
    level = nearest(effort, [level for level in _LEVELS if level not in refused])
    return {"thinkingLevel": level} if level is not None and _LEVEL_MODELS.match(plain) else {}


#: The marks for a model that refuses JSON as the format of the reply, either always or only together with tools.
_FORMAT, _FORMAT_WITH_TOOLS = "format", "format with tools"
_ABOUT_FORMAT = regex(r"mime ?type|response_?schema|json", re.IGNORECASE)


def format_of(request: RunRequest) -> dict[str, Any]:
    """Return the fields of `generationConfig` for the format of the reply."""
    if request.format is None:
        return {}
    schema = {} if request.format.schema is None else {"responseJsonSchema": request.format.schema}
    return {"responseMimeType": "application/json", **schema}


def _document(request: RunRequest, more: Mapping[str, Any]) -> dict[str, Any]:
    tuned = {_TUNED[name]: value for name, value in request.sampling.items() if name in _TUNED}
    document: dict[str, Any] = {
        "contents": contents_of(turns_of(request)),
        "generationConfig": {"maxOutputTokens": request.max_tokens, **tuned, **more},
    }
    if system := system_of(request):
        document["systemInstruction"] = {"parts": [{"text": system}]}
    if request.tools:
        declared = [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
            for tool in request.tools
        ]
        document["tools"] = [{"functionDeclarations": declared}]
        if request.tools_off:
            document["toolConfig"] = {"functionCallingConfig": {"mode": "NONE"}}
    return document


# -- prompts -----------------------------------------------------------------------------------------------------------


Part = dict[str, Any]

_ROLES = {"user": "user", "assistant": "model"}


def contents_of(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Return the turns as `contents`. Google matches a response to its call by the name of the call, so each tool
    output gets that name."""
    names = {call.id: call.name for turn in turns for call in turn.calls}
    return [{"role": _ROLES[turn.role], "parts": list(_parts(turn, names))} for turn in turns]


def _parts(turn: Turn, names: Mapping[str, str]) -> Iterator[Part]:
    for output in turn.outputs:
        response = {"error": output.content} if output.failed else {"output": output.content}
        yield {"functionResponse": {"name": names.get(output.call_id, "unknown"), "response": response}}
    for image in turn.images:
        yield {"inlineData": {"mimeType": image.media_type, "data": base64.b64encode(image.data).decode()}}
    if turn.content or not (turn.outputs or turn.images or turn.calls):
        yield {"text": turn.content}
    for call in turn.calls:
        part: Part = {"functionCall": {"name": call.name, "args": call.arguments or {}}}
        yield {**part, "thoughtSignature": call.signature} if call.signature else part


# -- answers -----------------------------------------------------------------------------------------------------------


#: The finish reasons that mean that the model or the vendor declined to answer.
_REFUSALS = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE", "OTHER"}
)
_ENDS = {"STOP": "end", "MAX_TOKENS": "length"}

_LONGEST_NAME = 200
_SECONDS = regex(r"(\d{1,6}(?:\.\d{1,9})?)s")

_BY_STATUS: Mapping[str, ProviderErrorKind] = {
    "UNAUTHENTICATED": ProviderErrorKind.AUTH,
    "PERMISSION_DENIED": ProviderErrorKind.AUTH,
    "RESOURCE_EXHAUSTED": ProviderErrorKind.RATE_LIMIT,
    "UNAVAILABLE": ProviderErrorKind.OVERLOADED,
    "INTERNAL": ProviderErrorKind.OVERLOADED,
    "DEADLINE_EXCEEDED": ProviderErrorKind.TIMEOUT,
}
_TOO_LONG = regex(r"token count .{0,60}exceeds|exceeds the maximum number of tokens", re.IGNORECASE)


class GoogleResponse(Answer):
    """One answer, built from JSON documents as they arrive. `finished` is True after Google has given a reason for the
    end."""

    def take(self, document: object) -> bool:
        """Read the next document. Return False if the reply has reached its maximum size. Raise `ProviderError` for an
        error object, a refusal or a wrong type."""
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
                    continue  # the model's thoughts are not shown in the chat
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
                    continue  # code or files, which Arvis never requests
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
    """Return the error that Google's error object describes: `{"error": {"code", "message", "status", "details"}}`.
    Some proxies send the object in a list."""
    if isinstance(document, list) and document:
        document = document[0]
    error = document.get("error") if isinstance(document, Mapping) else None
    return _refined(error, failures.from_answer(account, status, headers, document, clock))


def _refined(error: object, plain: ProviderError) -> ProviderError:
    """Return the error with the more exact kind and wait that Google's error object names."""
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
    """Return the wait in seconds that the details of an error object contain."""
    for detail in details[:10] if isinstance(details, list) else ():
        match detail:
            case {"retryDelay": str(delay)} if found := _SECONDS.fullmatch(delay):
                return float(found[1])
    return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
