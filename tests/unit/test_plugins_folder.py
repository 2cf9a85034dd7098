"""A conversation's whole folder is listed and deleted without following links out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from arvis.tools.workspace import list_files, remove_folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "precious.txt").write_text("keep me")
    return folder


def test_files_are_listed_in_order_without_links_and_pipes(tmp_path: Path, outside: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "b").mkdir(parents=True)
    (workspace / "b" / "2.txt").write_text("22")
    (workspace / "1.txt").write_text("1")
    (workspace / "link").symlink_to(outside)
    (workspace / "file").symlink_to(outside / "deep" / "precious.txt")
    os.mkfifo(workspace / "pipe")
    (workspace / "two\nlines").write_text("x")
    assert list_files(workspace, 10).files == (("1.txt", 1), ("b/2.txt", 2))
    assert list_files(workspace, 1).lines == ["1.txt (1 bytes)", "… and 1 more"]


def test_what_is_no_folder_is_empty(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "link").symlink_to(outside)
    (tmp_path / "file").write_text("x")
    assert [list_files(tmp_path / name, 9).files for name in ("none", "link", "file")] == [(), (), ()]


def test_a_folder_goes_with_all_that_is_in_it_and_nothing_else(tmp_path: Path, outside: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "a" / "b").mkdir(parents=True)
    (workspace / "a" / "b" / "x.txt").write_text("x")
    (workspace / "a" / "link").symlink_to(outside)
    os.link(outside / "deep" / "precious.txt", workspace / "hard.txt")
    remove_folder(workspace)
    remove_folder(workspace)
    assert not workspace.exists()
    assert (outside / "deep" / "precious.txt").read_text() == "keep me"


def test_a_folder_that_was_exchanged_for_a_link_is_only_a_link(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "workspace").symlink_to(outside)
    remove_folder(tmp_path / "workspace")
    assert not os.path.lexists(tmp_path / "workspace")
    assert (outside / "deep" / "precious.txt").exists()
