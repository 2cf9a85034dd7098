"""Prepares a release: `python -m release VERSION`. Nothing is pushed or uploaded.

The release is made in a temporary clone. The version and the changelog are changed and committed there. The wheel and
the sdist are built twice, from two clones. The checkout gets the commit, the tag and the files in `dist/` only if both
builds are equal. So a failed build leaves the checkout unchanged.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn
from zipfile import ZipFile

from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parent
VERSION_FILE, CHANGES = Path("arvis/__init__.py"), Path("CHANGELOG.md")
_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
#: The section of the changelog that becomes the section of the release: its heading and its text.
_UNRELEASED = re.compile(r"^## \[Unreleased\]\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
#: The line that announces the next version. The heading of the release replaces this line.
_COMING = re.compile(r"^The coming version is .*\n\n?", re.MULTILINE)
_DASHBOARD = "arvis/web/static/index.html.gz"


def main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        _refuse("The version is missing.", "Name it: python -m release 1.2.3 (or make release VERSION=1.2.3).")
    (version,) = arguments
    tag = f"v{version}"
    check(version, tag)
    with tempfile.TemporaryDirectory(prefix="arvis-release-") as folder:
        first, second = Path(folder, "first"), Path(folder, "second")
        clone(ROOT, first)
        stamp(first, version, datetime.now(UTC).date().isoformat())
        commit(first, version)
        clone(first, second)
        files = compare(build(first), build(second))
        take_over(first, tag)
    write(files)
    report(files, tag)


def check(version: str, tag: str) -> None:
    """Refuse the release if the checkout or the version cannot be released."""
    if _git(ROOT, "status", "--porcelain"):
        _refuse("The checkout has changes that are not committed.", "Commit or remove them: git status.")
    current = _found(_VERSION, VERSION_FILE)[1]
    if not _is_newer(version, current):
        _refuse(
            f"{version} cannot follow the version {current}.",
            "Name a newer version in its normal form, such as 1.2.3 or 1.3.0rc1.",
        )
    if _git(ROOT, "tag", "--list", tag):
        _refuse(f"The tag {tag} exists.", "Name the next version.")
    if not re.search(r"^- ", _found(_UNRELEASED, CHANGES)[1], re.MULTILINE):
        _refuse(f"The section Unreleased of {CHANGES} has no entry.", "Describe the changes of this release there.")


def _is_newer(version: str, current: str) -> bool:
    try:
        return str(Version(version)) == version and Version(version) > Version(current)
    except InvalidVersion:
        return False


def stamp(folder: Path, version: str, day: str) -> None:
    """Write the version into its file. Move the entries of the changelog under a heading with the version and the day,
    below a new, empty section Unreleased."""
    file = folder / VERSION_FILE
    file.write_text(_VERSION.sub(f'__version__ = "{version}"', file.read_text(encoding="utf-8")), encoding="utf-8")
    changes = folder / CHANGES
    text = changes.read_text(encoding="utf-8")
    section = _UNRELEASED.search(text)
    assert section is not None, "`check` has found it"  # noqa: S101
    entries = _COMING.sub("", section[1]).strip()
    fresh = f"## [Unreleased]\n\n## [{version}] - {day}\n\n{entries}\n\n"
    changes.write_text(f"{text[: section.start()]}{fresh}{text[section.end() :]}".rstrip() + "\n", encoding="utf-8")


def clone(source: Path, folder: Path) -> None:
    _run(["git", "clone", "--quiet", str(source), str(folder)], ROOT)
    # The commit of the release gets the author that is configured in the checkout.
    for key in ("user.name", "user.email"):
        value = _git(ROOT, "config", "--default", "", key)
        if value:
            _git(folder, "config", key, value)


def commit(folder: Path, version: str) -> None:
    _git(folder, "commit", "--quiet", "--all", "--message", f"Release {version}")


def build(folder: Path) -> Mapping[str, bytes]:
    """Build the wheel and the sdist with the dashboard, and return them by their names."""
    print(f"Building in {folder} ...", flush=True)
    environment = {key: value for key, value in os.environ.items() if key != "ARVIS_SKIP_UI"}
    _run([sys.executable, "-m", "hatchling", "build"], folder, environment)
    files = {file.name: file.read_bytes() for file in sorted((folder / "dist").iterdir())}
    (wheel,) = (folder / "dist").glob("*.whl")
    with ZipFile(wheel) as archive:
        if _DASHBOARD not in archive.namelist():
            _refuse("The wheel does not contain the dashboard.", "Check the artifacts in pyproject.toml.")
    return files


def compare(files: Mapping[str, bytes], again: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Return the files if both builds are equal. Otherwise refuse the release."""
    different = sorted(name for name in files.keys() | again.keys() if files.get(name) != again.get(name))
    if different:
        _refuse(
            f"Two builds of the same commit differ: {', '.join(different)}.",
            "Find the part of the build that depends on the time, the folder or the machine.",
        )
    return files


def take_over(folder: Path, tag: str) -> None:
    """Fetch the commit of the release into the checkout, and tag it there."""
    _git(ROOT, "fetch", "--quiet", str(folder), "HEAD")
    _git(ROOT, "merge", "--quiet", "--ff-only", "FETCH_HEAD")
    _git(ROOT, "tag", "--annotate", tag, "--message", f"Arvis {tag.removeprefix('v')}")


def write(files: Mapping[str, bytes]) -> None:
    """Write the files of the release into `dist/`. They replace the files of older builds."""
    folder = ROOT / "dist"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("arvis-*"):
        old.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def report(files: Mapping[str, bytes], tag: str) -> None:
    branch = _git(ROOT, "rev-parse", "--abbrev-ref", "HEAD")
    print(f"The release {tag} is committed and tagged in this checkout. Two builds were equal:")
    for name, content in files.items():
        print(f"  {hashlib.sha256(content).hexdigest()}  dist/{name}")
    print("Nothing is pushed. To publish it, push the commit and the tag, then upload the files:")
    print(f"  git push origin {branch} {tag}")
    print(f"To undo it: git tag --delete {tag} && git reset --hard HEAD~1")


def _found(pattern: re.Pattern[str], file: Path) -> re.Match[str]:
    found = pattern.search((ROOT / file).read_text(encoding="utf-8"))
    if found is None:
        _refuse(f"{file} does not contain {pattern.pattern!r}.", "Restore the file.")
    return found


def _git(folder: Path, *arguments: str) -> str:
    return _run(["git", *arguments], folder)


def _run(command: list[str], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a command and return its output. If the command fails, refuse the release and show the output."""
    done = subprocess.run(  # noqa: S603 - our own commands
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = f"{done.stdout}\n{done.stderr}".strip()
        _refuse(f"`{' '.join(command)}` failed in {folder}:\n{said}", "Fix the cause; the checkout is unchanged.")
    return done.stdout.strip()


def _refuse(what: str, fix: str) -> NoReturn:
    raise SystemExit(f"{what}\n  fix: {fix}")


if __name__ == "__main__":
    main(sys.argv[1:])
