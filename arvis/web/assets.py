"""The page and its parts, read once at the start. Only what was found then can be asked for, so no path leads out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

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
_MISSING = "This installation of Arvis has no page. Install it again from a complete checkout or wheel.\n"


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    media_type: str
    etag: str


class Page:
    """The files of `folder` whose type is known; `index.html` is the page itself."""

    def __init__(self, folder: Path) -> None:
        self._assets = {
            f"/{path.relative_to(folder).as_posix()}": _read(path)
            for path in sorted(folder.rglob("*.*"))
            if path.is_file() and path.suffix in _TYPES
        }
        if "/index.html" in self._assets:
            self._assets["/"] = self._assets["/index.html"]

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(self._assets) | {"/"}

    def routes(self) -> list[Route]:
        return [Route(path, self._serve, methods=["GET"]) for path in sorted(self.paths)]

    async def _serve(self, request: Request) -> Response:
        asset = self._assets.get(request.url.path)
        if asset is None:
            return PlainTextResponse(_MISSING, 404)
        headers = {"cache-control": "no-cache", "etag": asset.etag}
        if request.headers.get("if-none-match") == asset.etag:
            return Response(status_code=304, headers=headers)
        return Response(asset.content, headers=headers, media_type=asset.media_type)


def _read(path: Path) -> Asset:
    content = path.read_bytes()
    return Asset(content, _TYPES[path.suffix], f'"{hashlib.sha256(content).hexdigest()[:32]}"')
