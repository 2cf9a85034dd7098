"""A kind of node is declared once, in `document/kinds.py`, and made by one function: the generated files are up to date,
and the declaration is complete."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from arvis.domain.workflows import LogType
from arvis.workflows import nodes
from arvis.workflows.document.kinds import KINDS, LOG_TYPES, Category, Kind
from arvis.workflows.validation.rules import RULES
from tests.architecture.tree import ROOT, parse
from tests.fixtures.workflow_kinds import current

_TEXTS = ROOT / "arvis/web/ui/src/pages/workflows/editor/texts.ts"
_PLACE = re.compile(r"\{(\w+)(?:\|\w+)?\}")
_EVERY = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@pytest.mark.parametrize("file", current(), ids=lambda file: file.name)
def test_the_dashboard_knows_the_kinds_as_they_are(file: Path) -> None:
    assert file.read_text(encoding="utf-8") == current()[file], "run: python -m tests.fixtures.workflow_kinds"


@_EVERY
def test_a_kind_declares_how_it_is_shown(kind: Kind) -> None:
    assert kind.icon
    assert set(_PLACE.findall(" ".join(kind.summary))) <= {field.name for field in kind.fields}
    assert kind.summary
    assert kind.unconnected in {"", *RULES}


@_EVERY
def test_the_outputs_of_rows_have_names(kind: Kind) -> None:
    assert bool(kind.row_names) == (kind.row_handles is not None)
    rows = [
        row.name
        for field in kind.fields
        if kind.row_handles and field.name == kind.row_handles[0]
        for row in field.fields
    ]
    assert set(_PLACE.findall(" ".join(kind.row_names))) <= {"number", *rows}


def test_every_category_has_a_heading_in_the_palette() -> None:
    """The palette shows only kinds whose category has a heading, in the order of the headings."""
    headings = re.findall(r"categories: \{(.*?)\}", _TEXTS.read_text(encoding="utf-8"), re.DOTALL)
    assert headings
    for each in headings:
        assert set(re.findall(r"(\w+): \"", each)) == set(Category)


def test_nodes_write_only_declared_types_of_lines() -> None:
    """A type is a `LogType`, or a text that a kind declares. Both sets differ."""
    written = {
        str(call.args[1].value)
        for file in Path(nodes.__path__[0]).glob("*.py")
        for call in ast.walk(parse(file))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "line"
        if isinstance(call.args[1], ast.Constant)
    }
    assert written == set(LOG_TYPES)
    assert not set(LOG_TYPES) & set(LogType)
