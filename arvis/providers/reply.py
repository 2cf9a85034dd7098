"""Collect a reply while it arrives: its text, its tool calls, and the thoughts before them, all within limits.

Every provider collects its answer here, so that two rules are implemented only once: the size limit, and that an empty
reply is an error. The arguments of tool calls are parsed here, but their content is not checked. Arguments that are not
a JSON object are kept as the model wrote them, and the model gets an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import END, LENGTH, TOOL_CALLS, Account, RunRequest, RunResult
from arvis.domain.text import ends_in_half, paired, storable, storable_json, strict_json
from arvis.domain.tools import ToolCall
from arvis.providers import failures

_MOST_TOKENS = 1 << 31

#: The stop reasons, in lower case, of a reply that was cut at the token limit.
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
    """A collector of a reply's text, up to `max_bytes` of UTF-8. It passes each piece to `on_text`. It removes NUL
    characters and lone surrogates, which cannot be stored."""

    def __init__(self, *, max_bytes: int, on_text: Callable[[str], None] | None = None) -> None:
        self._left = max_bytes
        self._on_text = on_text
        self._pieces: list[str] = []
        self._half = ""
        self.truncated = False

    def add(self, piece: str) -> bool:
        """Add the next piece. Return False if the reply has reached its maximum size, so that the remaining stream need
        not be read."""
        if piece.isascii() and len(piece) <= self._left and not self._half and "\0" not in piece:
            self._left -= len(piece)
            self._keep(piece)
            return not self.truncated
        text, self._half = paired(self._half + piece), ""
        if ends_in_half(text):
            text, self._half = text[:-1], text[-1]
        data = text.replace("\0", "").encode("utf-8", "replace")
        if len(data) > self._left:
            self.truncated = True
            data = data[: self._left]
        # If the limit splits a character, the character is dropped.
        text = data.decode("utf-8", "ignore")
        self._left -= len(data)
        self._keep(text)
        return not self.truncated

    def _keep(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            if self._on_text is not None:
                self._on_text(text)

    def cut(self) -> bool:
        """End the reply at this point. Return False if it has no text yet."""
        has_text = bool("".join(self._pieces).strip())
        self.truncated = self.truncated or has_text
        return has_text

    def is_cut(self, stop_reason: str) -> bool:
        """Return whether the reply is incomplete, because the vendor's reason is a limit or because reading stopped at
        the limit."""
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
        Raise `ProviderError` of kind `empty` if there is neither text nor a tool call."""
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
    """Return the first `most` characters of the text, without unprintable ones such as NUL, lone surrogates and ends of
    lines."""
    return "".join(char for char in text[:most] if char.isprintable())


