"""The daemon's log over HTTP: filtered lines, newest first, and whole files."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Self

from starlette.responses import FileResponse, Response

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import NotFound, Unprocessable
from arvis.domain.regex import regex
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, route
from arvis.web.http.identity import OPERATE
from arvis.web.http.models import About, AnyObject, Page, Time, View
from arvis.web.http.schema import LABEL, STRING, TIME, Schema, one_of

# The log is read backwards in blocks, from the end of the newest file. Each call reads a limited number of bytes, so
# that it does not delay other requests. The daemon redacted the lines when it wrote them.


#: The weight of each level. Every other level has the weight of `info`.
LEVELS: Mapping[str, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}

_FILE = regex(r"arvis-(\d{4}-\d{2}-\d{2})\.log", re.ASCII)
_CURSOR = regex(r"(\d{4}-\d{2}-\d{2})\.(\d{1,15})", re.ASCII)
_BLOCK = 65_536
#: The maximum number of bytes that one call reads.
_MOST_READ = 4_194_304
#: The maximum number of bytes of a shown line. Lines of the daemon are normally shorter.
_LONGEST = 65_536
#: The maximum number of characters of a shown field.
_LONGEST_FIELD = 8_000
_MOST_FIELDS = 50
_OWN = frozenset({"timestamp", "level", "logger", "event", "exception"})


@dataclass(frozen=True, slots=True)
class LogPosition:
    """A position in the log. The next line to read ends at byte `offset` of the file of `day` (UTC) or before it."""

    day: str
    offset: int

    def __str__(self) -> str:
        return f"{self.day}.{self.offset}"


@dataclass(frozen=True, slots=True)
class LogFilter:
    """A filter of log lines. Times are in ms."""

    #: The lowest level.
    level: str = "debug"
    #: A prefix of the logger's name.
    logger: str = ""
    #: A text anywhere in the line, case-insensitive.
    text: str = ""
    since: int | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the log."""

    #: The position of the line, which never changes.
    id: str
    #: The time of the line in ms; None if the line has no time.
    at: int | None
    level: str
    logger: str
    event: str
    #: A traceback, or an empty text.
    exception: str
    #: The other fields: texts, numbers, true, false and null.
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LogPage:
    """A page of lines, newest first. A `cursor` of None means that there are no older lines."""

    found: Sequence[LogLine]
    cursor: str | None


def position_of(cursor: str) -> LogPosition | None:
    """Parse a cursor. Return None if it is invalid."""
    match = _CURSOR.fullmatch(cursor)
    return LogPosition(match[1], int(match[2])) if match else None


