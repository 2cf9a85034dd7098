"""Collect the text of a reply while it arrives: limited, clean, and never empty at the end.

Every provider collects its answer here, so that the size limit (reliability.md H25) and the rule that an empty reply
is an error are implemented once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import END, LENGTH, Account, RunRequest, RunResult
from arvis.domain.text import ends_in_half, paired
from arvis.domain.tools import ToolCall
from arvis.providers import failures

_MOST_TOKENS = 1 << 31

#: The reasons, in lower case, with which vendors and servers mark a reply that reached the token limit.
_AT_THE_LIMIT = frozenset(
    {
        "length",
        "max_length",
        "max_tokens",
        "max_output_tokens",
        "max_completion_tokens",
        "model_length",
        "model_context_window_exceeded",
        "token_limit",
        "incomplete",
    }
)
_AT_THE_END = frozenset({"stop", "eos", "end_turn", "stop_sequence"})


class ReplyText:
    """Collects pieces up to `max_bytes` of UTF-8 and passes each on to `on_text`. It removes NUL characters and lone
    surrogates, which the store cannot hold."""

    def __init__(self, *, max_bytes: int, on_text: Callable[[str], None] | None = None) -> None:
        self._left = max_bytes
        self._on_text = on_text
        self._pieces: list[str] = []
        self._half = ""
        self.truncated = False

    def add(self, piece: str) -> bool:
        """Take the next piece; return False when no more fits and reading on would be useless."""
        text, self._half = paired(self._half + piece), ""
        if ends_in_half(text):
            text, self._half = text[:-1], text[-1]
        data = text.replace("\0", "").encode("utf-8", "replace")
        if len(data) > self._left:
            self.truncated = True
            data = data[: self._left]
        # A character that the limit would divide is dropped.
        text = data.decode("utf-8", "ignore")
        self._left -= len(data)
        if text:
            self._pieces.append(text)
            if self._on_text is not None:
                self._on_text(text)
        return not self.truncated

    def cut(self) -> bool:
        """End the reply at this point; return False when it has no text yet."""
        has_text = bool("".join(self._pieces).strip())
        self.truncated = self.truncated or has_text
        return has_text

    def is_cut(self, stop_reason: str) -> bool:
        """Return whether the reply is incomplete: by the vendor's reason, or because reading stopped at the limit."""
        return self.truncated or normal_stop_reason(stop_reason) == LENGTH

    def result(
        self,
        request: RunRequest,
        account: Account,
        *,
        model: str | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        stop_reason: str = "end",
        calls: tuple[ToolCall, ...] = (),
        cached_tokens: int = 0,
        written_tokens: int = 0,
        thoughts: Mapping[str, Any] | None = None,
    ) -> RunResult:
        """Return the finished reply. `model` is the model that the vendor reports, `stop_reason` the vendor's reason.
        Raises `ProviderError` of kind `empty` when there is neither text nor a tool call."""
        result = RunResult(
            content="".join(self._pieces),
            model=failures.without_key(model, account) if model else request.model or account.model,
            provider=account.provider,
            account=account.name,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            stop_reason=failures.without_key(normal_stop_reason(stop_reason), account),
            truncated=self.truncated,
            calls=calls,
            cached_tokens=cached_tokens,
            written_tokens=written_tokens,
            thoughts=thoughts,
        )
        if not result.answers(request):
            raise ProviderError(ProviderErrorKind.EMPTY, f"the account {account.name} gave an empty reply")
        return result


def normal_stop_reason(written: str) -> str:
    """Return the normalised name of a vendor's reason; an unknown reason is returned unchanged."""
    reason = written.casefold()
    if reason in _AT_THE_LIMIT:
        return LENGTH
    return END if reason in _AT_THE_END else written


def printable(text: str, most: int) -> str:
    """Return the text without characters that the store or a page cannot hold: NUL, lone surrogates, ends of lines."""
    return "".join(char for char in text[:most] if char.isprintable())


def token_count(value: object) -> int | None:
    """Return a number of tokens that fits a database column; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS else None
