"""Fixtures of the unit tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def empty_folder(tmp_path: Path) -> Iterator[None]:
    """Run the test in a separate folder, because `load` looks for `./config.yaml`."""
    before = Path.cwd()
    os.chdir(tmp_path)
    yield
    os.chdir(before)
