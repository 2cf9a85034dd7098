"""Decompress the bodies of answers piece by piece, within limits: small compressed data may expand without end
(reliability.md §5.6).

Only the requested encodings are accepted, and only one of them at a time: anything else is an error, never a guess.
"""

from __future__ import annotations

import zlib

from arvis.domain.errors import FetchFailed

#: The value of `Accept-Encoding`.
ACCEPTED = "gzip, deflate"
#: Below this many bytes the ratio is not checked: a small page may be full of blanks.
_FREE = 65_536
_LARGEST_RATIO = 20
_LARGEST = 50_000_000
_PIECE = 65_536
#: The low four bits of the first byte distinguish deflate inside zlib's wrapping from the bare form that some servers
#: send.
_ZLIB_METHOD = 8


class Unpacker:
    """Collects at most `limit` bytes of a body. `full`: the body is longer, and no more bytes are taken.

    `feed` and `finish` raise `FetchFailed`.
    """

    def __init__(self, *, encoding: str, limit: int) -> None:
        self._encoding = encoding.strip().lower()
        if self._encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
            raise FetchFailed("The answer is compressed in a way that was not requested.")
        self._packed = self._encoding not in {"", "identity"}
        self._limit = min(limit, _LARGEST)
        self._inflater: zlib._Decompress | None = None
        self._taken = 0
        self._body = bytearray()

    @property
    def full(self) -> bool:
        return len(self._body) > self._limit

    def feed(self, chunk: bytes) -> None:
        if not self._packed:
            self._body += chunk[: self._limit + 1 - len(self._body)]
            return
        if self._taken > self._limit + _FREE:
            raise FetchFailed("The answer expands more than compressed data should.")
        inflater = self._inflater = self._inflater or _inflater(self._encoding, chunk)
        while chunk and not self.full and not inflater.eof:
            before = len(chunk)
            self._body += _inflate(inflater, chunk, min(_PIECE, self._limit + 1 - len(self._body)))
            chunk = inflater.unconsumed_tail
            self._taken += before - len(chunk)
            self._check_ratio()

    def finish(self) -> bytes:
        """Return the body, after the last piece or once it is full."""
        if self._inflater is not None and not self._inflater.eof and not self.full:
            raise FetchFailed("The answer ended early.")
        return bytes(self._body[: self._limit])

    def _check_ratio(self) -> None:
        if len(self._body) > max(_FREE, _LARGEST_RATIO * self._taken):
            raise FetchFailed(f"The answer expands more than {_LARGEST_RATIO} times when it is decompressed.")


def _inflater(encoding: str, start: bytes) -> zlib._Decompress:
    if encoding != "deflate":
        return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    wrapped = start[0] & 0x0F == _ZLIB_METHOD
    return zlib.decompressobj(wbits=zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)


def _inflate(inflater: zlib._Decompress, chunk: bytes, room: int) -> bytes:
    try:
        return inflater.decompress(chunk, room)
    except zlib.error:
        raise FetchFailed("The answer is damaged and cannot be decompressed.") from None
