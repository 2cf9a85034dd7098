"""Files of a conversation's folder: which names a model may use, and which lead out of the folder."""

from __future__ import annotations

import json
import os
import socket
import stat
import threading
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from arvis.domain.errors import ToolError
from arvis.tools.workspace import read_bytes, write_bytes

LINES = Path(__file__).with_name("nasty_names.txt").read_text(encoding="utf-8").splitlines()
NASTY = [json.loads(line) for line in LINES if not line.startswith("#")]
SECRET = "canary"

#: Unusual but harmless names, which stay inside of the folder.
HARMLESS = [
    "...",
    "~",
    "-rf",
    "CON",
    "C:\\x",
    "\\\\host\\share",
    "%2e%2e/x",
    "a b",
    "ünï/東京.txt",
    ".hidden/x",
    "$HOME",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Create a folder with every kind of trap; the files next to it must not be touched."""
    (tmp_path / "secret").write_text(SECRET, encoding="utf-8")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text(SECRET, encoding="utf-8")
    folder = tmp_path / "workspace"
    for made in ("folder", "inner"):
        (folder / made).mkdir(parents=True)
    (folder / "file").write_text("mine", encoding="utf-8")
    for place in (folder, folder / "inner"):
        (place / "link").symlink_to(tmp_path / "secret")
        (place / "to_folder").symlink_to(tmp_path / "outside")
        (place / "hard").hardlink_to(tmp_path / "secret")
    (folder / "to_root").symlink_to("/")
    (folder / "to_self").symlink_to(".")
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to(tmp_path / "new")
    (folder / "chain").symlink_to("link")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
    try:
        os.mknod(folder / "device", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        (folder / "device").symlink_to("/dev/zero")
    return folder


def named(text: str, workspace: Path) -> str:
    text = text.replace("LONG_NAME", "n" * 300).replace("LONG_PATH", "/".join(["n" * 100] * 20))
    return text.replace("ROOT", str(workspace.parent))


def outside(workspace: Path) -> dict[str, str]:
    files = [file for file in workspace.parent.rglob("*") if workspace not in file.parents and file.is_file()]
    return {str(file): file.read_text(encoding="utf-8") for file in files}


def test_there_are_enough_of_them() -> None:
    assert len(set(NASTY)) >= 60


@pytest.mark.parametrize("name", NASTY, ids=ascii)
def test_no_name_reads_what_lies_outside(name: str, workspace: Path) -> None:
    with pytest.raises(ToolError) as caught:
        read_bytes(workspace, named(name, workspace), 100)
    assert caught.value.what.isprintable()


@pytest.mark.parametrize("name", NASTY, ids=ascii)
def test_no_name_writes_outside(name: str, workspace: Path) -> None:
    before = outside(workspace)
    with pytest.raises(ToolError):
        write_bytes(workspace, named(name, workspace), b"overwritten")
    assert outside(workspace) == before
    assert (workspace / "file").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", HARMLESS)
def test_a_strange_name_is_a_name(name: str, workspace: Path) -> None:
    before = outside(workspace)
    write_bytes(workspace, name, b"text")
    assert read_bytes(workspace, name, 100) == (b"text", 4)
    assert (workspace / name).is_file()
    assert outside(workspace) == before


def test_a_file_is_replaced_whole_and_private(workspace: Path) -> None:
    write_bytes(workspace, "file", b"first, and longer")
    write_bytes(workspace, "./folder//deep/er/file", b"new")
    write_bytes(workspace, "file", b"second")
    assert read_bytes(workspace, "file", 3) == (b"sec", 6)
    assert stat.S_IMODE((workspace / "file").stat().st_mode) == 0o600
    assert stat.S_IMODE((workspace / "folder/deep").stat().st_mode) == 0o700
    assert not list(workspace.rglob("*.part"))


def test_the_first_file_makes_the_workspace(tmp_path: Path) -> None:
    workspace = tmp_path / "a/b"
    with pytest.raises(ToolError, match="no such file"):
        read_bytes(workspace, "x", 1)
    write_bytes(workspace, "x", b"1")
    assert stat.S_IMODE(workspace.stat().st_mode) == 0o700


def test_a_workspace_that_is_a_link_is_none(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "workspace").symlink_to("outside")
    with pytest.raises(ToolError):
        write_bytes(tmp_path / "workspace", "x", b"1")
    assert not list((tmp_path / "outside").iterdir())


def test_a_folder_that_turns_into_a_link_leads_nowhere(workspace: Path) -> None:
    """Another thread replaces a folder by a link repeatedly, while files are written and read through it."""
    (workspace.parent / "outside/x").write_text(SECRET, encoding="utf-8")
    swaps, stop = workspace / "swaps", threading.Event()

    def swap() -> None:
        for number in count():
            for step in (
                lambda: swaps.rename(workspace / f"away-{number}"),  # noqa: B023 (called at once)
                lambda: swaps.symlink_to(workspace.parent / "outside"),
                swaps.unlink,
                swaps.mkdir,
            ):
                with suppress(OSError):
                    step()
            if stop.is_set():
                return

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(500):
            for act in (
                lambda: write_bytes(workspace, "swaps/x", b"mine"),
                lambda: read_bytes(workspace, "swaps/x", 9),
            ):
                try:
                    assert act() in (None, (b"mine", 4))
                except ToolError:
                    continue
    finally:
        stop.set()
        thread.join()
    assert (workspace.parent / "outside/x").read_text(encoding="utf-8") == SECRET
