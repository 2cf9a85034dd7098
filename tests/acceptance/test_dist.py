"""The files of a release: two builds are equal, and the wheel answers a message on a machine without Node.js and
compilers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
import venv
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.acceptance.daemon import LINK, READY
from tests.architecture.test_installed_size import of_arvis
from tests.architecture.tree import ROOT, kept_files
from tests.parts import require

NODE_MODULES = Path("arvis", "web", "ui", "node_modules")
BUILD = [sys.executable, "-m", "hatchling", "build"]
#: The limit of the acceptance test in seconds: from the start of the daemon to the answer.
ANSWERED_IN = 60


def sources(folder: Path, umask: int) -> Path:
    """Copy the sources, with the packages that build the dashboard. Modes and times differ from those of the checkout."""
    before = os.umask(umask)
    try:
        for file in kept_files():
            place = folder / file.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.read_bytes())
            place.chmod((0o777 if os.access(file, os.X_OK) else 0o666) & ~umask)
    finally:
        os.umask(before)
    if (ROOT / NODE_MODULES).is_dir():
        shutil.copytree(ROOT / NODE_MODULES, folder / NODE_MODULES, symlinks=True)
    return folder


def built(folder: Path, environment: Mapping[str, str], umask: int) -> dict[str, bytes]:
    command = [*BUILD, "--directory", str(folder / "out")]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, umask=umask)
    return {file.name: file.read_bytes() for file in sorted((folder / "out").iterdir())}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the wheel and the sdist by their names. Both are built with the dashboard from the sources alone."""
    require("node")
    folder = sources(tmp_path_factory.mktemp("dist") / "one", 0o022)
    return built(folder, dict(os.environ), 0o022)


def test_two_builds_are_equal(dist: dict[str, bytes], tmp_path: Path) -> None:
    again = built(sources(tmp_path / "another folder", 0o077), {**os.environ, "TZ": "Asia/Tokyo"}, 0o077)
    assert sorted(Path(name).suffix for name in dist) == [".gz", ".whl"]
    assert again.keys() == dist.keys()
    assert [name for name in dist if again[name] != dist[name]] == []


def test_the_sdist_makes_the_same_wheel_without_node(dist: dict[str, bytes], tmp_path: Path) -> None:
    sdist, wheel = sorted(dist, key=lambda name: name.endswith(".whl"))
    (tmp_path / sdist).write_bytes(dist[sdist])
    with tarfile.open(tmp_path / sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / sdist.removesuffix(".tar.gz")
    command = [*BUILD, "--target", "wheel", "--directory", str(tmp_path / "out")]
    subprocess.run(command, cwd=folder, env={"PATH": ""}, check=True, capture_output=True)
    assert (tmp_path / "out" / wheel).read_bytes() == dist[wheel]


def empty_environment(folder: Path, wheel: Path) -> Path:
    """Create an environment with the wheel and the packages of the default install, and return its programs' folder.

    The packages are copied from this environment, so that the test needs no network."""
    venv.create(folder, with_pip=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    for name in of_arvis():
        for file in distribution(name).files or []:
            place = site / file
            if site in place.resolve().parents and file.suffix != ".pyc":
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file.locate(), place)
    command: list[str | Path] = [
        folder / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        wheel,
    ]
    subprocess.run(command, check=True)
    return folder / "bin"


def test_the_wheel_answers_where_node_and_compilers_are_missing(dist: dict[str, bytes], tmp_path: Path) -> None:
    (name,) = (name for name in dist if name.endswith(".whl"))
    (tmp_path / name).write_bytes(dist[name])
    programs = empty_environment(tmp_path / "venv", tmp_path / name)
    home = tmp_path / "home"
    home.mkdir()
    environment = {"PATH": str(programs), "HOME": str(home), "ARVIS__WEB__PORT": "0"}

    def arvis(*arguments: str) -> subprocess.CompletedProcess[str]:
        command: list[str | Path] = [programs / "arvis", *arguments, "--data", home / "data"]
        return subprocess.run(
            command, cwd=home, env=environment, capture_output=True, text=True, timeout=ANSWERED_IN, check=False
        )

    begun = time.monotonic()
    with (
        (home / "log").open("wb") as log,
        subprocess.Popen(
            [programs / "arvis", "run", "--data", home / "data"],
            cwd=home,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as daemon,
    ):
        try:
            assert daemon.stdout is not None
            lines = [daemon.stdout.readline(), daemon.stdout.readline()]
            assert READY.search(lines[0]), (home / "log").read_text()
            assert LINK.search(lines[1])
            said = arvis("chat", "hello")
            assert "hello" in said.stdout, said.stderr
            assert time.monotonic() - begun < ANSWERED_IN
            checks = json.loads(arvis("doctor", "--json").stdout)["checks"]
            assert not [check for check in checks if check["status"] == "fail"]
            refused = arvis("bots", "create", "discord", "--secret-env", "token=HOME")
            assert "pip install 'arvis[discord]'" in refused.stderr
        finally:
            daemon.terminate()
    assert daemon.returncode == 0
