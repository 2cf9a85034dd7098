"""Models through the user's own `claude` program, for users with a subscription instead of a key.

Each call starts a new process of the program, which knows nothing about earlier calls. Its input is one message with
the whole history. In this message, each earlier message is one line of JSON, so that no content of a message can look
like the next message. The program gets no tools, settings, plugins or permissions of its user, and no variables of the
daemon's environment except those that `_environment` names. Its output is JSON, one document per line, and the last
document reports the outcome. The output is limited, and as untrusted as a server's answer. Most reports of failures
contain the HTTP status of the vendor's answer; the others contain only a text. If a limit of the subscription is
reached, the report names the time at which the limit ends. Arvis does not contain the program: the user installs it.
This module is written for version 2.1 of the program.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effort import NONE, nearest
from arvis.domain.errors import ProviderError, ProviderErrorKind, ToolError
from arvis.domain.regex import regex
from arvis.domain.runs import Account, Image, RunRequest, RunResult, Turn
from arvis.ports.clock import Clock
from arvis.ports.provider import ProviderServices
from arvis.ports.sandbox import PROGRAM_MISSING, Finished, Programs, Task
from arvis.providers import failures, prompts
from arvis.providers.exchange import MAX_DOCUMENT, parse
from arvis.providers.reply import ReplyText, printable, token_count

#: The efforts that the program accepts.
_EFFORTS = ("low", "medium", "high", "xhigh")
_PROGRAM = "claude"
_PRIVATE_FOLDER = 0o700

#: The names that are safe for folders. `_safe` replaces other names by their hashes.
_SAFE = regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

#: The maximum number of bytes of standard error, and of the program's memory.
_MAX_OUTPUT = 65_536
_MEMORY = 4_294_967_296

#: A key with this beginning is the long-lived login of a subscription (`claude setup-token`).
_LOGIN = "sk-ant-oat"

#: If a text contains `@FILE`, the program reads that file, even without tools. `_apart` prevents this by changing each @
#: of a prompt; in addition, this setting forbids the program to read files.
_NO_FILES = json.dumps({"permissions": {"deny": ["Read", "Read(//**)"]}})

_OPTIONS = (
    *("--print", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"),
    *("--tools", "", "--permission-mode", "default", "--settings", _NO_FILES, "--strict-mcp-config"),
    *("--safe-mode", "--disable-slash-commands", "--no-session-persistence"),
)


def create(name: str, services: ProviderServices) -> ClaudeCliProvider:
    """Make the provider; this is the entry point. Only PATH and HOME of the environment are used."""
    runner = ClaudeRunner(
        programs=services.programs,
        folder=services.folder / "cli",
        environ=services.environ,
        timeout=services.timeouts.total,
    )
    return ClaudeCliProvider(name=name, runner=runner, clock=services.clock)


class ClaudeCliProvider:
    """A `StreamingProvider`. It does not offer the tools of a request, because the program cannot return tool calls."""

    def __init__(self, *, name: str, runner: ClaudeRunner, clock: Clock) -> None:
        self.name = name
        self._runner = runner
        self._clock = clock

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        return await self._call(request, account, None)

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        return await self._call(request, account, on_text)

    async def _call(self, request: RunRequest, account: Account, on_text: Callable[[str], None] | None) -> RunResult:
        reply = ReplyText(max_bytes=request.max_bytes, on_text=on_text)
        answer = ClaudeCliResponse(reply=reply, account=account, clock=self._clock, max_bytes=request.max_bytes)
        try:
            finished = await self._runner.run(request, account, answer.feed, stream=on_text is not None)
        except ToolError as error:
            raise _not_started(account, error) from None
        if finished.timed_out:
            text = f"the program of the account {account.name} did not answer in time and was stopped"
            raise ProviderError(ProviderErrorKind.TIMEOUT, text)
        result = answer.result(request, finished)
        return replace(result, left_out=tuple(sorted(request.sampling))) if request.sampling else result


class ClaudeRunner:
    """The part of the provider that starts the `claude` program, once for each request."""

    def __init__(self, *, programs: Programs, folder: Path, environ: Mapping[str, str], timeout: float) -> None:
        self._programs = programs
        self._folder = folder
        self._environ = environ
        self._timeout = timeout

    async def run(
        self, request: RunRequest, account: Account, on_stdout: Callable[[bytes], None], *, stream: bool
    ) -> Finished:
        """Run the program. Raise `ToolError` if the program cannot be started, and pass on every error that `on_stdout`
        raises."""
        folder = self._folder / "conversations" / _safe(request.conversation or "none")
        environment = self._environment(request, account)
        try:
            await asyncio.to_thread(_make, folder, Path(environment["HOME"]))
            with tempfile.NamedTemporaryFile(dir=folder, prefix="system-") as system:
                system.write(system_text(request).encode("utf-8", "replace"))
                system.flush()
                task = Task(
                    _command(request, account, system.name, stream=stream),
                    folder,
                    stdin=prompt_of(request),
                    environment=environment,
                    timeout=self._timeout,
                    max_output=_MAX_OUTPUT,
                    memory=_MEMORY,
                )
                return await self._programs.run(task, on_stdout=on_stdout)
        except OSError as error:
            raise ToolError(f"its files cannot be written ({error.strerror or error})") from None

    def _environment(self, request: RunRequest, account: Account) -> dict[str, str]:
        """Return the program's environment. For an account with a key, HOME is a private folder; without a key, it is
        the daemon's HOME, which contains the login. The environment sets the time zone UTC, so that times in the output
        are in UTC."""
        private = self._folder / "homes" / _safe(account.name)
        home = str(private) if account.api_key else self._environ.get("HOME", str(private))
        given = {
            "HOME": home,
            "PATH": self._environ.get("PATH", "/usr/local/bin:/usr/bin:/bin"),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            # The runner decides about retries and other accounts.
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(request.max_tokens),
        }
        if request.effort == NONE:
            given["MAX_THINKING_TOKENS"] = "0"
        elif request.effort is not None:
            # Versions of the program without efforts ignore this variable, but refuse unknown options.
            given["CLAUDE_CODE_EFFORT_LEVEL"] = nearest(request.effort, _EFFORTS) or _EFFORTS[0]
        if account.base_url:
            given["ANTHROPIC_BASE_URL"] = account.base_url
        if account.api_key:
            key = account.api_key.strip()
            given["CLAUDE_CODE_OAUTH_TOKEN" if key.startswith(_LOGIN) else "ANTHROPIC_API_KEY"] = key
        return given


def _command(request: RunRequest, account: Account, system: str, *, stream: bool) -> list[str]:
    """Return the command. The values of options are written after a `=`, so that the name of a model cannot be read as
    another option."""
    model = request.model or account.model
    pieces = ["--include-partial-messages"] if stream else []
    return [_PROGRAM, *_OPTIONS, *pieces, f"--model={model}", f"--system-prompt-file={system}"]


def _make(*folders: Path) -> None:
    for folder in folders:
        folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)


def _safe(name: str) -> str:
    return name if _SAFE.fullmatch(name) else hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:32]


def _not_started(account: Account, error: ToolError) -> ProviderError:
    """Return the error for a program that did not start. A missing program counts as a refused key, so the account is
    skipped until a person installs the program. Any other reason counts as a bad request, which another account may
    accept."""
    if error.code == PROGRAM_MISSING:
        text = f"the account {account.name} needs the program claude, which is not installed for the daemon's user. "
        text += "Install it (npm install -g @anthropic-ai/claude-code) and log in with `claude`"
        return ProviderError(ProviderErrorKind.AUTH, text)
    text = failures.redact(
        f"the program of the account {account.name} did not start: {error.why or error.what}", account
    )
    return ProviderError(ProviderErrorKind.BAD_REQUEST, text, elsewhere=True)


# -- input -------------------------------------------------------------------------------------------------------------


#: The program replaces `@NAME` by the content of that file or folder. An invisible joiner before the @ prevents this;
#: mail addresses stay unchanged.
_MENTION = regex("(?<![\\w\u2060])@")
_APART = "\u2060@"

_NO_SYSTEM = "Answer the user."
_HISTORY = "The conversation so far, one message in JSON on each line:"
_NEWEST = "The newest message of the user, which you must answer:"
_RESULTS = "Continue the conversation: the last line contains the results of your tool calls."


def system_text(request: RunRequest) -> str:
    return prompts.system_of(request) or _NO_SYSTEM


def prompt_of(request: RunRequest) -> bytes:
    """Return one line for standard input in the format `stream-json`. The pictures come before the text. The text
    refers to each picture by its number."""
    pictures = [picture for turn in request.turns for picture in turn.images]
    blocks = [block for number, picture in enumerate(pictures, 1) for block in _picture(number, picture)]
    text = "\n\n".join(part for part in (_text(request.turns), request.now) if part)
    blocks.append({"type": "text", "text": _apart(text)})
    message = {"type": "user", "message": {"role": "user", "content": blocks}}
    # Lone surrogates are replaced, because no receiver can read them.
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _text(turns: tuple[Turn, ...]) -> str:
    """Return the history and the newest message as one text. The text never begins with text of the user, because the
    program might read it as a command."""
    numbers = _numbers(turns)
    *earlier, newest = turns or (Turn("user", ""),)
    if newest.outputs or newest.role != "user":
        lines = [_line(turn, held) for turn, held in zip(turns, numbers, strict=True)]
        return "\n".join((_HISTORY, "", *lines, "", _RESULTS))
    shown = f"\n\n[With picture {', '.join(map(str, numbers[-1]))}]" if newest.images else ""
    parts = [_NEWEST, "", newest.content + shown]
    if earlier:
        lines = [_line(turn, held) for turn, held in zip(earlier, numbers[:-1], strict=True)]
        parts = [_HISTORY, "", *lines, "", *parts]
    return "\n".join(parts)


def _numbers(turns: tuple[Turn, ...]) -> list[list[int]]:
    """Return for each turn the numbers of its pictures."""
    numbers: list[list[int]] = []
    first = 1
    for turn in turns:
        numbers.append(list(range(first, first + len(turn.images))))
        first += len(turn.images)
    return numbers


def _line(turn: Turn, pictures: list[int]) -> str:
    entry: dict[str, Any] = {"from": "user" if turn.role == "user" else "you", "text": _apart(turn.content)}
    if pictures:
        entry["pictures"] = pictures
    if turn.calls:
        entry["asked for"] = [{"tool": call.name, "arguments": call.arguments or call.written} for call in turn.calls]
    if turn.outputs:
        entry["results"] = [_apart(output.content) for output in turn.outputs]
    return json.dumps(entry, ensure_ascii=False)


def _picture(number: int, picture: Image) -> Iterator[Mapping[str, Any]]:
    data = base64.b64encode(picture.data).decode()
    yield {"type": "text", "text": f"Picture {number}:"}
    yield {"type": "image", "source": {"type": "base64", "media_type": picture.media_type, "data": data}}


def _apart(text: str) -> str:
    return _MENTION.sub(_APART, text)


# -- output ------------------------------------------------------------------------------------------------------------


#: The number of bytes of output that are allowed for each byte of the reply's text.
_OVERHEAD = 256
#: The number of bytes that are added to the size of each line when the output is measured, because even an empty line
#: costs time.
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
    """One answer of the program, built from lines as they arrive."""

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
        """Read the next bytes. Raise `ProviderError` if the output is larger than allowed."""
        end, *starts = data.split(b"\n")
        self._left -= len(data) + _LINE * len(starts)
        if self._left < 0:
            raise failures.unreadable(self._account, "it is larger than allowed")
        self._line += end
        for start in starts:
            self._take(bytes(self._line))
            self._line = bytearray(start)
        if len(self._line) > MAX_DOCUMENT:
            raise failures.unreadable(self._account, f"a line is larger than {MAX_DOCUMENT} bytes")

    def result(self, request: RunRequest, finished: Finished) -> RunResult:
        """Return the reply after the program has ended. Raise `ProviderError` if the program reported a failure or no
        result."""
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
        written to it, so these tokens are added."""
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
        """Process a line. A line that is not JSON is ignored, because the program may also print other text."""
        if not line.lstrip().startswith(b"{"):
            return
        document = parse(line.decode("utf-8", "replace"), self._account)
        match document:
            case {
                "type": "stream_event",
                "event": {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}},
            }:
                self._streamed = True
                self._reply.add(text)
            case {"type": "assistant", "message": {"model": str(model)}} if model and not model.startswith("<"):
                self._model = printable(model, _LONGEST_NAME) or None
            case {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": int(at)}}:
                self._resets_at = float(at)
            case {"type": "result"} if isinstance(document, dict):
                self._end = document

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
        return failure_of(self._account, trouble, self._clock)


# -- failures ----------------------------------------------------------------------------------------------------------


_K = ProviderErrorKind


@dataclass(frozen=True, slots=True)
class Trouble:
    """The program's report of a failure."""

    #: The text of the report.
    words: str
    #: The HTTP status of the vendor's answer.
    status: int | None = None
    #: The program's own name for the failure.
    reason: str = ""
    #: The time at which the limit ends, in seconds since 1970.
    resets_at: float | None = None
    exit_code: int = 1


_AUTH_WORDS = (
    r"invalid api key|/login|not logged in|log ?in again|setup-token|authentication_error"
    r"|oauth (?:token|account|authentication)|\b401\b|\b403\b|organization has been disabled"
)
#: The patterns of texts by the kind of error. More specific patterns come first, because the first match counts.
_BY_WORDS: Mapping[ProviderErrorKind, re.Pattern[str]] = {
    _K.TOO_LONG: regex(r"prompt is too long|context (?:limit|window|length)|exceeds? the context", re.IGNORECASE),
    _K.QUOTA: regex(r"credit balance|spend(?:ing)? limit|billing", re.IGNORECASE),
    _K.RATE_LIMIT: regex(r"limit reached|hit your [\w ]*limit|usage limit|rate.?limit|\b429\b", re.IGNORECASE),
    _K.AUTH: regex(_AUTH_WORDS, re.IGNORECASE),
    _K.OVERLOADED: regex(r"overloaded|\b529\b|\b50[023]\b|internal server error", re.IGNORECASE),
    _K.TIMEOUT: regex(r"timed? ?out|\b504\b", re.IGNORECASE),
    _K.REFUSED: regex(r"unable to respond|usage policy|declined", re.IGNORECASE),
    _K.BAD_REQUEST: regex(r"unknown option|selected model|\b40[04]\b|invalid_request_error", re.IGNORECASE),
}
_BY_STATUS: Mapping[int, ProviderErrorKind] = {
    400: _K.BAD_REQUEST,
    401: _K.AUTH,
    402: _K.QUOTA,
    403: _K.AUTH,
    404: _K.BAD_REQUEST,
    408: _K.TIMEOUT,
    413: _K.TOO_LONG,
    429: _K.RATE_LIMIT,
    504: _K.TIMEOUT,
}

_EPOCH = regex(r"\|\s*(\d{10})(?:\d{3})?\b")
_RESETS = regex(
    r"resets?(?: at| on)?\s+(?:(?P<month>[A-Z][a-z]{2})[a-z]*\s+(?P<day>\d{1,2})(?:,| at)?\s+)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>[ap]m)?(?:\s*\((?P<zone>[\w/+-]{1,40})\))?",
    re.IGNORECASE,
)
_IN = regex(r"(?:resets|again|retry)[\w ]* in\s+(?:(\d{1,3})\s*h\w*)?\s*(?:(\d{1,4})\s*m\w*)?", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NOON = 12

#: The maximum wait in seconds: the longest limit of a subscription lasts a week.
_LONGEST_WAIT = 7 * 86_400.0


def failure_of(account: Account, trouble: Trouble, clock: Clock) -> ProviderError:
    """Return the error for a report, with its kind and without secrets. An unknown failure counts as a temporary
    fault."""
    kind = _kind(trouble)
    words = trouble.words.strip() or f"it ended with the code {trouble.exit_code} and printed nothing"
    text = failures.redact(f"the program of the account {account.name} failed: {words}", account)
    wait = _wait(trouble, clock) if kind in {_K.RATE_LIMIT, _K.QUOTA} else None
    return ProviderError(kind, text, retry_after=wait)


def _kind(trouble: Trouble) -> ProviderErrorKind:
    if trouble.reason == "prompt_too_long":
        return _K.TOO_LONG
    if trouble.resets_at is not None:
        return _K.RATE_LIMIT
    words = next((kind for kind, pattern in _BY_WORDS.items() if pattern.search(trouble.words)), None)
    if words in {_K.TOO_LONG, _K.QUOTA} or trouble.status is None:
        return words or _K.OVERLOADED
    return _BY_STATUS.get(trouble.status, words or _K.OVERLOADED)


def _wait(trouble: Trouble, clock: Clock) -> float | None:
    """Return the seconds until the limit ends, if the report names that time."""
    now = clock.now() / 1000
    if trouble.resets_at is not None:
        return _bounded(trouble.resets_at - now)
    if (epoch := _EPOCH.search(trouble.words)) is not None:
        return _bounded(int(epoch[1]) - now)
    if (span := _IN.search(trouble.words)) is not None and (span[1] or span[2]):
        return _bounded(int(span[1] or 0) * 3600 + int(span[2] or 0) * 60)
    if (reset := _RESETS.search(trouble.words)) is not None:
        at = _moment(reset, datetime.fromtimestamp(now, UTC))
        return None if at is None else _bounded(at.timestamp() - now)
    return None


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), _LONGEST_WAIT)


def _moment(reset: re.Match[str], now: datetime) -> datetime | None:
    """Return the next time that matches the text. If the text names a day, the time is on that day in this year or the
    next. Otherwise the time is today or tomorrow. Return None if the named day does not exist."""
    hour, minute = int(reset["hour"]), int(reset["minute"] or 0)
    if reset["half"]:
        hour = hour % _NOON + (_NOON if reset["half"].lower() == "pm" else 0)
    here = now.astimezone(_zone(reset["zone"]))
    try:
        at = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if not reset["month"]:
            return at if at > here else at + timedelta(days=1)
        at = at.replace(month=_MONTHS.index(reset["month"].lower()) + 1, day=int(reset["day"]))
        return at if at > here - timedelta(days=1) else at.replace(year=at.year + 1)
    except ValueError:
        return None


def _zone(name: str | None) -> tzinfo:
    """Return the named time zone. Without a name, return UTC, which Arvis sets in the program's environment."""
    try:
        return ZoneInfo(name) if name else UTC
    except (KeyError, ValueError, OSError):
        return UTC