def days_of(folder: Path) -> list[tuple[str, int]]:
    """Return the days that have a log file, newest first, each with the size of its file in bytes."""
    try:
        with os.scandir(folder) as entries:
            found = [
                (match[1], entry.stat().st_size)
                for entry in entries
                if (match := _FILE.fullmatch(entry.name)) and entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []
    return sorted(found, reverse=True)


def file_of(folder: Path, day: str) -> Path | None:
    return next((folder / f"arvis-{name}.log" for name, _ in days_of(folder) if name == day), None)


def read_back(folder: Path, wanted: LogFilter, start: LogPosition | None, limit: int) -> LogPage:
    """Read the matching lines before `start`, newest first: at most `limit` lines, from about `_MOST_READ` bytes. The
    cursor of the page is None if no more lines can match."""
    found: list[LogLine] = []
    left = _MOST_READ
    for day, size in days_of(folder):
        if start is not None and day > start.day:
            continue
        if wanted.until is not None and _begin_of(day) > wanted.until:
            continue
        if wanted.since is not None and _begin_of(day) + 86_400_000 < wanted.since:
            break
        offset = min(size, start.offset) if start is not None and day == start.day else size
        for begin, raw in _backwards(folder / f"arvis-{day}.log", offset):
            left -= offset - begin
            offset = begin
            line = _file_line(f"{day}.{begin}", raw)
            if line is not None and _fits(line, raw, wanted):
                found.append(line)
            if len(found) == limit or left <= 0:
                return LogPage(found, str(LogPosition(day, begin)))
    return LogPage(found, None)


def _begin_of(day: str) -> int:
    try:
        return int(datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp() * 1000)
    except ValueError:
        return 0


def _backwards(file: Path, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that end at or before byte `end`, last line first, each with its start position. Stop without an
    error if the file has been deleted."""
    try:
        with file.open("rb") as stream:
            yield from _lines_before(stream, end)
    except OSError:
        return


def _lines_before(stream: BinaryIO, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines before byte `end`, last line first, each with its start position. For a line longer than
    `_LONGEST`, first yield an empty line for each dropped part, so that the caller knows the position, and then yield
    the beginning of the line.

    In the loop, `held` contains the bytes from `position` on, and its bytes from `stop` on were already yielded."""
    position, held, stop, cut_off = end, b"", 0, False
    while True:
        # The byte before `stop` is the line break of the line to find, unless the end of that line was dropped.
        begin = held.rfind(b"\n", 0, stop if cut_off else max(0, stop - 1)) + 1
        if begin:
            yield position + begin, held[begin:stop]
            stop, cut_off = begin, False
        elif position == 0:
            break
        else:
            if stop > _LONGEST:
                held, stop, cut_off = b"", 0, True
                yield position, b""
            size = min(_BLOCK, position)
            position -= size
            stream.seek(position)
            held = stream.read(size) + held[:stop]
            stop += size
    if stop:
        yield 0, held[:stop]


def _file_line(place: str, raw: bytes) -> LogLine | None:
    """Parse one line. Return None for an empty line. If the line is not a JSON object, for example because a crash cut
    it off, its whole text becomes the event."""
    text = raw[:_LONGEST].decode("utf-8", "replace").strip()
    if not text:
        return None
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        return LogLine(place, None, "info", "", _short(text), "", {})
    level = str(values.get("level", "info")).lower()
    return LogLine(
        id=place,
        at=_time_of(values.get("timestamp")),
        level=level if level in LEVELS else "info",
        logger=_short(values.get("logger", "")),
        event=_short(values.get("event", "")),
        exception=_short(values.get("exception", "")),
        fields={_short(name)[:100]: _field(value) for name, value in _others(values)},
    )


def _others(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in values.items() if name not in _OWN][:_MOST_FIELDS]


def _field(value: Any) -> Any:
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return _short(value)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # A lone surrogate cannot be encoded.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= _LONGEST_FIELD else f"{text[:_LONGEST_FIELD]}…"


def _time_of(value: Any) -> int | None:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def _fits(line: LogLine, raw: bytes, wanted: LogFilter) -> bool:
    if LEVELS[line.level] < LEVELS[wanted.level] or not line.logger.startswith(wanted.logger):
        return False
    if wanted.since is not None and (line.at is None or line.at < wanted.since):
        return False
    if wanted.until is not None and (line.at is None or line.at > wanted.until):
        return False
    return not wanted.text or wanted.text.casefold() in raw.decode("utf-8", "replace").casefold()


_WHOLE = regex(r"\d{1,15}", re.ASCII)
_DAY = regex(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DAY_SCHEMA: Schema = {**STRING, "pattern": f"^{_DAY.pattern}$", "description": "Such as 2026-07-01 (UTC)."}


class LogLineView(View):
    id: Annotated[str, About("Its position, which never changes.")]
    at: Time | None
    level: Annotated[str, About(enum=sorted(LEVELS))]
    logger: str
    event: str
    exception: Annotated[str | None, About("A traceback.")]
    fields: Annotated[AnyObject, About("Its other fields: texts, numbers, true, false, null.")]

    @classmethod
    def of(cls, line: LogLine) -> Self:
        return cls.showing(line, exception=line.exception or None)


class LogLinesView(View):
    items: list[LogLineView]
    next_cursor: Annotated[str | None, About("There may be more pages even if `items` is empty.")]


class LogDayView(View):
    day: Annotated[str, About("Such as 2026-07-01 (UTC).", pattern=_DAY_SCHEMA["pattern"])]
    bytes: int


_PATH = "/api/logs"


class LogRoutes(Routes):
    """Routes of the log. `folder` contains the daemon's log files."""

    def __init__(self, *, folder: Path) -> None:
        self._folder = folder

    @route(
        "GET",
        _PATH,
        "List log lines, newest first",
        OPERATE,
        {200: LogLinesView},
        query={
            **PAGING,
            "level": {**one_of(LEVELS), "description": "The lowest level."},
            "logger": {**LABEL, "description": "A prefix of the logger's name."},
            "q": {**LABEL, "description": "A text anywhere in the line, case-insensitive."},
            "since": TIME,
            "until": TIME,
        },
    )
    async def _list(self, call: Call) -> Response:
        cursor = call.query("cursor")
        start = position_of(cursor) if cursor is not None else None
        if cursor is not None and start is None:
            raise Unprocessable(
                "`cursor` must be the `nextCursor` of the previous page.", fix="Start without a cursor."
            )
        page = await asyncio.to_thread(read_back, self._folder, _wanted(call), start, call.limit)
        return answer(LogLinesView(items=[LogLineView.of(line) for line in page.found], next_cursor=page.cursor))

    @route("GET", f"{_PATH}/days", "List the days that have a file", OPERATE, {200: Page[LogDayView]})
    async def _days(self, _: Call) -> Response:
        days = await asyncio.to_thread(days_of, self._folder)
        return answer_page([LogDayView(day=day, bytes=size) for day, size in days], None)

    @route(
        "GET",
        f"{_PATH}/download",
        "Download the file of a day",
        OPERATE,
        {200: STRING},
        query={"day": _DAY_SCHEMA},
        media="application/x-ndjson",
    )
    async def _download(self, call: Call) -> Response:
        day = call.query("day")
        if day is None or not _DAY.fullmatch(day):
            raise Unprocessable("`day` must be a day such as 2026-07-01.", fix="GET /api/logs/days lists the days.")
        file = await asyncio.to_thread(file_of, self._folder, day)
        if file is None:
            raise NotFound("There is no log of this day.", fix="GET /api/logs/days lists the days.")
        return FileResponse(file, media_type="application/x-ndjson", filename=file.name)


def _wanted(call: Call) -> LogFilter:
    level = call.query("level") or "debug"
    if level not in LEVELS:
        raise Unprocessable(f"`level` must be one of {', '.join(LEVELS)}.", fix="Choose one.")
    return LogFilter(
        level, call.query("logger") or "", call.query("q") or "", _time(call, "since"), _time(call, "until")
    )


def _time(call: Call, name: str) -> int | None:
    text = call.query(name)
    if text is None:
        return None
    if not _WHOLE.fullmatch(text):
        raise Unprocessable(f"`{name}` must be milliseconds since 1970.", fix="Send a whole number.")
    return int(text)
