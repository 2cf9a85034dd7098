"""The trees of the project's files are parsed once for each file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.architecture.tree import parse


@pytest.fixture(autouse=True, scope="module")
def _trees() -> Iterator[None]:
    yield
    parse.cache_clear()  # they need hundreds of megabytes
