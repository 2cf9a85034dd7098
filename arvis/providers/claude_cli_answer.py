"""Read the output of the `claude` program: JSON, one document per line; the last one reports the outcome.

The output is limited, and trusted as little as a server's answer.
"""

from __future__ import annotations

from collections.abc import Mapping

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.ports.clock import Clock
from arvis.ports.sandbox import Finished
from arvis.providers import failures
from arvis.providers.claude_cli_failures import Trouble, failure
from arvis.providers.exchange import MAX_DOCUMENT, parse
from arvis.providers.reply import ReplyText, printable, token_count

#: On the wire a text is much larger than its content.
_OVERHEAD = 256
#: The cost of reading a line, counted in bytes, even for an empty line.
_LINE = 100
_LONGEST_NAME = 200
_LONGEST_TEXT = 2_000

_ENDS: Mapping[str, str] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


class ClaudeCliResponse:
    """One answer while its lines arrive."""

    def __init__(self, *, reply: ReplyText, account: Account, clock: Clock, max_bytes: int) -> None:
        self._reply = reply
        self._account = account
        self._clock = clock
        self._left = MAX_DOCUMENT + _OVERHEAD * max_bytes
        self._line = bytearray()
        self._streamed = False
        self._model: str | None = None
        self._resets_at: float | None = None
        self._end: Mapping[str, object] | None = None

    def feed(self, data: bytes) -> None:
        """Read the next bytes. Raises `ProviderError` when the limit is exceeded."""
        end, *starts = data.split(b"\n")
        self._left -= len(data) + _LINE * len(starts)
        if self._left < 0:
            raise failures.unreadable(self._account, "it does not end")
        self._line += end
        for start in starts:
            self._take(bytes(self._line))
            self._line = bytearray(start)
        if len(self._line) > MAX_DOCUMENT:
            raise failures.unreadable(self._account, f"a line is larger than {MAX_DOCUMENT} bytes")

    def result(self, request: RunRequest, finished: Finished) -> RunResult:
        """Return the reply, once the program has ended. Raises `ProviderError` unless it ended well."""
        self._take(bytes(self._line))
        end = self._end
        if end is None:
            text = finished.stderr.decode("utf-8", "replace")
            raise self._failed(Trouble(text, exit_code=finished.exit_code))
        if end.get("is_error") is not False or end.get("subtype") != "success":
            raise self._failed(self._trouble(end))
        if end.get("stop_reason") == "refusal":
            text = f"the model of the account {self._account.name} declined: {self._text_of(end)}"
            raise ProviderError(ProviderErrorKind.REFUSED, failures.redact(text, self._account))
        if not self._streamed:
            self._reply.add(self._text_of(end))
        return self._whole(request, end)

    def _whole(self, request: RunRequest, end: Mapping[str, object]) -> RunResult:
        """Return the complete reply. The vendor's count of the input excludes tokens that are read from its cache or
        written to it, so they are added."""
        usage = end.get("usage")
        counts = usage if isinstance(usage, Mapping) else {}
        plain, output = token_count(counts.get("input_tokens")), token_count(counts.get("output_tokens"))
        read = token_count(counts.get("cache_read_input_tokens")) or 0
        written = token_count(counts.get("cache_creation_input_tokens")) or 0
        reason = end.get("stop_reason")
        return self._reply.result(
            request,
            self._account,
            model=self._model,
            input_tokens=None if plain is None else plain + read + written,
            output_tokens=output,
            stop_reason=_ENDS.get(reason) or printable(reason, 32) if isinstance(reason, str) else "end",
            cached_tokens=read,
            written_tokens=written,
        )

    def _take(self, line: bytes) -> None:
        """Read a line. Lines that are not JSON are ignored, because programs print some."""
        if not line.lstrip().startswith(b"{"):
            return
        document = parse(line.decode("utf-8", "replace"), self._account)
        match document:
            case {"type": "stream_event", "event": {"type": "content_block_delta", "delta": Mapping() as delta}}:
                self._take_piece(delta)
            case {"type": "assistant", "message": {"model": str(model)}} if model and not model.startswith("<"):
                self._model = printable(model, _LONGEST_NAME) or None
            case {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": int(at)}}:
                self._resets_at = float(at)
            case {"type": "result"} if isinstance(document, dict):
                self._end = document

    def _take_piece(self, delta: Mapping[str, object]) -> None:
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                self._streamed = True
                self._reply.add(text)

    def _trouble(self, end: Mapping[str, object]) -> Trouble:
        status, reason = end.get("api_error_status"), end.get("terminal_reason")
        return Trouble(
            self._text_of(end)[:_LONGEST_TEXT],
            status=status if isinstance(status, int) else None,
            reason=reason if isinstance(reason, str) else "",
            resets_at=self._resets_at,
        )

    def _text_of(self, end: Mapping[str, object]) -> str:
        match end:
            case {"result": str(text)}:
                return text
            case {"errors": [str(text), *_]}:
                return text
            case {"result": _} if end.get("is_error") is False:
                raise failures.unreadable(self._account, "its result has a wrong type")
            case _:
                return ""

    def _failed(self, trouble: Trouble) -> ProviderError:
        return failure(self._account, trouble, self._clock)
