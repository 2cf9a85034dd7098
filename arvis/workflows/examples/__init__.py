"""Example workflows, one file each. They name no agents and run with the demo provider."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from arvis.domain.dataclass import dataclass

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Example:
    """An example workflow."""

    #: The name of the example's file, without the ending.
    slug: str
    name: str
    description: str
    #: The document in the canonical form.
    document: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def examples() -> list[Example]:
    """Return all examples, sorted by name. They are read from their files each time."""
    found = []
    for file in _FOLDER.glob("*.json"):
        document = json.loads(file.read_text(encoding="utf-8"))
        found.append(Example(file.stem, document["name"], document["description"], document))
    return sorted(found, key=lambda example: example.name)
