"""Logging to standard error and to one file a day. Standard error is readable on a terminal and JSON elsewhere; the
files are JSON.

The lines of all libraries pass one formatter, which removes known secrets and text that looks like a key or token. The
formatter works on the finished text, so it also finds secrets in arguments, headers and tracebacks. Importing this
module changes no settings.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import threading
from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

import structlog
from structlog.typing import EventDict, Processor

from arvis.domain.regex import regex
from arvis.ports.clock import Clock

_MASK = "[redacted]"

#: Shorter secrets are replaced only as separate words: the password `demo` must not change the word `democracy`.
_ALONE_BELOW = 8

# The groups `keep` and `tail` of a match are not replaced. Each repetition is bounded or matches one class of
# characters, so that no input makes the search slow.
_PATTERNS = tuple(
    regex(pattern, re.IGNORECASE | re.ASCII)
    for pattern in (
        # Headers in HTTP or in the repr of a mapping.
        r"(?P<keep>\b(?:proxy-)?authorization\b['\"\\]{0,3}\s{0,3}[:=,]\s{0,3}b?['\"\\]{0,3}(?:[a-z]{2,12}\s)?)[^\s'\"\\,]+",
        r"(?P<keep>\b(?:set-)?cookie\b['\"\\]{0,3}\s{0,3}[:=,]\s{0,3}b?['\"\\]{0,3})[^'\"\\\r\n]+",
        r"(?P<keep>\bx-(?:api|goog-api|auth)-(?:key|token)\b['\"\\]{0,3}\s{0,3}[:=,]\s{0,3}b?['\"\\]{0,3})[^\s'\"\\,]+",
        r"(?P<keep>\bbearer\s{1,3})[a-z0-9._~+/=-]{6,}",
        # Keys and tokens that are recognised by their form.
        r"\bsk-[a-z0-9_-]{8,}",
        r"\b[sr]k_(?:live|test)_[a-z0-9]{8,}",
        r"(?P<keep>\bbot)\d{5,20}:[a-z0-9_-]{20,}",
        r"\b\d{6,20}:[a-z0-9_-]{30,}",
        r"\bxox[a-z]-[a-z0-9-]{8,}",
        r"\bxapp-[a-z0-9-]{8,}",
        r"\bgh[pousr]_[a-z0-9]{20,}",
        r"\bgithub_pat_[a-z0-9_]{20,}",
        r"\baiza[a-z0-9_-]{30,}",
        r"\bakia[a-z0-9]{16}\b",
        r"\b[a-z0-9_-]{23,28}\.[a-z0-9_-]{6,7}\.[a-z0-9_-]{27,}",
        r"\beyj[a-z0-9_-]{8,}\.[a-z0-9_-]{8,}\.[a-z0-9_-]*",
        # Discord's addresses of interactions and webhooks, which contain a token.
        r"(?P<keep>/(?:interactions|webhooks)/\d{15,20}/)[a-z0-9_.%-]{20,}",
        # Addresses with `user:password@`, and parameters of addresses that contain secrets.
        r"(?P<keep>://[^\s/:@'\"]{0,100}:)[^\s/@'\"]{1,300}(?P<tail>@)",
        r"(?P<keep>[?&#](?:[a-z_]{0,20}(?:key|token|secret|password|signature)|code|login)=)[^\s&#'\"]+",
        # Fields with secrets: in JSON, in the repr of a mapping, or as keyword arguments.
        r"(?P<keep>\b(?:[a-z]{1,20}[_-]){0,3}(?:api_?key|token|secret|password|passwd)\\?['\"]?\s{0,3}[:=]\s{0,3}\\?['\"])[^'\"\\]+",
    )
)


class Redactor:
    """A filter that replaces secrets in a text by a mask. `learn` adds secrets that appear while the daemon runs; it
    skips known secrets quickly. Any thread may call this object."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set()
        #: Longest first, so that a secret is replaced before a shorter one that it contains. The tuple is replaced,
        #: never changed, because other threads read it.
        self._known: tuple[str, ...] = ()
        self._learning = threading.Lock()
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        with self._learning:
            fresh = {secret for secret in secrets if secret.strip()} - self._secrets
            if fresh:
                self._secrets |= fresh
                known = list(self._known)
                for form in {form for secret in fresh for form in _forms(secret)}:
                    insort(known, form, key=lambda each: -len(each))
                self._known = tuple(known)

    def __call__(self, text: str) -> str:
        # One pattern for all secrets would not be faster, and it would have to be compiled again for each new secret.
        for form in self._known:
            if form in text and len(form) >= _ALONE_BELOW:
                text = text.replace(form, _MASK)
            elif form in text:
                text = re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", _MASK, text)
        for pattern in _PATTERNS:
            text = pattern.sub(_masked, text)
        return text


