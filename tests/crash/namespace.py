"""A mount namespace of one's own: disks that a campaign mounts are seen by nobody else and end with it.

What a machine refuses is said in words and with an exit code of its own, so that it is never taken for a success.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

#: A campaign that this machine does not let run; automake's code for a skipped test.
REFUSED = 77
#: Set inside, where nothing remains to be entered.
_INSIDE = "ARVIS_PRIVATE_MOUNTS"


class Refused(Exception):
    """This machine does not allow it; the text says what."""


def is_private() -> bool:
    return _INSIDE in os.environ


def enter(module: str, arguments: Sequence[str]) -> None:
    """Run this module again in a namespace of its own, in place of this process. Raises `Refused`."""
    # Without root's rights one may still mount a tmpfs, as the root of a user namespace.
    unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--propagation", "private"]
    run([*unshare, "true"])
    os.environ[_INSIDE] = "1"
    os.execvp("unshare", [*unshare, sys.executable, "-m", module, *arguments])  # noqa: S606 no shell is wanted


def run(command: Sequence[str]) -> None:
    """Raises `Refused` with the program's own words."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise Refused(f"{command[0]} is not installed") from missing
    if done.returncode != 0:
        raise Refused(f"`{' '.join(command)}`: {(done.stderr or done.stdout).strip()}")
