"""A private mount namespace: other processes do not see the disks that a campaign mounts, and the disks end with it.

If the machine refuses, the campaign prints the reason and exits with its own code, which is not that of a success.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

#: Exit code of a campaign that this machine does not allow (automake's code for a skipped test).
REFUSED = 77
#: Set inside the namespace, so that the program does not enter another one.
_INSIDE = "ARVIS_PRIVATE_MOUNTS"


class Refused(Exception):
    """This machine does not allow the operation; the text says why."""


def is_private() -> bool:
    return _INSIDE in os.environ


def enter(module: str, arguments: Sequence[str]) -> None:
    """Replace this process with a run of the module in a new namespace. Raise `Refused` if it is not possible."""
    # The root of a user namespace may mount a tmpfs without the rights of the real root.
    unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--propagation", "private"]
    run([*unshare, "true"])
    os.environ[_INSIDE] = "1"
    os.execvp("unshare", [*unshare, sys.executable, "-m", module, *arguments])  # noqa: S606 no shell is wanted


def run(command: Sequence[str]) -> None:
    """Run a program. Raise `Refused` with its error text if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise Refused(f"{command[0]} is not installed") from missing
    if done.returncode != 0:
        raise Refused(f"`{' '.join(command)}`: {(done.stderr or done.stdout).strip()}")
