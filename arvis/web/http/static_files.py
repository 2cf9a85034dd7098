"""The dashboard's files, and responses with stored files.

The list of the dashboard's files is built once at the start, so a path cannot lead outside their folder. The bytes of a
file are read at each request, so that they take no memory. All pages of the dashboard are one document. A browser gets
this document for the path of each page, and with status 404 for each unknown path.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import re
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex

# Stored files. A browser displays, plays or saves them, but never runs them.


#: The first bytes of the file types that a page may display or play. The type is not taken from the file name, because
#: the sender chose the name.
_BEGINNINGS: Mapping[bytes, str] = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"OggS": "audio/ogg",
    b"ID3": "audio/mpeg",
    b"fLaC": "audio/flac",
    b"\x1aE\xdf\xa3": "audio/webm",
}
#: Types of RIFF files, by the four bytes at offset 8.
_RIFF: Mapping[bytes, str] = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_BYTES = "application/octet-stream"


def sniffed(data: bytes) -> str:
    """Detect the content type of a file by its first bytes. Only raster images and audio are recognised; all other
    files get the type `application/octet-stream`."""
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], _BYTES)
    if data[4:8] == b"ftyp" and data[8:11] == b"M4A":
        return "audio/mp4"
    return next((kind for beginning, kind in _BEGINNINGS.items() if data.startswith(beginning)), _BYTES)


def file_response(data: bytes, filename: str) -> Response:
    """Return a response with a file. The browser displays the file if its type is safe, and otherwise saves it."""
    kind = sniffed(data)
    way = "attachment" if kind == _BYTES else "inline"
    headers = {
        "Content-Disposition": f"{way}; filename*=UTF-8''{quote(filename, safe='')}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
    }
    return Response(data, media_type=kind, headers=headers)


_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_MISSING = """This installation of Arvis has no dashboard: it was installed with ARVIS_SKIP_UI=1, or it is incomplete.
Build it in a checkout with `make run` (which needs Node.js 20.19 or newer), or install a wheel. The API and the command
line work without it.
"""
_INDEX = "/index.html"
#: Matches `gzip` in a header, but not `gzip;q=0`, which refuses gzip.
_GZIP = regex(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))", re.IGNORECASE)

#: The folder of files whose names contain a hash of their content. A browser can cache them, because they never change.
_LASTING = "/assets/"
_FOREVER = "public, max-age=31536000, immutable"

#: The first path segments of the dashboard's pages. The document is served for each of these paths and for all paths
#: below them.
ADDRESSES = frozenset(
    {
        "chat",
        "now",
        "queue",
        "schedules",
        "questions",
        "agents",
        "evaluations",
        "memory",
        "knowledge",
        "skills",
        "projects",
        "conversations",
        "executions",
    }
    | {"usage", "settings", "messages", "notifications", "welcome", "workflows"}
)


@dataclass(frozen=True, slots=True)
class Asset:
    file: Path
    compressed: bool
    media_type: str


class Page:
    """The dashboard: the files in `folder` whose type is known, and their routes. The build compresses the larger files
    (`.gz`). A client that does not accept gzip gets the decompressed content."""

    def __init__(self, folder: Path) -> None:
        self._assets = _assets_in(folder)

    def opens(self, path: str) -> bool:
        """Return whether a link on another site may open this path."""
        before, _, rest = path.partition("/")
        return path == "/" or path in self._assets or (not before and rest.partition("/")[0] in ADDRESSES)

    def routes(self) -> list[Route]:
        pages = [f"/{first}{rest}" for first in sorted(ADDRESSES) for rest in ("", "/{rest:path}")]
        others = [path for path in sorted(self._assets) if not path.startswith(_LASTING)]
        routes = [Route(path, self._serve, methods=["GET"]) for path in ("/", *pages, *others)]
        return [*routes, Route(f"{_LASTING}{{name}}", self._serve_asset, methods=["GET"])]

    async def missing(self, request: Request) -> Response:
        """Return the document with status 404, for a browser that opened an unknown address. The document then displays
        the error."""
        response = await self._serve(request)
        if response.status_code == HTTPStatus.OK:
            response.status_code = HTTPStatus.NOT_FOUND
        return response

    async def _serve_asset(self, request: Request) -> Response:
        if request.url.path not in self._assets:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return await self._serve(request)

    async def _serve(self, request: Request) -> Response:
        path = request.url.path if request.url.path in self._assets else _INDEX
        asset = self._assets.get(path)
        if asset is None:
            return PlainTextResponse(_MISSING, 404)
        content = asset.file.read_bytes()
        packed = asset.compressed and _GZIP.search(request.headers.get("accept-encoding", "")) is not None
        if asset.compressed and not packed:
            content = gzip.decompress(content)
        headers = {
            "cache-control": _FOREVER if path.startswith(_LASTING) else "no-cache",
            "etag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
            "vary": "accept-encoding",
        }
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        if packed:
            headers["content-encoding"] = "gzip"
        return Response(content, headers=headers, media_type=asset.media_type)


@functools.cache
def _assets_in(folder: Path) -> Mapping[str, Asset]:
    """Return the files by path. Files whose name begins with a dot are internal files of the build."""
    found = {}
    for file in sorted(folder.rglob("*.*")):
        compressed = file.suffix == ".gz"
        name = file.relative_to(folder).as_posix().removesuffix(".gz")
        kind = _TYPES.get(Path(name).suffix)
        if kind is not None and file.is_file() and not any(part.startswith(".") for part in name.split("/")):
            found[f"/{name}"] = Asset(file, compressed, kind)
    return found
