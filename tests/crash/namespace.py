"""A private mount namespace: other processes do not see the disks that a campaign mounts, and the disks end with it.

If the machine refuses, the campaign exits with its own code, which is not that of a success.
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


def enter(seed: str) -> None:
    """Run this program again in a new namespace with this seed, unless it is in one. Raise `Refused` if it is not possible."""
    if _INSIDE in os.environ:
        return
    # The root of a user namespace may mount a tmpfs without the rights of the real root.
    unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--propagation", "private"]
    run([*unshare, "true"])
    os.environ[_INSIDE] = "1"
    os.execvp("unshare", [*unshare, *sys.orig_argv, "--seed", seed])  # noqa: S606 no shell is wanted


def run(command: Sequence[str]) -> None:
    """Run a program. Raise `Refused` with its error text if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise Refused(f"{command[0]} is not installed") from missing
    if done.returncode != 0:
        raise Refused(f"`{' '.join(command)}`: {(done.stderr or done.stdout).strip()}")
