"""The environment of the processes that tests start."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parent.parent
_KEPT = frozenset({"PATH", "HOME", "LANG", "TMPDIR"})


def daemon_environment(code: Path = ROOT, **more: str) -> dict[str, str]:
    """Return an environment that runs Arvis from `code`, without the caller's settings and keys, so that the demo model
    answers. It hides packages that only the tests need, because loading them would take a tenth of a start."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT}
    path = os.pathsep.join([str(code), str(ROOT / "tests" / "fixtures" / "default_install")])
    return kept | {"PYTHONPATH": path} | more
