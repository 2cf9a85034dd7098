"""The editor's generated file matches the kinds of nodes in `arvis/workflows/`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.workflow_rules import current


@pytest.mark.parametrize("file", current(), ids=lambda file: file.name)
def test_the_editor_knows_the_kinds_as_they_are(file: Path) -> None:
    assert file.read_text(encoding="utf-8") == current()[file], "run: python -m tests.fixtures.workflow_rules"
