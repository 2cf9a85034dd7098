"""The wheel contains what the repository holds: every data file, and no outdated copy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.architecture.tree import ROOT, kept_files, relative

UI = "arvis/web/ui/"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the names of the files in a wheel that is built from this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return set(ZipFile(built).namelist())


def test_every_file_of_the_packages_is_in_the_wheel(wheel: set[str]) -> None:
    names = {relative(file) for file in kept_files()}
    assert {name for name in names if name.startswith(("arvis/", "connectors/")) and not name.startswith(UI)} <= wheel


def test_the_dashboard_travels_built(wheel: set[str]) -> None:
    """Installing a wheel needs no Node.js: it contains the built dashboard, not the sources."""
    assert not [name for name in wheel if name.startswith(UI)]
    parts = {name for name in wheel if name.startswith("arvis/web/static/")}
    assert {"arvis/web/static/index.html.gz", "arvis/web/static/.stamp"} <= parts


def test_migrations_travel_with_the_package(wheel: set[str]) -> None:
    migrations = {f"arvis/_migrations/{file.name}" for file in (ROOT / "migrations").glob("*.sql")}
    assert migrations
    assert migrations <= wheel


def test_nothing_else_is_in_the_wheel(wheel: set[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"arvis", "connectors"}


def test_a_checkout_has_no_copy_of_the_migrations() -> None:
    assert not (ROOT / "arvis" / "_migrations").exists()
    assert not [folder for folder in sys.path if (Path(folder) / "arvis" / "_migrations").exists()]