def _masked(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return f"{groups.get('keep') or ''}{_MASK}{groups.get('tail') or ''}"


def _forms(secret: str) -> Iterator[str]:
    """Yield the encodings in which a secret may appear: plain, JSON, repr, URL, base 64, hex."""
    data = secret.encode(errors="surrogatepass")
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield repr(secret)[1:-1]
    yield quote(data, safe="")
    yield quote(data)
    yield base64.b64encode(data).decode().rstrip("=")
    yield base64.urlsafe_b64encode(data).decode().rstrip("=")
    yield data.hex()


_MS_PER_SECOND = 1000

#: Loggers that write an INFO line for every request, with its address. Only the warnings of these loggers are logged.
#: The code that makes the request logs the important facts about it.
_CHATTY = ("aiohttp.access", "apscheduler", "asyncio", "httpcore", "httpx", "httpx2", "uvicorn.access", "websockets")


@contextmanager
def logging_to(
    *, stream: TextIO, folder: Path | None, keep_days: int | None, redact: Redactor, clock: Clock, level: str = "INFO"
) -> Iterator[Callable[[int], None]]:
    """Send all logging to `stream` and, if `folder` is given, to the files `arvis-YYYY-MM-DD.log` in it (days in UTC).

    Files older than `keep_days` days are removed when a new day begins. The yielded function sets another number of
    days; until it is called, `keep_days=None` keeps all files. The web server must not configure logging
    (`log_config=None`). Existing handlers are replaced until the end of the block.
    """
    render = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    handlers: list[logging.Handler] = [_Stream(stream)]
    handlers[0].setFormatter(_formatter(render if stream.isatty() else _json(), redact, clock))
    files = [] if folder is None else [DailyFile(folder=folder, keep_days=keep_days, clock=clock)]
    for file in files:
        file.setFormatter(_formatter(_json(), redact, clock))

    def keep(days: int) -> None:
        for file in files:
            file.keep(days)

    with _installed([*handlers, *files], level):
        yield keep


class _SilentFailure(logging.Handler):
    """A handler that drops a line if the line cannot be formatted or written. The default report of such an error would
    show the line with its secrets."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Do nothing, because a report of the error would show the line with its secrets."""


class _Stream(_SilentFailure, logging.StreamHandler[TextIO]):
    pass


class DailyFile(_SilentFailure, logging.FileHandler):
    """A handler that appends lines to the file of the day. On a full disk, lines are lost, but the daemon continues."""

    def __init__(self, *, folder: Path, keep_days: int | None, clock: Clock) -> None:
        super().__init__(folder / "not-yet", encoding="utf-8", errors="replace", delay=True)
        self._folder = folder
        self._keep_days = keep_days
        self._clock = clock
        self._day: date | None = None

    def keep(self, days: int) -> None:
        """Remove files that are older than this number of days, now and whenever a new day begins."""
        with self.lock or nullcontext():
            self._keep_days = days
            if self._day is not None:
                with suppress(OSError):
                    self._remove_before(self._day - timedelta(days=days))

    def erase_details(self) -> None:
        """Remove the texts of all lines that have been written so far. The time, level, logger, numbers and ids of a
        line remain."""
        for file in sorted(self._folder.glob("arvis-????-??-??.log")):
            with self.lock or nullcontext():
                if file == Path(self.baseFilename) and self.stream is not None:
                    self.stream.close()
                    self.stream, self._day = None, None
                _rewrite(file)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._turn_to(_moment(self._clock).date())
        except OSError:
            self.handleError(record)
        else:
            super().emit(record)

    def close(self) -> None:
        with suppress(OSError):  # raised if lines in the buffer cannot be written because the disk is full
            super().close()

    def _turn_to(self, today: date) -> None:
        if today == self._day:
            return
        if self.stream is not None:
            self.stream.close()
            self.stream, self._day = None, None
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.baseFilename = str(self._folder / f"arvis-{today.isoformat()}.log")
        self.stream = self._open()
        self._day = today
        if self._keep_days is not None:
            self._remove_before(today - timedelta(days=self._keep_days))

    def _remove_before(self, day: date) -> None:
        for file in self._folder.glob("arvis-????-??-??.log"):
            # The alphabetical order of the names is the order of their days.
            if file.name < f"arvis-{day.isoformat()}.log":
                file.unlink(missing_ok=True)


#: The names of events of Arvis itself, and ids. All other texts of a line may contain what people wrote.
_EVENT = regex(r"[a-z][a-z0-9_]{1,60}", re.ASCII)
_ID = regex(r"[0-9A-HJKMNP-TV-Z]{26}", re.ASCII)
_FRESH = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_ALWAYS = frozenset({"timestamp", "level", "logger"})
#: The event after the start, which `arvis doctor` reads. It contains only texts of the configuration, so it stays
#: unchanged.
_STARTED = "ready"


def erase_details() -> None:
    """Remove the texts of all lines in the log files of this process. This takes a moment for each file."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, DailyFile):
            handler.erase_details()


def _rewrite(file: Path) -> None:
    """Replace a log file with a file without details. Lines that are not JSON are dropped."""
    fresh = file.with_name(f"{file.name}.new")
    with (
        file.open(encoding="utf-8", errors="replace") as lines,
        os.fdopen(os.open(fresh, _FRESH, 0o600), "w", encoding="utf-8") as out,
    ):
        for line in lines:
            with suppress(ValueError):
                fields = json.loads(line)
                if isinstance(fields, dict):
                    out.write(json.dumps(_without_details(fields), ensure_ascii=False) + "\n")
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(file)


def _without_details(fields: dict[str, Any]) -> dict[str, Any]:
    event = fields.get("event")
    if event == _STARTED:
        return fields
    kept = {
        name: value
        for name, value in fields.items()
        if name in _ALWAYS or isinstance(value, int | float) or (isinstance(value, str) and _ID.fullmatch(value))
    }
    return {**kept, "event": event if isinstance(event, str) and _EVENT.fullmatch(event) else "(erased)"}


class _Redacting(structlog.stdlib.ProcessorFormatter):
    """A formatter that formats a record completely and then removes the secrets from the text."""

    def __init__(self, *, redact: Redactor, processors: list[Processor], foreign: list[Processor]) -> None:
        super().__init__(processors=processors, foreign_pre_chain=foreign)
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(super().format(record))


def _formatter(render: Processor, redact: Redactor, clock: Clock) -> _Redacting:
    clean: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if isinstance(render, structlog.processors.JSONRenderer):
        clean.append(structlog.processors.format_exc_info)

    def stamp(_logger: Any, _method: str, event: EventDict) -> EventDict:
        event["timestamp"] = _moment(clock).isoformat(timespec="milliseconds")
        return event

    return _Redacting(redact=redact, processors=[stamp, *clean, render], foreign=_pre_chain())


def _moment(clock: Clock) -> datetime:
    return datetime.fromtimestamp(clock.now() / _MS_PER_SECOND, UTC)


def _json() -> Processor:
    return structlog.processors.JSONRenderer(ensure_ascii=False)


def _pre_chain() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
    ]


@contextmanager
def _installed(handlers: list[logging.Handler], level: str) -> Iterator[None]:
    root = logging.getLogger()
    before, level_before = list(root.handlers), root.level
    quiet = [(logger, logger.level) for logger in map(logging.getLogger, _CHATTY)]
    _disown_others()
    root.handlers[:] = handlers
    root.setLevel(level)
    for logger, _ in quiet:
        logger.setLevel(max(logging.WARNING, root.level))
    logging.captureWarnings(capture=True)
    _configure_structlog()
    try:
        yield
    finally:
        structlog.reset_defaults()
        logging.captureWarnings(capture=False)
        for logger, former in quiet:
            logger.setLevel(former)
        root.setLevel(level_before)
        root.handlers[:] = before
        for handler in handlers:
            handler.close()


def _disown_others() -> None:
    """Let the loggers of libraries pass their records to the root logger. Their own handlers would bypass the removal
    of secrets."""
    for logger in list(logging.root.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            logger.handlers.clear()
            logger.propagate = True


def _configure_structlog() -> None:
    """Let structured loggers pass their records to the loggers of the standard library, so that all lines use the same
    handlers."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_pre_chain()[:-1],
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
