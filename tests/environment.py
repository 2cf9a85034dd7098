"""The environment of the processes that tests start, and the server that forks them."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path

from tests.fork_server import ForkServer

ROOT = Path(__file__).parent.parent
_KEPT = frozenset({"PATH", "HOME", "LANG", "TMPDIR"})


def daemon_environment(code: Path = ROOT, **more: str) -> dict[str, str]:
    """Return an environment that runs Arvis from `code`, without the caller's settings and keys, so that the demo model
    answers. It hides packages that only the tests need, because loading them would take a tenth of a start."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT}
    path = os.pathsep.join([str(code), str(ROOT / "tests" / "fixtures" / "default_install")])
    return kept | {"PYTHONPATH": path} | more


@functools.cache
def fork_server(code: Path = ROOT) -> ForkServer:
    """Return this test process's server for the program in `code`. It ends with the test process."""
    return ForkServer(daemon_environment(code))


def forkable(environment: Mapping[str, str]) -> bool:
    """Return whether a process with this environment may be forked: Python reads some variables only at its start."""
    usual = daemon_environment()
    return all(usual.get(name) == value for name, value in environment.items() if name.startswith(("PYTHON", "LC_")))
