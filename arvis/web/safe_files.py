"""Stored bytes as browsers may have them: to keep, never to run."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from starlette.responses import Response

#: Beginnings of files that a page may show or play by themselves, and what they are. What the sender called a file does not
#: count: nothing that came from outside is to be run.
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
#: Of what begins with RIFF, by its word at 8.
_RIFF: Mapping[bytes, str] = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_BYTES = "application/octet-stream"


def sniffed(data: bytes) -> str:
    """The type by the first bytes; what is no raster picture and no sound is bytes."""
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], _BYTES)
    if data[4:8] == b"ftyp" and data[8:11] == b"M4A":
        return "audio/mp4"
    return next((kind for beginning, kind in _BEGINNINGS.items() if data.startswith(beginning)), _BYTES)


def file_response(data: bytes, filename: str) -> Response:
    """What can be shown safely is shown in its place; everything else is kept."""
    kind = sniffed(data)
    way = "attachment" if kind == _BYTES else "inline"
    headers = {
        "Content-Disposition": f"{way}; filename*=UTF-8''{quote(filename, safe='')}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
    }
    return Response(data, media_type=kind, headers=headers)
