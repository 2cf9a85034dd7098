"""Archives of skills. An archive is decompressed with a limit before its entries are read, because a small archive can
expand to any size."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping

from arvis.skills.bundle import (
    LARGEST_FILE,
    LARGEST_SKILL,
    Bundle,
    bundle_of,
    is_left_out,
    refuse_name,
    refused,
    too_large,
    within_limits,
)
from arvis.skills.specification import SKILL_FILE, SKILL_FILES

#: The maximum number of bytes of an archive.
LARGEST_ARCHIVE = 6_291_456
#: The maximum number of bytes of the headers and the padding of a tar archive, in addition to its contents.
_TAR_OVERHEAD = 2_097_152
#: The readers of compressed files by the first bytes of a file.
_COMPRESSIONS: Mapping[bytes, Callable[[io.BytesIO], io.BufferedIOBase]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
_EPOCH = (1980, 1, 1, 0, 0, 0)

#: The first bytes of zip archives and compressed files. A tar archive contains `_TAR_MARK` at the offset
#: `_TAR_MARK_AT`.
_STARTS = (b"PK\x03\x04", *_COMPRESSIONS)
_TAR_MARK, _TAR_MARK_AT = b"ustar", 257

#: The methods of zip whose output `zipfile` can limit. For bzip2 and LZMA, `zipfile` expands a whole piece at once.
_ZIP_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})


def is_archive(data: bytes) -> bool:
    """Return True if these bytes begin like a zip archive, a tar archive or a compressed file."""
    return data.startswith(_STARTS) or data.startswith(_TAR_MARK, _TAR_MARK_AT)


def packed(bundle: Bundle) -> bytes:
    """Return the files as a zip archive. The same files give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in bundle.files.items():
            archive.writestr(zipfile.ZipInfo(path, _EPOCH), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def bundle_of_archive(data: bytes, inside: str | None = None, *, whole: bool = True) -> Bundle:
    """Read a zip or tar archive. The skill is the directory `inside` (None: the only directory that has a `SKILL.md`).
    If `whole` is True, the size of the archive is limited. Raise `Unprocessable` if the archive cannot be used."""
    if whole and len(data) > LARGEST_ARCHIVE:
        raise refused(f"the archive has more than {LARGEST_ARCHIVE:,} bytes")
    entries = _zipped(data) if data[:2] == b"PK" else _tarred(_decompressed(data))
    try:
        found = dict(within_limits(entries))
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise refused(f"the archive is damaged ({type(error).__name__})") from None
    return bundle_of(_below(found, _root_of(found, inside)))


def _zipped(data: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        left = LARGEST_SKILL
        for entry in archive.infolist():
            path = entry.filename.removeprefix("./")
            kind = stat.S_IFMT(entry.external_attr >> 16)
            if entry.is_dir():
                continue
            refuse_name(path)
            if is_left_out(path):
                continue
            if kind not in {0, stat.S_IFREG}:
                raise refused(f"{path[:60]!r} is a link or a device")
            if entry.flag_bits & 1:
                raise refused("the archive is encrypted")
            if entry.compress_type not in _ZIP_METHODS:
                raise refused("the zip archive uses a compression other than deflate")
            with archive.open(entry) as stream:
                content = stream.read(min(left, LARGEST_FILE) + 1)
            left -= len(content)
            if left < 0:
                raise too_large()
            yield path, content


def _decompressed(data: bytes) -> bytes:
    """Return these bytes decompressed. Bytes that are not compressed are returned unchanged."""
    opener = next((each for start, each in _COMPRESSIONS.items() if data.startswith(start)), None)
    if opener is None:
        return data
    limit = LARGEST_SKILL + _TAR_OVERHEAD
    try:
        with opener(io.BytesIO(data)) as opened:
            content = opened.read(limit + 1)
    except (OSError, EOFError, lzma.LZMAError, zlib.error, MemoryError):
        raise refused("the archive is damaged") from None
    if len(content) > limit:
        raise too_large()
    return content


def _tarred(data: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for entry in archive:
            path = entry.name.removeprefix("./")
            if entry.isdir():
                continue
            refuse_name(path)
            if is_left_out(path):
                continue
            if not entry.isreg():
                raise refused(f"{path[:60]!r} is a link or a device")
            stream = archive.extractfile(entry)
            content = stream.read(LARGEST_FILE + 1) if stream is not None else b""
            if len(content) < min(entry.size, LARGEST_FILE + 1):
                raise refused("the archive is damaged")
            yield path, content


def commit_of(data: bytes) -> str:
    """Return the id of the commit that `git archive` has stored in a tar archive; "" if the archive contains no id."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            archive.next()
            commit = archive.pax_headers.get("comment", "")
    except tarfile.TarError:
        return ""
    return commit if commit.isalnum() else ""


def _root_of(files: Mapping[str, bytes], inside: str | None) -> str:
    """Return the directory of the skill in an archive, with a slash at its end; "" if the skill is at the top of the
    archive."""
    if inside is not None:
        return f"{inside.strip('/')}/" if inside.strip("/") else ""
    roots = sorted({path.rpartition("/")[0] for path in files if path.rpartition("/")[2] in SKILL_FILES})
    # A directory below another skill belongs to that skill.
    top = [root for root in roots if not any(other != root and _is_below(root, other) for other in roots)]
    if not top:
        raise refused(f"it has no file {SKILL_FILE}")
    if len(top) > 1:
        shown = ", ".join(root or "." for root in top[:20])
        raise refused(f"it contains {len(top)} skills; name one of their directories: {shown}")
    return f"{top[0]}/" if top[0] else ""


def _is_below(path: str, root: str) -> bool:
    return root == "" or path.startswith(f"{root}/")


def _below(files: Mapping[str, bytes], root: str) -> Iterator[tuple[str, bytes]]:
    return ((path.removeprefix(root), data) for path, data in files.items() if path.startswith(root))
