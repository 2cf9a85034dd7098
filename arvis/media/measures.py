"""Measure the size of pictures and the length of sounds by their headers: nothing is decoded."""

from __future__ import annotations

import io
import struct

from arvis.media.sniffing import OGG, WAV

#: The maximums of vendors: pixels, pixels of a side, and bytes (5 MiB as base64).
MOST_PIXELS = 40_000_000
LONGEST_SIDE = 8_000
MOST_PICTURE_BYTES = 3_932_160

#: Samples per second of Opus in an Ogg file, regardless of the source.
_OPUS_RATE = 48_000
_OGG_PAGE = b"OggS"


def picture_problem(data: bytes) -> str:
    """Return why this picture is sent to no model; "" when it may be."""
    import imagesize  # type: ignore[import-untyped]  # noqa: PLC0415 (it ships no types, and brings an HTTP client)

    try:
        width, height = imagesize.get(io.BytesIO(data))
    except (ValueError, OSError, struct.error, IndexError, KeyError, TypeError, OverflowError):
        width, height = -1, -1
    if width <= 0 or height <= 0:
        return "the picture is damaged"
    if width * height > MOST_PIXELS or max(width, height) > LONGEST_SIDE:
        return (
            f"the picture is too large: {width} × {height} pixels, and {MOST_PIXELS // 1_000_000} megapixels with sides "
            f"of {LONGEST_SIDE} are allowed"
        )
    if len(data) > MOST_PICTURE_BYTES:
        return f"the picture is too large: {_mb(len(data))}, and {_mb(MOST_PICTURE_BYTES)} are allowed"
    return ""


def sound_seconds(data: bytes, content_type: str) -> float | None:
    """Return the length that the file itself declares; None when it has none at a known place."""
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
