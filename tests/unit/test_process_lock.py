"""The data folder: private, locked by one process, with files that are created once."""

from __future__ import annotations

import itertools
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from arvis.domain.errors import ConfigError, DataFolderInUse
from arvis.process.data_folder import DataFolder, api_key_file, hold_data_folder

HOLDER = """
import sys, pathlib
from arvis.process.data_folder import hold_data_folder
with hold_data_folder(pathlib.Path(sys.argv[1]), new_id=lambda: "id", new_key=lambda: "key"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def hold(path: Path) -> AbstractContextManager[DataFolder]:
    numbers = itertools.count(1)
    return hold_data_folder(
        path, new_id=lambda: f"id-{next(numbers)}-{os.urandom(4).hex()}", new_key=lambda: "secret-key"
    )


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_and_what_is_made_in_it_are_private(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "data"
    with hold(path) as folder:
        (folder.path / "later").write_text("x", encoding="utf-8")
        folder.logs.mkdir()

        assert folder.private
        assert mode(path) == 0o700
        assert {mode(file) for file in path.iterdir() if file.is_file()} == {0o600}
        assert mode(folder.logs) == 0o700


def test_a_folder_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    api_key_file(tmp_path).write_text("old\n", encoding="utf-8")

    with hold(tmp_path) as folder:
        assert folder.api_key == "old"
    assert mode(tmp_path) == 0o700
    assert mode(api_key_file(tmp_path)) == 0o600


def test_the_umask_comes_back(tmp_path: Path) -> None:
    with hold(tmp_path):
        pass
    assert os.umask(0o022) == 0o022


def test_node_and_key_stay_and_each_boot_is_new(tmp_path: Path) -> None:
    with hold(tmp_path) as first:
        pass
    with hold(tmp_path) as second:
        pass

    assert (first.first_start, second.first_start) == (True, False)
    assert first.node_id == second.node_id
    assert first.boot_id != second.boot_id
    assert first.api_key == second.api_key == api_key_file(tmp_path).read_text(encoding="utf-8").strip()
    assert "secret-key" not in repr(first)


def test_a_file_that_a_crash_left_empty_is_made_again(tmp_path: Path) -> None:
    with hold(tmp_path):
        pass
    (tmp_path / "node-id").write_text("", encoding="utf-8")

    with hold(tmp_path) as folder:
        assert folder.node_id
    assert (tmp_path / "node-id").read_text(encoding="utf-8").strip() == folder.node_id


def test_a_second_holder_is_refused_and_told_the_process(tmp_path: Path) -> None:
    with hold(tmp_path), pytest.raises(DataFolderInUse) as caught, hold(tmp_path):
        pass

    assert f"process {os.getpid()}" in caught.value.why
    assert "--data" in caught.value.fix


def test_another_process_is_refused_until_the_holder_dies(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"

        with pytest.raises(DataFolderInUse) as caught, hold(tmp_path):
            pass
        assert f"process {holder.pid}" in caught.value.why

        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with hold(tmp_path) as folder:
            assert folder.node_id == "id"


def test_an_unusable_path_is_a_configuration_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")

    with pytest.raises(ConfigError) as caught, hold(file):
        pass

    assert str(file) in caught.value.what
    assert "--data" in caught.value.fix


def test_an_error_inside_the_block_is_not_dressed_up_and_frees_the_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), hold(tmp_path):
        raise FileNotFoundError
    with hold(tmp_path) as folder:
        assert folder.path == tmp_path


@pytest.mark.parametrize("name", ["api-key.new", "node-id.new"])
def test_a_planted_link_is_not_written_through(tmp_path: Path, name: str) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "data"
    victim.write_text("precious", encoding="utf-8")
    folder.mkdir()
    (folder / name).symlink_to(victim)

    with hold(folder):
        assert victim.read_text(encoding="utf-8") == "precious"
        assert not api_key_file(folder).is_symlink()


@pytest.mark.parametrize("name", ["api-key", "node-id"])
def test_a_link_instead_of_a_key_is_refused(tmp_path: Path, name: str) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "data"
    victim.write_text("known to others", encoding="utf-8")
    victim.chmod(0o644)
    folder.mkdir()
    (folder / name).symlink_to(victim)

    with pytest.raises(ConfigError, match="cannot be used"), hold(folder):
        pass
    assert mode(victim) == 0o644