def token_count(value: object) -> int | None:
    """Return a number of tokens that fits a database column; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS else None


# -- tool calls, in one piece or many, with unique ids -----------------------------------------------------------------


_MOST_CALLS = 64
_LONGEST_NAME = 128
_LONGEST_ID = 256


@dataclass(slots=True)
class _Draft:
    id: str = ""
    name: str = ""
    arguments: str = ""
    signature: str = ""


class CallDrafts:
    """A collector of the tool calls of a reply: up to 64 calls, with up to `max_bytes` of arguments. `add` raises
    `ProviderError` if the reply exceeds one of these limits, and `result` raises it for a call without a name."""

    def __init__(self, *, account: Account, max_bytes: int) -> None:
        self._account = account
        self._left = max_bytes
        self._drafts: dict[object, _Draft] = {}

    def __len__(self) -> int:
        return len(self._drafts)

    def add(self, key: object, *, id: str = "", name: str = "", arguments: str = "", signature: str = "") -> None:  # noqa: A002 - its name
        """Add the next piece of the call that the vendor numbers `key`. Only `arguments` arrives in several pieces;
        each other field arrives once and complete."""
        draft = self._drafts.get(key)
        if draft is None:
            if len(self._drafts) == _MOST_CALLS:
                raise failures.unreadable(self._account, f"it calls more than {_MOST_CALLS} tools at once")
            draft = self._drafts[key] = _Draft()
        self._left -= len(arguments.encode("utf-8", "replace")) + len(signature)
        if self._left < 0:
            raise failures.unreadable(self._account, "the arguments of its tool calls are too long")
        draft.id = draft.id or storable(id[:_LONGEST_ID])
        draft.name = draft.name or storable(name[:_LONGEST_NAME])
        draft.signature = draft.signature or storable(signature)
        draft.arguments += arguments

    def add_whole(self, name: str, arguments: object, *, id: str = "", signature: str = "") -> None:  # noqa: A002
        """Add a call that arrived in one piece, with its arguments as parsed JSON."""
        text = json.dumps(arguments, ensure_ascii=False)
        self.add(len(self), id=id, name=name, arguments=text, signature=signature)

    def result(self, *, cut: bool = False) -> tuple[ToolCall, ...]:
        """Return the calls in order. A missing or repeated id is replaced. If the reply was `cut`, a call without a
        name is left out, and a call without complete arguments is marked as partial and carries no arguments, so that
        it cannot be executed."""
        calls: dict[str, ToolCall] = {}
        for number, draft in enumerate(self._drafts.values()):
            if cut and not draft.name:
                continue
            if not draft.name:
                raise failures.unreadable(self._account, "it calls a tool without a name")
            id_ = draft.id if draft.id and draft.id not in calls else f"call_{number}_{len(calls)}"
            arguments, written = _arguments_in(draft.arguments)
            partial = cut and (arguments is None or not draft.arguments.strip())
            arguments = None if partial else arguments
            calls[id_] = ToolCall(id_, draft.name, arguments, written, draft.signature, partial)
        return tuple(calls.values())


def _arguments_in(text: str) -> tuple[Mapping[str, Any] | None, str]:
    """Return the parsed arguments and "". If the text is not a JSON object, return None and the text. An empty text
    means no arguments."""
    clean = storable(text)
    if not clean.strip():
        return {}, ""
    try:
        value = strict_json(clean)
        if "\\u" in clean:
            value = storable_json(value)
    except (ValueError, RecursionError):
        return None, clean
    return (value, "") if isinstance(value, dict) else (None, clean)


# -- thoughts ----------------------------------------------------------------------------------------------------------


#: `_PIECES`: for each type of piece, the field of the block to which its text is added. `_KINDS`: for each type of
#: block, the fields that contain text.
_PIECES = {"thinking_delta": "thinking", "signature_delta": "signature"}
_KINDS = {"thinking": ("thinking", "signature"), "redacted_thinking": ("data",)}
#: The maximum number of blocks. A normal answer has far fewer.
_MOST_BLOCKS = 64


class ThinkingBlocks:
    """The thinking blocks of one answer in the messages format. If the thoughts exceed `max_bytes`, all of them are
    dropped, because the vendor would refuse incomplete thoughts."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self._blocks: dict[int, dict[str, str]] = {}

    def begin(self, index: int, block: Mapping[str, object]) -> None:
        """Begin a block. Blocks that are not thoughts are ignored."""
        kind = block.get("type")
        if not isinstance(kind, str) or kind not in _KINDS or len(self._blocks) == _MOST_BLOCKS:
            return
        self._blocks[index] = {"type": kind}
        for name in _KINDS[kind]:
            self._append(index, name, block.get(name))

    def add(self, index: int, delta: Mapping[str, object]) -> None:
        """Add a piece of a block."""
        name = _PIECES.get(str(delta.get("type")))
        if name is not None and index in self._blocks:
            self._append(index, name, delta.get(name))

    def result(self, origin: str, *, signed: bool) -> Mapping[str, Any] | None:
        """Return the thoughts to send back, with their origin; None if no thoughts can be sent back. If `signed`,
        thoughts without the vendor's signature are left out, because the vendor refuses them."""
        found = [block for _, block in sorted(self._blocks.items())]
        blocks = [storable_json(block) for block in found if not signed or block.get("signature") or block.get("data")]
        return {"origin": origin, "blocks": blocks} if blocks and self._left >= 0 else None

    def _append(self, index: int, name: str, piece: object) -> None:
        text = piece if isinstance(piece, str) else ""
        self._left -= len(text.encode("utf-8", "replace"))
        if self._left >= 0:
            self._blocks[index][name] = self._blocks[index].get(name, "") + text


class Reasoning:
    """The reasoning of one answer, and the name of the field that contained it. `fields` are the possible names."""

    def __init__(self, max_bytes: int, fields: Sequence[str] = ("reasoning_content", "reasoning")) -> None:
        self._left = max_bytes
        self._fields = fields
        self._field: str | None = None
        self._pieces: list[str] = []

    def add(self, part: Mapping[str, object]) -> None:
        """Add the reasoning in a message, or in a piece of a message."""
        for name in self._fields:
            piece = part.get(name)
            if isinstance(piece, str) and self._field in (None, name):
                self._field = name
                self._left -= len(piece.encode("utf-8", "replace"))
                if self._left >= 0:
                    self._pieces.append(piece)

    def result(self, origin: str) -> Mapping[str, Any] | None:
        if self._field is None:
            return None
        text = "".join(self._pieces) if self._left >= 0 else ""
        return {"origin": origin, "field": self._field, "text": storable(text)}


# -- a whole answer ----------------------------------------------------------------------------------------------------


class Answer:
    """One answer, built from documents as they arrive. `finished` is True after the vendor has marked its end."""

    def __init__(self, *, reply: ReplyText, account: Account, max_bytes: int) -> None:
        self.account = account
        self.finished = False
        self._reply = reply
        self._calls = CallDrafts(account=account, max_bytes=max_bytes)
        self._model: str | None = None
        self._input_tokens: int | None = None
        self._output_tokens: int | None = None
        self._cached_tokens = 0
        self._written_tokens = 0
        self._stop_reason = "end"

    def result(self, request: RunRequest) -> RunResult:
        """Return the result. If the reply was cut, the stop reason reports this, even if there are tool calls."""
        cut = self._reply.is_cut(self._stop_reason)
        return self._reply.result(
            request,
            self.account,
            model=self._model,
            input_tokens=self._input_tokens,
            output_tokens=self._output_tokens,
            stop_reason=TOOL_CALLS if self._calls and not cut else self._stop_reason,
            calls=self._calls.result(cut=cut),
            cached_tokens=self._cached_tokens,
            written_tokens=self._written_tokens,
            thoughts=self._thoughts_of(request) if self._calls else None,
        )

    def _thoughts_of(self, request: RunRequest) -> Mapping[str, Any] | None:  # noqa: ARG002 - vendors without thoughts
        """Return the thoughts before the tool calls. They are sent back together with the outputs of the calls."""
        return None
