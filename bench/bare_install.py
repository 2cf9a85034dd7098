"""A daemon that finds only the packages of the default install: those of extras and of development tools exist in
this interpreter, and some libraries import them if they can (7 MB of `cryptography`, for nothing)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.utils import canonicalize_name

from bench.servers import ROOT
from tests.architecture.test_installed_size import needed


def settings_without_extras(folder: Path) -> Mapping[str, str]:
    """Return environment variables for a daemon; `folder` gets a module that Python loads at its start."""
    ours = needed("arvis", frozenset(), set())
    providers = packages_distributions().items()
    hidden = sorted(name for name, from_ in providers if ours.isdisjoint(map(canonicalize_name, from_)))
    place = folder / "start"
    place.mkdir()
    (place / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({hidden!r}))\n")
    return {"PYTHONPATH": f"{place}{os.pathsep}{ROOT}"}
