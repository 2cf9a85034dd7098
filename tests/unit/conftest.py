"""Fixtures of the unit tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def empty_folder(tmp_path: Path) -> Iterator[None]:
    """`load` looks for `./config.yaml`, so every test stands in a folder of its own."""
    before = Path.cwd()
    os.chdir(tmp_path)
    yield
    os.chdir(before)
