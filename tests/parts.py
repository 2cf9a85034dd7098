"""Programs that some tests need and a machine may lack.

A test asks with `require`; no other kind of skip is used, so that CI, which has all parts, can forbid them all.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

#: program -> how to get it
PARTS = {
    "chromium": "install Chromium (Debian: apt-get install chromium fonts-dejavu-core)",
    "initdb": "install PostgreSQL's server (Debian: apt-get install postgresql)",
    "strace": "install strace (Debian: apt-get install strace)",
    "node": "install Node.js 20.19 or newer with npm (Debian 12's own is too old)",
    "espeak-ng": "install eSpeak NG (Debian: apt-get install espeak-ng)",
    "ffmpeg": "install FFmpeg (Debian: apt-get install ffmpeg)",
    "whisper": "install Whisper (make voice)",
}

#: Debian keeps the server's programs out of the PATH, one folder per version.
_POSTGRESQL = Path("/usr/lib/postgresql")


def find(part: str) -> Path | None:
    """The program's own file, links followed, so that its sister programs lie beside it."""
    folders = [*_postgresql_folders(), str(Path(sys.executable).parent)]
    found = shutil.which(part) or shutil.which(part, path=os.pathsep.join(folders))
    return Path(found).resolve() if found else None


def require(part: str, hint: str | None = None) -> Path:
    """The program, or the test is skipped with a hint; with `ARVIS_REQUIRE_ALL=1` it fails instead, but for
    what `ARVIS_WITHOUT` names."""
    program = find(part)
    if program is not None:
        return program
    message = f"needs {part}: {hint or PARTS[part]}"
    given_up = part in os.environ.get("ARVIS_WITHOUT", "").split(",")
    if os.environ.get("ARVIS_REQUIRE_ALL") == "1" and not given_up:
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def refused(reason: str) -> NoReturn:
    """Skip what the machine itself forbids (a mount, a loop device): no installation mends that, so it is no failure
    anywhere."""
    pytest.skip(reason)


def _postgresql_folders() -> list[str]:
    """The newest version first."""
    versions = [folder for folder in _POSTGRESQL.glob("*/bin") if folder.parent.name.isdigit()]
    return [str(folder) for folder in sorted(versions, key=lambda folder: int(folder.parent.name), reverse=True)]
