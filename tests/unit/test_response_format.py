"""The description of values in a reply for a model, and a parser that accepts exactly this description."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from arvis.domain.markup import visible
from arvis.domain.plugins import AttributeSpec
from arvis.prompt import reply_format
from arvis.tags import read

MOOD = AttributeSpec("mood", "string", "How <you> feel & why", required=True)
COUNT = AttributeSpec("count", "integer", "How many")


def told(*attributes: AttributeSpec) -> str:
    block = reply_format(attributes)
    assert block is not None
    return block.content


def test_nothing_is_asked_for_without_attributes() -> None:
    assert reply_format([]) is None


def test_the_contract_names_type_and_need_of_each_attribute() -> None:
    text = told(MOOD, COUNT)
    schema = text[text.index("<xs:element") : text.index("For example")]
    names = {"xs": "http://www.w3.org/2001/XMLSchema"}
    tree = ET.fromstring(f'<xs:schema xmlns:xs="{names["xs"]}">{schema}</xs:schema>')  # noqa: S314 (ours)
    found = {each.get("name"): each for each in tree.iter(f"{{{names['xs']}}}element")}
    assert list(found) == ["response-metadata", "attributes", "mood", "count"]
    assert (found["mood"].get("type"), found["mood"].get("minOccurs")) == ("xs:string", "1")
    assert (found["count"].get("type"), found["count"].get("minOccurs")) == ("xs:integer", "0")
    assert "How <you> feel & why" in "".join(found["mood"].itertext())


def test_a_reply_like_the_example_is_read() -> None:
    text = told(MOOD, COUNT)
    example = text[text.rindex("For example:\n") + len("For example:\n") :]
    reply = read(example)
    assert dict(reply.attributes) == {"mood": "the value", "count": "the value"}
    assert reply.visible == visible(example) == "the text of the reply"


def test_the_first_of_two_attributes_with_one_name_counts() -> None:
    text = told(AttributeSpec("mood", "boolean", "first"), MOOD)
    assert text.count('name="mood"') == 1
    assert 'type="xs:boolean"' in text


def test_missing_and_broken_metadata_carry_nothing_and_hide_nothing() -> None:
    assert (read("Just text.").visible, dict(read("Just text.").attributes)) == ("Just text.", {})
    broken = "<response-metadata><attributes><a>1</attributes></response-metadata>\nMESSAGE TO SEND:\nHi"
    assert (read(broken).visible, dict(read(broken).attributes)) == ("Hi", {})
    block = "<response-metadata><attributes><mood>{}</mood></attributes></response-metadata>\nMESSAGE TO SEND:\n{}"
    twice = read(block.format("good", "One") + "\n" + block.format("bad", "Two"))
    assert (twice.visible, dict(twice.attributes)) == ("One", {"mood": "good"})
    assert dict(read(block.format("  ", "x")).attributes) == {}
