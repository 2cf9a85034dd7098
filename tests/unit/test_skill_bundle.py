"""The files of a skill: directories, archives, and everything that an archive must not contain."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from arvis.domain.errors import Unprocessable
from arvis.skills.archives import bundle_of_archive, is_archive, packed
from arvis.skills.bundle import LARGEST_FILE, MOST_FILES, Bundle, bundle_of_folder

TEXT = b"---\nname: pdf\ndescription: Reads PDF files.\n---\n# Steps\n"
FILES = {"SKILL.md": TEXT, "references/FORMS.md": b"Forms", "scripts/read.py": b"print(1)\n"}


def zipped(files: dict[str, bytes], mode: int = stat.S_IFREG | 0o644, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            archive.writestr(entry, data, method)
    return buffer.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w:gz", kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]  # a mode of three
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.type, entry.linkname = len(data) if kind == tarfile.REGTYPE else 0, kind, target
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def test_the_same_files_give_the_same_digest_from_every_source(tmp_path: Path) -> None:
    for path, data in FILES.items():
        file = tmp_path / "pdf" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    (tmp_path / "pdf" / ".git").mkdir()
    (tmp_path / "pdf" / ".git" / "config").write_text("left out")
    of_folder = bundle_of_folder(tmp_path / "pdf")
    below = {f"repository-1.0/skills/pdf/{path}": data for path, data in FILES.items()} | {
        "repository-1.0/README.md": b""
    }
    archives = [zipped(FILES), zipped(below), *(tarred(below, f"w:{way}") for way in ("", "gz", "bz2", "xz"))]
    assert [is_archive(archive) for archive in (*archives, TEXT, b"")] == [True] * 6 + [False] * 2
    for bundle in (of_folder, *map(bundle_of_archive, archives), bundle_of_archive(packed(of_folder))):
        assert (bundle.files, bundle.digest) == (FILES, of_folder.digest)
    assert Bundle({**FILES, "scripts/read.py": b"print(2)\n"}).digest != of_folder.digest
    assert packed(of_folder) == packed(Bundle(dict(reversed(FILES.items()))))


def test_an_archive_of_several_skills_needs_a_choice() -> None:
    data = zipped(
        {"skills/a/SKILL.md": TEXT, "skills/b/SKILL.md": TEXT, "skills/b/x.txt": b"x", "skills/b/n/SKILL.md": TEXT}
    )
    with pytest.raises(Unprocessable, match=r"2 skills.*skills/a, skills/b"):
        bundle_of_archive(data)
    assert list(bundle_of_archive(data, "skills/b").files) == ["SKILL.md", "n/SKILL.md", "x.txt"]
    with pytest.raises(Unprocessable, match=r"no file SKILL\.md"):
        bundle_of_archive(data, "skills")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (lambda: zipped({"SKILL.md": TEXT, "../up.md": b"x"}), "leads out"),
        (lambda: zipped({"SKILL.md": TEXT, "/etc/x": b"x"}), "absolute"),
        (lambda: zipped({"SKILL.md": TEXT, "C:/x": b"x"}), "absolute"),
        (lambda: zipped({"SKILL.md": TEXT, "a/b\u202e.md": b"x"}), "not visible"),
        (lambda: zipped({"SKILL.md": TEXT, "x/" * 9 + "y": b"x"}), "too long"),
        (lambda: zipped({"SKILL.md": TEXT, "A.md": b"1", "a.md": b"2"}), "two files"),
        (lambda: zipped({"SKILL.md": b"/etc/passwd"}, stat.S_IFLNK | 0o777), "link or a device"),
        (lambda: zipped({"SKILL.md": TEXT, "big": b"\0" * (LARGEST_FILE + 1)}), "bytes"),
        (lambda: zipped({"SKILL.md": TEXT, **{f"{n}": b"\0" * LARGEST_FILE for n in range(3)}}), "bytes"),
        (lambda: zipped({"SKILL.md": TEXT, **{f"f{n}": b"" for n in range(MOST_FILES)}}), "files"),
        (
            lambda: zipped({"SKILL.md": TEXT, "big": b"\0" * 90_000_000}, method=zipfile.ZIP_BZIP2),
            "a compression other than deflate",
        ),
        (lambda: zipped(FILES)[:-30], "damaged"),
        (lambda: zipped({"README.md": TEXT}), r"no file SKILL\.md"),
        (lambda: tarred({"SKILL.md": b""}, kind=tarfile.SYMTYPE, target="/etc/passwd"), "link or a device"),
        (lambda: tarred({"SKILL.md": b""}, kind=tarfile.LNKTYPE, target="/etc/passwd"), "link or a device"),
        (lambda: tarred({"SKILL.md": b""}, kind=tarfile.CHRTYPE), "link or a device"),
        (lambda: tarred({"../SKILL.md": TEXT}), "leads out"),
        (lambda: gzip.compress(b"\0" * 60_000_000), "bytes"),
        (lambda: tarred(FILES)[:-20], "damaged"),
        (lambda: b"hello", "damaged"),
        (lambda: os.urandom(7_000_000), "bytes"),
    ],
)
def test_refused_contents_of_archives(data: Callable[[], bytes], why: str) -> None:
    with pytest.raises(Unprocessable, match=why):
        bundle_of_archive(data())


def test_refused_contents_of_directories(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_bytes(TEXT)
    link = tmp_path / "link"
    for target in ("/etc/passwd", "/etc", str(tmp_path / "SKILL.md")):
        link.symlink_to(target)
        with pytest.raises(Unprocessable, match="link"):
            bundle_of_folder(tmp_path)
        link.unlink()
    os.mkfifo(link)
    with pytest.raises(Unprocessable, match="regular"):
        bundle_of_folder(tmp_path)
