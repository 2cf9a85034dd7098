"""The Python that runs scripts: the daemon's own, without the daemon's packages."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Interpreter:
    """`program` with the folders that it needs besides the system's, and its `version`, for which packages are kept.
    `pip` can be run by it (None: there is none)."""

    program: Path
    readable: tuple[Path, ...]
    version: str
    pip: Path | None


def daemons_interpreter() -> Interpreter:
    """The one that the daemon's own environment was made from."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    prefixes = {Path(sys.base_prefix), Path(sys.base_exec_prefix)}
    beyond = tuple(sorted(prefix for prefix in prefixes if not prefix.is_relative_to("/usr")))
    return Interpreter(Path(sys.base_exec_prefix, "bin", f"python{version}"), beyond, version, _pip())


def _pip() -> Path | None:
    """The package, or the archive of it that comes with Python: either is run by its path."""
    found = find_spec("pip")
    if found is not None and found.submodule_search_locations:
        return Path(found.submodule_search_locations[0])
    spare = find_spec("ensurepip")
    if spare is None or spare.origin is None:
        return None
    wheels = sorted(Path(spare.origin).parent.glob("_bundled/pip-*.whl"))
    return wheels[-1] / "pip" if wheels else None
