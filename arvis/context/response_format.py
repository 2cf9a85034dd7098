"""How a model is told to write what its plugins ask for besides the text (behaviour.md 5.2). `tags/metadata.py` reads it."""

from __future__ import annotations

import html
from collections.abc import Sequence

from arvis.domain.markup_grammar import MESSAGE_MARK
from arvis.domain.plugins import AttributeSpec, PluginBlock

HEADING = "How to write a reply"

_RULES = f"""\
Each reply that is not a call of tools consists of three things in this order: one block of metadata as described below, a
line with {MESSAGE_MARK} and nothing else, and the text for its reader, who sees nothing of the first two. Write the block
once only. Leave out an attribute that does not apply, unless it is required. In values write &lt; for < and &amp; for &."""


def reply_format(attributes: Sequence[AttributeSpec]) -> PluginBlock | None:
    """A part of the instructions; None where nothing is asked for. Of two attributes with one name the first counts."""
    first = {spec.name: spec for spec in reversed(attributes)}
    asked = [first[name] for name in dict.fromkeys(spec.name for spec in attributes)]
    if not asked:
        return None
    return PluginBlock(HEADING, "\n\n".join([_RULES, _contract(asked), _example(asked)]))


def _contract(attributes: Sequence[AttributeSpec]) -> str:
    """In the form of an XML schema, which models know."""
    lines = [
        '<xs:element name="response-metadata"><xs:complexType><xs:sequence>',
        '  <xs:element name="attributes"><xs:complexType><xs:all>',
        *(f"    {_element(spec)}" for spec in attributes),
        "  </xs:all></xs:complexType></xs:element>",
        "</xs:sequence></xs:complexType></xs:element>",
    ]
    return "\n".join(lines)


def _element(spec: AttributeSpec) -> str:
    kind = spec.type if ":" in spec.type else f"xs:{spec.type}"
    about = html.escape(" ".join(spec.description.split()), quote=False)
    note = f"<xs:annotation><xs:documentation>{about}</xs:documentation></xs:annotation>"
    return f'<xs:element name="{spec.name}" type="{kind}" minOccurs="{int(spec.required)}">{note}</xs:element>'


def _example(attributes: Sequence[AttributeSpec]) -> str:
    values = [f"    <{spec.name}>the value</{spec.name}>" for spec in attributes]
    block = ["<response-metadata>", "  <attributes>", *values, "  </attributes>", "</response-metadata>"]
    return "\n".join(["For example:", *block, MESSAGE_MARK, "the text of the reply"])
