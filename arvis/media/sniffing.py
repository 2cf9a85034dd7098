"""Detects the type of a file from its bytes, and the size of pictures and the length of sounds from their headers.
Pictures and sounds are not decoded. The name of a file only selects the kind of text, such as Markdown."""

from __future__ import annotations

import codecs
import io
import struct
from pathlib import PurePosixPath

from arvis.domain.regex import regex

PNG, JPEG, GIF, WEBP = "image/png", "image/jpeg", "image/gif", "image/webp"
PICTURES = frozenset({PNG, JPEG, GIF, WEBP})
OGG, WAV = "audio/ogg", "audio/wav"
PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
ZIP = "application/zip"
BINARY = "application/octet-stream"

_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"\xff\xd8\xff", JPEG),
    (b"GIF87a", GIF),
    (b"GIF89a", GIF),
    (b"OggS", OGG),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"#!AMR", "audio/amr"),
)
#: The number of bytes at the beginning of a file in which the mark of a PDF is searched. Other bytes may precede the
#: mark.
_PDF_SEARCHED = 1_024
#: The beginning of an MP3 stream without a file header: eleven bits set, layer III, a valid bit rate and sampling rate.
_MP3_SYNC = regex(
    rb"\xff[\xe2\xe3\xf2\xf3\xfa\xfb][\x10-\x1b\x20-\x2b\x30-\x3b\x40-\x4b\x50-\x5b\x60-\x6b\x70-\x7b"
    rb"\x80-\x8b\x90-\x9b\xa0-\xab\xb0-\xbb\xc0-\xcb\xd0-\xdb\xe0-\xeb]"
)
#: The number of bytes at the beginning of a Matroska file in which the codecs of the tracks are searched.
_HEAD = 65_536

#: The codec of a track in Matroska: the id of the element, the length, and a name such as A_OPUS. The pattern includes
#: the id and the length, because the letters of a name also occur by chance in compressed sound.
_TRACK = regex(rb"\x86[\x80-\xff]([AV])_[A-Z0-9]{2}")

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
#: Control bytes, which no text in an eight-bit charset contains.
_CONTROLS = bytes({*range(32), 127} - {9, 10, 12, 13, 27})

_FLAVOURS = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".json": "application/json",
    ".html": "text/html",
    ".htm": "text/html",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}


def sniff(data: bytes, filename: str) -> str:
    """Return the media type of the bytes, or `BINARY` if it is unknown. If the bytes are text, the ending of the name
    selects the kind of text."""
    for beginning, found in _BEGINNINGS:
        if data.startswith(beginning):
            return found
    if data[:4] == b"RIFF":
        return {b"WEBP": WEBP, b"WAVE": WAV}.get(data[8:12], BINARY)
    if data.startswith(b"\x1a\x45\xdf\xa3"):
        return "audio/webm" if set(_TRACK.findall(data[:_HEAD])) == {b"A"} else "video/webm"
    if data[4:8] == b"ftyp":
        return "audio/mp4" if b"soun" in data and b"vide" not in data else "video/mp4"
    if data.startswith(b"PK\x03\x04"):
        # An archive stores the names of its entries uncompressed, so it need not be unpacked.
        return DOCX if b"word/document" in data and b"[Content_Types].xml" in data else ZIP
    if b"%PDF-" in data[:_PDF_SEARCHED]:
        return PDF
    if _MP3_SYNC.match(data):
        return "audio/mpeg"
    if text_of(data) is None:
        return BINARY
    return _FLAVOURS.get(PurePosixPath(filename.lower()).suffix, "text/plain")


def text_of(data: bytes) -> str | None:
    """Return the bytes as text, or None if they are not text. The charsets are tried in this order: UTF-16 (only if its
    mark is present), UTF-8, and Windows-1252 (only if there are no control bytes)."""
    if data.startswith(_UTF_16):
        return _decoded(data, "utf-16")
    if b"\0" in data:
        return None
    text = _decoded(data, "utf-8-sig")
    if text is not None or data.translate(None, _CONTROLS) != data:
        return text
    return data.decode("cp1252", "replace")


def _decoded(data: bytes, charset: str) -> str | None:
    try:
        return data.decode(charset)
    except UnicodeDecodeError:
        return None


#: The limits of model vendors for a picture: the number of pixels, the length of a side in pixels, and the number of
#: bytes (5 MiB as base64).
MOST_PIXELS = 40_000_000
LONGEST_SIDE = 8_000
MOST_PICTURE_BYTES = 3_932_160

#: The samples per second of Opus in an Ogg file, regardless of the rate of the recording.
_OPUS_RATE = 48_000
_OGG_PAGE = b"OggS"


def picture_problem(data: bytes) -> str:
    """Return the reason why this picture cannot be sent to a model, or ""."""
    import imagesize  # type: ignore[import-untyped]  # noqa: PLC0415 (it ships no types, and brings an HTTP client)

    try:
        width, height = imagesize.get(io.BytesIO(data))
    except (ValueError, OSError, struct.error, IndexError, KeyError, TypeError, OverflowError):
        width, height = -1, -1
    if width <= 0 or height <= 0:
        return "the picture is damaged"
    if width * height > MOST_PIXELS or max(width, height) > LONGEST_SIDE:
        return (
            f"the picture is too large: it has {width} × {height} pixels, and the limit is "
            f"{MOST_PIXELS // 1_000_000} megapixels "
            f"with sides of at most {LONGEST_SIDE} pixels"
        )
    if len(data) > MOST_PICTURE_BYTES:
        return f"the picture is too large: it has {_mb(len(data))}, and the limit is {_mb(MOST_PICTURE_BYTES)}"
    return ""


def sound_seconds(data: bytes, content_type: str) -> float | None:
    """Return the length in seconds that an Ogg or WAV file declares. Return None if the file declares no length or has
    another type."""
    try:
        if content_type == OGG:
            return _ogg_seconds(data)
        return _wav_seconds(data) if content_type == WAV else None
    except (struct.error, ZeroDivisionError):
        return None


def _ogg_seconds(data: bytes) -> float | None:
    last = data.rfind(_OGG_PAGE)
    (position,) = struct.unpack_from("<q", data, last + 6)
    rate = _OPUS_RATE
    if (vorbis := data[:512].find(b"\x01vorbis")) >= 0:
        (rate,) = struct.unpack_from("<I", data, vorbis + 12)
    return float(position / rate) if position >= 0 else None


def _wav_seconds(data: bytes) -> float | None:
    found = data[:4_096].find(b"fmt ")
    if found < 0:
        return None
    (per_second,) = struct.unpack_from("<I", data, found + 16)
    return float(len(data) / per_second)


def _mb(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"
