"""The daemon's log over HTTP: lines with filters, the newest first, and whole files."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from starlette.responses import FileResponse, Response

from arvis.domain.errors import NotFound, Unprocessable
from arvis.web.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.identity import OPERATE
from arvis.web.log_files import LEVELS, Line, Lines, Wanted, days_of, file_of, place_of, read_back
from arvis.web.schemas import INTEGER, LABEL, STRING, TIME, Schema, array, one_of, optional, record

_WHOLE = re.compile(r"\d{1,15}", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DAY_SCHEMA: Schema = {**STRING, "pattern": f"^{_DAY.pattern}$", "description": "Such as 2026-07-01 (UTC)."}

LINE = record(
    {
        "id": {**STRING, "description": "Its place; it stays."},
        "at": optional(TIME),
        "level": one_of(LEVELS),
        "logger": STRING,
        "event": STRING,
        "exception": {**optional(STRING), "description": "A traceback."},
        "fields": {"type": "object", "description": "What else the line says: texts, numbers, true, false, null."},
    }
)
LINES = record(
    {
        "items": array(LINE),
        "nextCursor": {**optional(STRING), "description": "There may be more even where `items` is empty."},
    }
)
DAYS = record({"items": array(record({"day": _DAY_SCHEMA, "bytes": INTEGER})), "nextCursor": optional(STRING)})


class LogRoutes:
    """`folder` is that of the daemon's log files."""

    def __init__(self, *, folder: Path) -> None:
        self._folder = folder

    def endpoints(self) -> list[Endpoint]:
        path = "/api/logs"
        filters: dict[str, Schema] = {
            "level": {**one_of(LEVELS), "description": "This one or a graver one."},
            "logger": {**LABEL, "description": "Names that begin with this."},
            "q": {**LABEL, "description": "Anywhere in the line, whatever its case."},
            "since": TIME,
            "until": TIME,
        }
        day = {"day": _DAY_SCHEMA}
        return [
            Endpoint(
                "GET",
                path,
                "Lines of the log, newest first",
                OPERATE,
                self._list,
                {200: LINES},
                query={**PAGING, **filters},
            ),
            Endpoint("GET", f"{path}/days", "Days that have a file", OPERATE, self._days, {200: DAYS}),
            Endpoint(
                "GET",
                f"{path}/download",
                "The file of a day",
                OPERATE,
                self._download,
                {200: STRING},
                query=day,
                media="application/x-ndjson",
            ),
        ]

    async def _list(self, call: Call) -> Response:
        cursor = call.query("cursor")
        start = place_of(cursor) if cursor is not None else None
        if cursor is not None and start is None:
            raise Unprocessable("`cursor` must be `nextCursor` of the page before.", fix="Begin without a cursor.")
        found = await asyncio.to_thread(read_back, self._folder, _wanted(call), start, call.limit)
        return answer(_view(found))

    async def _days(self, _: Call) -> Response:
        days = await asyncio.to_thread(days_of, self._folder)
        return answer({"items": [{"day": day, "bytes": size} for day, size in days], "nextCursor": None})

    async def _download(self, call: Call) -> Response:
        day = call.query("day")
        if day is None or not _DAY.fullmatch(day):
            raise Unprocessable("`day` must be a day such as 2026-07-01.", fix="GET /api/logs/days lists them.")
        file = await asyncio.to_thread(file_of, self._folder, day)
        if file is None:
            raise NotFound("There is no log of this day.", fix="GET /api/logs/days lists the days.")
        return FileResponse(file, media_type="application/x-ndjson", filename=file.name)


def _wanted(call: Call) -> Wanted:
    level = call.query("level") or "debug"
    if level not in LEVELS:
        raise Unprocessable(f"`level` must be one of {', '.join(LEVELS)}.", fix="Choose one.")
    return Wanted(level, call.query("logger") or "", call.query("q") or "", _time(call, "since"), _time(call, "until"))


def _time(call: Call, name: str) -> int | None:
    text = call.query(name)
    if text is None:
        return None
    if not _WHOLE.fullmatch(text):
        raise Unprocessable(f"`{name}` must be milliseconds since 1970.", fix="Send a whole number.")
    return int(text)


def _view(lines: Lines) -> dict[str, Any]:
    return {"items": [_line(line) for line in lines.found], "nextCursor": lines.cursor}


def _line(line: Line) -> dict[str, Any]:
    return {
        "id": line.id,
        "at": line.at,
        "level": line.level,
        "logger": line.logger,
        "event": line.event,
        "exception": line.exception or None,
        "fields": dict(line.fields),
    }
