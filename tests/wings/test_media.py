"""Files: their types, their extracted texts, and the refusal of bombs."""

from __future__ import annotations

import resource
import zipfile
from collections.abc import Mapping
from io import BytesIO

import pytest

from arvis.domain.messages import Attachment, FileKind
from arvis.media import MediaReader, path_of
from arvis.media.reading import LONGEST_TEXT
from arvis.media.sniffing import BINARY, DOCX, PDF, ZIP, sniff, sound_seconds, text_of
from arvis.ports.transcriber import Sound
from arvis.process.subprocesses import GuardedPrograms
from tests.flows.media_kit import archive, docx, pdf, pdf_bomb, png, wav

OGG = b"OggS\0\2" + bytes(20) + b"\1\x13OpusHead" + bytes(11)


def reader() -> MediaReader:
    return MediaReader(programs=GuardedPrograms())


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (png(), "x.txt", "image/png"),
        (b"\xff\xd8\xff\xe0" + bytes(16), "x", "image/jpeg"),
        (b"GIF89a" + bytes(16), "x.png", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "x", "image/webp"),
        (wav(), "x.ogg", "audio/wav"),
        (OGG, "x", "audio/ogg"),
        (b"ID3\4" + bytes(16), "x", "audio/mpeg"),
        (b"\xff\xfb\x90\x64" + bytes(16), "x", "audio/mpeg"),
        (b"\0\0\0\x1cftypM4A \0\0hdlr\0soun", "x", "audio/mp4"),
        (b"\0\0\0\x1cftypisom\0\0hdlr\0soun\0vide", "x", "video/mp4"),
        (b"\x1a\x45\xdf\xa3webm\x86\x86A_OPUS", "x", "audio/webm"),
        (b"\x1a\x45\xdf\xa3webm\x86\x86A_OPUS, and V_ by chance: V_V", "x", "audio/webm"),
        (b"\x1a\x45\xdf\xa3webm\x86\x85V_VP8\x86\x86A_OPUS", "x", "video/webm"),
        (pdf("x"), "x.txt", PDF),
        (docx("x"), "x.zip", DOCX),
        (archive({"a.txt": "x"}), "x.docx", ZIP),
        (b"# Title", "README.md", "text/markdown"),
        (b"a,b\n1,2", "t.CSV", "text/csv"),
        (b"{}", "x.json", "application/json"),
        (b"print()", "x.png", "text/plain"),
        (b"\x7fELF\2\1\1\0", "x.txt", BINARY),
        (b"", "x", "text/plain"),
        (b"\xff\xfeh\0i\0", "x", "text/plain"),
    ],
)
def test_bytes_say_what_a_file_is(data: bytes, name: str, expected: str) -> None:
    assert sniff(data, name) == expected


def test_texts_of_every_charset_are_read() -> None:
    for charset in ("utf-8", "utf-8-sig", "utf-16", "cp1252"):
        assert text_of("Grüße".encode(charset)) == "Grüße"
    assert text_of(b"gr\xfc\xdfe\x01") is None


def test_sounds_say_how_long_they_last() -> None:
    assert sound_seconds(wav(2), "audio/wav") == pytest.approx(2, abs=0.1)
    absurd = b"OggS\0\4" + (2**62).to_bytes(8, "little") + bytes(14)
    assert (sound_seconds(OGG + absurd, "audio/ogg") or 0) > 10**12
    assert sound_seconds(b"OggS", "audio/ogg") is None


async def test_documents_are_read() -> None:
    assert (await reader().read(pdf("Hello"), "a.pdf")).content == "Hello"
    assert (await reader().read(docx("Hello"), "a.docx")).content == "Hello"
    long = await reader().read(b"x" * (LONGEST_TEXT + 5), "a.txt")
    assert long.content.endswith("\n[… 5 more characters are left out]")


async def test_what_cannot_be_read_says_why() -> None:
    expected = {
        b"%PDF-1.4 nothing": "the document is damaged",
        pdf(""): "there is no text in the document (it may contain scanned pages)",
        archive({"a.txt": "x"}): "this kind of file cannot be read",
        bytes(range(256)): "this kind of file cannot be read",
        wav(): "voice messages cannot be transcribed here: no speech engine is set up",
        png(20_000, 20_000): (
            "the picture is too large: it has 20000 × 20000 pixels, and the limit is 40 megapixels with sides of at most 8000 pixels"
        ),
        png(0, 5): "the picture is damaged",
        png()[:20]: "the picture is damaged",
        png() + bytes(5_000_000): "the picture is too large: it has 5.0 MB, and the limit is 3.9 MB",
    }
    for data, problem in expected.items():
        assert (await reader().read(data, "x")).problem == problem


def bombs() -> Mapping[str, bytes]:
    """Return the bombs by kind."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("[Content_Types].xml", "")
        for number in range(3_000):
            packed.writestr(f"word/document{number}.xml", "")
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 9))
    entities = f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY l0 "{"ha" * 500}">{laughs}]><l>&l8;</l>'
    return {
        "a stream of a document": pdf_bomb(200_000_000),
        "a ratio": docx("a" * 80_000_000),
        "entries": made.getvalue(),
        "entities": archive({"[Content_Types].xml": entities, "word/document.xml": entities}),
        "a picture": png(60_000, 60_000),
    }


async def test_bombs_are_refused_politely_and_take_no_memory_here() -> None:
    made = bombs()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for kind, data in made.items():
        found = await reader().read(data, "x")
        assert found.problem, kind
        assert not found.content
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB


async def test_a_sound_that_lasts_too_long_is_not_heard() -> None:
    class Deaf:
        async def transcribe(self, sound: Sound) -> str:
            raise AssertionError

        async def close(self) -> None: ...

    media = MediaReader(programs=GuardedPrograms(), transcriber=Deaf(), minutes=0.01)
    found = await media.read(wav(2), "x", spoken=True)
    assert (found.kind, found.problem) == (FileKind.VOICE, "it is 0 minutes long, and the limit is 0 minutes")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plan.pdf", "files/abcdef-plan.pdf"),
        ("../../etc/passwd", "files/abcdef-passwd"),
        ("C:\\x\\Bericht Ä.docx", "files/abcdef-Bericht Ä.docx"),
        (".bashrc", "files/abcdef-bashrc"),
        ("a\n[b]$(c).txt", "files/abcdef-a_b_c_.txt"),
        ("..", "files/abcdef-file"),
        ("a" * 300 + ".tar.gz", f"files/abcdef-{'a' * 58}.gz"),
    ],
)
def test_files_have_harmless_names(name: str, expected: str) -> None:
    assert path_of(Attachment(name, "", 1, "abcdef0123")) == expected
