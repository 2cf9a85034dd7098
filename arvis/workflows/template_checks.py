"""Names in the templates of nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arvis.workflows.drawing import Drawing, Node
from arvis.workflows.kinds import Field, Form
from arvis.workflows.rules import Problem, problem

_PLACE = re.compile(r"\{\{([^{}]{1,300})\}\}")
#: What every run has (`templates.py`).
_ALWAYS = frozenset({"PREVIOUS_OUTPUT", "trigger"})
_SPACE = " \t\r\n"


def check_templates(drawing: Drawing) -> Iterator[Problem]:
    called: dict[str, int] = {}
    for node in drawing.nodes.values():
        called[node.name] = called.get(node.name, 0) + 1
    for node in drawing.nodes.values():
        for field, text in _templates(node.data, node.kind.fields if node.kind else (), ""):
            yield from _check_text(text, node, field, called)


def _templates(data: Mapping[str, Any], fields: Sequence[Field], above: str) -> Iterator[tuple[str, str]]:
    """The texts that are templates, each with the path of its field."""
    for field in fields:
        value, path = data.get(field.name), f"{above}{field.name}"
        if field.template:
            yield from ((path, text) for text in _texts(value))
        if field.form is Form.ROWS and isinstance(value, list):
            for index, row in enumerate(value):
                if isinstance(row, Mapping):
                    yield from _templates(row, field.fields, f"{path}.{index}.")


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value, in their order; those of objects by name, since their order is not kept everywhere."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list)):
        for each in [value[name] for name in sorted(value)] if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _check_text(text: str, node: Node, field: str, called: Mapping[str, int]) -> Iterator[Problem]:
    """Each name once."""
    for name in dict.fromkeys(found.strip(_SPACE) for found in _PLACE.findall(text)):
        if name in _ALWAYS:
            continue
        label = _label(name, called)
        if label is None:
            yield problem("label-unknown", node=node.id, field=field, name=node.name, value=name)
        elif called[label] > 1:
            yield problem("label-twice", node=node.id, field=field, name=node.name, value=label)


def _label(name: str, called: Mapping[str, int]) -> str | None:
    """The longest one that the name begins with: labels may have points in them."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        label = ".".join(parts[:end]).strip(_SPACE)
        if label in called:
            return label
    return None
