"""Handmade files such as people send, and a chat platform that stores them."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

from arvis.domain.messages import Attachment, FileKind, FileState
from arvis.ports.connector import FetchError
from tests.flows.scripted import RecordingConnector

_NAMES = "http://schemas.openxmlformats.org"
_TYPES = (
    f'<?xml version="1.0"?><Types xmlns="{_NAMES}/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    f'<?xml version="1.0"?><Relationships xmlns="{_NAMES}/package/2006/relationships"><Relationship Id="r1" '
    f'Type="{_NAMES}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>'
)
_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
_PAGE = (
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
)


def pdf(text: str) -> bytes:
    return pdf_of(f"BT /F1 12 Tf 10 100 Td ({text}) Tj ET".encode())


def pdf_of(stream: bytes, more: bytes = b"") -> bytes:
    """Return a PDF with one page, drawn by `stream`; `more` is added to the stream's dictionary."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        _PAGE,
        b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(stream), more, stream),
        _FONT,
    ]
    document, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(document))
        document += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    tail = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(document))
    return document + head + tail


def pdf_bomb(size: int) -> bytes:
    """Return a page whose drawing has this many bytes after unpacking."""
    packer, piece = zlib.compressobj(9), b" " * 1_000_000
    packed = b"".join(packer.compress(piece) for _ in range(size // len(piece))) + packer.flush()
    return pdf_of(packed, b"/Filter /FlateDecode")


def docx(text: str) -> bytes:
    body = f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"
    document = (
        f'<?xml version="1.0"?><w:document xmlns:w="{_NAMES}/wordprocessingml/2006/main"><w:body>{body}</w:body>'
        "</w:document>"
    )
    return archive({"[Content_Types].xml": _TYPES, "_rels/.rels": _RELATIONS, "word/document.xml": document})


def archive(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return made.getvalue()


def png(width: int = 2, height: int = 2) -> bytes:
    """Return a whole picture if it is small, else only the head of a large one."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    lines = zlib.compress((b"\0" + b"\x7f" * width) * height) if width * height < 10_000 else b""
    chunks = [(b"IHDR", header), (b"IDAT", lines), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def wav(seconds: float = 1.0) -> bytes:
    """Return silence."""
    samples = bytes(int(seconds * 8_000))
    head = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8_000, 8_000, 1, 8)
    return (
        b"RIFF"
        + struct.pack("<I", len(samples) + 36)
        + b"WAVE"
        + head
        + struct.pack("<4sI", b"data", len(samples))
        + samples
    )


def waiting(name: str, *, voice: bool = False) -> Attachment:
    """Return an attachment whose bytes are not fetched yet; its source is its name."""
    kind = FileKind.VOICE if voice else None
    return Attachment(name, "application/octet-stream", 0, "", state=FileState.WAITING, kind=kind, source=name)


class KeepingConnector(RecordingConnector):
    """A platform that stores `files`. A fetch raises the next of the file's `errors`, if there is one. `fetched` lists
    all attempts."""

    def __init__(self) -> None:
        super().__init__(safe_resend=True)
        self.files: dict[str, bytes] = {}
        self.errors: dict[str, list[FetchError]] = {}
        self.fetched: list[str] = []

    async def fetch(self, source: str, max_bytes: int) -> bytes:
        self.fetched.append(source)
        if errors := self.errors.get(source):
            raise errors.pop(0)
        if len(self.files[source]) > max_bytes:
            raise FetchError(f"it has {len(self.files[source])} bytes", permanent=True)
        return self.files[source]
