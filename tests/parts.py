"""Programs that some tests need and a machine may lack.

Tests skip only with `require` or `refused`, so that CI, which has all programs, can forbid the skips of `require`.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

#: Run the long form of each test, and the tests marked `long`.
LONG = os.environ.get("ARVIS_LONG") == "1"

#: program -> how to get it
PARTS = {
    "chromium": "install Chromium (Debian: apt-get install chromium-headless-shell fonts-dejavu-core)",
    "initdb": "install PostgreSQL's server (Debian: apt-get install postgresql)",
    "strace": "install strace (Debian: apt-get install strace)",
    "node": "install Node.js 20.19 or newer with npm (Debian 12's own is too old)",
    "espeak-ng": "install eSpeak NG (Debian: apt-get install espeak-ng)",
    "ffmpeg": "install FFmpeg (Debian: apt-get install ffmpeg)",
    "systemd-analyze": "install systemd (Debian: apt-get install systemd)",
    "zstd": "install Zstandard (Debian: apt-get install zstd)",
    "whisper": "install Whisper (make voice)",
}

#: Programs that are used instead if they are installed. The shell has no windows, so its pages take half the time.
LIGHTER = {"chromium": "chromium-headless-shell"}

#: Debian keeps the server's programs outside of the PATH, one folder per version.
_POSTGRESQL = Path("/usr/lib/postgresql")


def find(part: str) -> Path | None:
    """Return the program's file with links resolved, so that related programs are in the same folder."""
    folders = [*_postgresql_folders(), str(Path(sys.executable).parent)]
    for name in filter(None, (LIGHTER.get(part), part)):
        if found := shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders)):
            return Path(found).resolve()
    return None


def require(part: str, hint: str | None = None) -> Path:
    """Return the program, or skip the test with a hint. With `ARVIS_REQUIRE_ALL=1`, the test fails instead, unless
    `ARVIS_WITHOUT` names the program."""
    program = find(part)
    if program is not None:
        return program
    message = f"needs {part}: {hint or PARTS[part]}"
    given_up = part in os.environ.get("ARVIS_WITHOUT", "").split(",")
    if os.environ.get("ARVIS_REQUIRE_ALL") == "1" and not given_up:
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def refused(reason: str) -> NoReturn:
    """Skip a test that the machine forbids (a mount, a loop device), even with `ARVIS_REQUIRE_ALL`."""
    pytest.skip(reason)


def _postgresql_folders() -> list[str]:
    """Return the folders, newest version first."""
    versions = [folder for folder in _POSTGRESQL.glob("*/bin") if folder.parent.name.isdigit()]
    return [str(folder) for folder in sorted(versions, key=lambda folder: int(folder.parent.name), reverse=True)]
