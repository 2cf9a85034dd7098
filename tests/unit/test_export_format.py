"""The guide describes every field of the records of an export."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arvis.interchange import format as records
from arvis.interchange.format import KINDS, Record

GUIDE = (Path(__file__).parents[2] / "docs" / "reference" / "export-format.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*)", GUIDE, re.MULTILINE))
#: Records whose section has another name, because they are a part of another record or because of their name.
PARTS = {
    records.KnowledgeBase: "Knowledge base",
    records.Document: "Knowledge base",
    records.Suite: "Evaluation suite",
    records.Overheard: "Overheard message",
    records.Binding: "Agent",
    records.Place: "Schedule",
    records.PersonRef: "Schedule",
    records.File: "Message",
    records.Round: "Message",
    records.Quotation: "Message",
    records.Feedback: "Message",
    records.ToolCall: "Message",
}


@pytest.mark.parametrize("kind", [*Record.__subclasses__()], ids=lambda kind: kind.__name__)
def test_the_guide_describes_each_field(kind: type[Record]) -> None:
    section = SECTIONS[PARTS.get(kind, kind.__name__)]
    fields = {field.alias or name for name, field in kind.model_fields.items()}
    assert fields <= set(re.findall(r"`(\w+)`", section))


def test_the_guide_names_each_file() -> None:
    assert {f"{kind}.jsonl" for kind in KINDS} <= set(re.findall(r"`(\w+\.jsonl)`", GUIDE))
