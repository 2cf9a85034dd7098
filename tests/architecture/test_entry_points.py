"""Every target that `pyproject.toml` registers exists; otherwise a wrong name would fail only when a user configures
it."""

from __future__ import annotations

import tomllib
from importlib import import_module

import pytest

from tests.architecture.tree import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TARGETS = {target for group in PROJECT["entry-points"].values() for target in group.values()}


@pytest.mark.parametrize("target", sorted(TARGETS | set(PROJECT["scripts"].values())))
def test_the_target_can_be_called(target: str) -> None:
    module, _, name = target.partition(":")
    assert callable(getattr(import_module(module), name))
