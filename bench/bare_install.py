"""Settings for a daemon that finds only the packages of the default install. This interpreter also has the packages of
extras and of development tools. Some libraries import these packages if they are installed, which would increase the
measured memory (by 7 MB for `cryptography`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.utils import canonicalize_name

from bench.servers import ROOT
from tests.architecture.test_installed_size import of_arvis


def settings_without_extras(folder: Path, *kept: str) -> Mapping[str, str]:
    """Return the environment variables of a daemon that finds only the packages of the default install and of the extras
    `kept`. Write a module into `folder` that hides all other packages; Python loads this module at its start."""
    ours = of_arvis(*kept) | {"arvis"}
    providers = packages_distributions().items()
    hidden = sorted(name for name, from_ in providers if ours.isdisjoint(map(canonicalize_name, from_)))
    place = folder / "start"
    place.mkdir()
    (place / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({hidden!r}))\n")
    return {"PYTHONPATH": f"{place}{os.pathsep}{ROOT}"}
