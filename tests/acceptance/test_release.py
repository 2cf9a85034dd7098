"""The release command, in a repository of its own: with the sources of this checkout and a dashboard of one file."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.architecture.tree import ROOT, kept_files
from tests.parts import require

CHANGES = """# Changes

## [Unreleased]

The coming version is 0.2.0.

### Added

- Parrots.

## [0.0.1] - 2020-01-01

- An egg.
"""
RELEASED = """# Changes

## [Unreleased]

## [0.2.0] - DAY

### Added

- Parrots.

## [0.0.1] - 2020-01-01

- An egg.
"""
BUILD = """import { mkdirSync, writeFileSync } from "node:fs";
mkdirSync("../static", { recursive: true });
writeFileSync("../static/index.html.gz", CONTENT);
"""
#: npm makes no folder for a package without dependencies, but the build notes there what is installed.
SCRIPTS = {"build": "node build.mjs", "postinstall": "mkdir -p node_modules"}
PACKAGE = {"name": "ui", "version": "1.0.0", "private": True, "scripts": SCRIPTS}
LOCK = {"name": "ui", "version": "1.0.0", "lockfileVersion": 3, "requires": True, "packages": {"": {"name": "ui"}}}
_UI = Path("arvis", "web", "ui")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create the repository; each test gets a copy."""
    require("node")
    folder = tmp_path_factory.mktemp("release") / "arvis"
    for file in kept_files():
        name = file.relative_to(ROOT)
        if name.parts[0] in {"arvis", "connectors", "migrations"} and not name.is_relative_to(_UI):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, folder / name)
    for root_file in ("pyproject.toml", "hatch_build.py", "release.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copyfile(ROOT / root_file, folder / root_file)
    (folder / "arvis" / "__init__.py").write_text('"""Arvis."""\n\n__version__ = "0.1.0"\n')
    (folder / "CHANGELOG.md").write_text(CHANGES)
    (folder / _UI).mkdir()
    (folder / _UI / "package.json").write_text(json.dumps(PACKAGE))
    (folder / _UI / "package-lock.json").write_text(json.dumps(LOCK))
    (folder / _UI / "build.mjs").write_text(BUILD.replace("CONTENT", '"page"'))
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Ann")
    git(folder, "config", "user.email", "ann@example.com")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "Start")
    return folder


@pytest.fixture
def repository(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "arvis"))


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def change(repository: Path, name: str, old: str, new: str) -> None:
    file = repository / name
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def release(repository: Path, *version: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "release", *version]
    return subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)


def test_a_release_is_built_committed_tagged_and_not_pushed(repository: Path) -> None:
    done = release(repository, "0.2.0")
    assert done.returncode == 0, done.stderr
    wheel, sdist = repository / "dist" / "arvis-0.2.0-py3-none-any.whl", repository / "dist" / "arvis-0.2.0.tar.gz"
    assert sorted((repository / "dist").iterdir()) == [wheel, sdist]
    assert ZipFile(wheel).read("arvis/web/static/index.html.gz") == b"page"
    assert git(repository, "log", "--format=%s %an") == "Release 0.2.0 Ann\nStart Ann"
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "rev-parse", "v0.2.0^{commit}") == git(repository, "rev-parse", "HEAD")
    assert '__version__ = "0.2.0"' in (repository / "arvis" / "__init__.py").read_text()
    day = git(repository, "log", "-1", "--date=format-local:%Y-%m-%d", "--format=%cd")
    assert (repository / "CHANGELOG.md").read_text() == RELEASED.replace("DAY", day)
    assert "git push origin main v0.2.0" in done.stdout
    again = release(repository, "0.2.0")
    assert "0.2.0 cannot follow the version 0.2.0." in again.stderr
    empty = release(repository, "0.3.0")
    assert "The section Unreleased of CHANGELOG.md has no entry." in empty.stderr


@pytest.mark.parametrize("version", ["0.1.0", "0.0.9", "0.02.0", "v0.2.0", "next"])
def test_a_version_must_be_newer_and_in_normal_form(repository: Path, version: str) -> None:
    done = release(repository, version)
    assert done.returncode == 1
    assert f"{version} cannot follow the version 0.1.0." in done.stderr
    assert unchanged(repository)


def test_a_version_is_required(repository: Path) -> None:
    assert "The version is missing." in release(repository).stderr


def test_changes_that_are_not_committed_are_refused(repository: Path) -> None:
    change(repository, "README.md", "# Arvis", "# arvis")
    assert "changes that are not committed" in release(repository, "0.2.0").stderr
    git(repository, "checkout", "--", "README.md")
    (repository / "new.txt").touch()
    assert "changes that are not committed" in release(repository, "0.2.0").stderr


def test_a_tag_that_exists_is_refused(repository: Path) -> None:
    git(repository, "tag", "v0.2.0")
    assert "The tag v0.2.0 exists." in release(repository, "0.2.0").stderr


def test_builds_that_differ_leave_the_checkout_as_it_was(repository: Path) -> None:
    change(repository, "arvis/web/ui/build.mjs", '"page"', "process.cwd()")
    git(repository, "commit", "--quiet", "--all", "--message", "Start")
    done = release(repository, "0.2.0")
    assert done.returncode == 1
    assert "Two builds of the same commit differ: arvis-0.2.0-py3-none-any.whl, arvis-0.2.0.tar.gz." in done.stderr
    assert unchanged(repository)


def test_a_build_that_fails_leaves_the_checkout_as_it_was(repository: Path) -> None:
    change(repository, "arvis/web/ui/build.mjs", '"page"', "missing()")
    git(repository, "commit", "--quiet", "--all", "--message", "Start")
    done = release(repository, "0.2.0")
    assert done.returncode == 1
    assert "missing is not defined" in done.stderr
    assert unchanged(repository)


def unchanged(repository: Path) -> bool:
    subjects = set(git(repository, "log", "--format=%s").splitlines())
    clean = git(repository, "status", "--porcelain") == "" and git(repository, "tag") == ""
    return subjects == {"Start"} and clean and not (repository / "dist").exists()
