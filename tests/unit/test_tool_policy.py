"""Names, rules and the registry of tools."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.domain.tools import Permit, Risk, wire_name
from arvis.tools.registry import Policy, Registry
from tests.flows.scripted import ScriptedTool, ScriptedTools


@pytest.mark.parametrize(
    ("risk", "permit"),
    [
        (Risk.READ, Permit.ALWAYS),
        (Risk.EGRESS, Permit.ALWAYS),
        (Risk.WRITE, Permit.ASK),
        (Risk.EXEC, Permit.ASK),
        (Risk.MONEY, Permit.ASK),
    ],
)
def test_what_changes_something_is_asked_about_unless_told_otherwise(risk: Risk, permit: Permit) -> None:
    assert Policy(rules={}).permit(ScriptedTool("any", risk=risk)) is permit


@pytest.mark.parametrize(
    ("rules", "permit"),
    [
        ({"write": Permit.ALWAYS}, Permit.ALWAYS),
        ({"write": Permit.ALWAYS, "srv.*": Permit.NEVER}, Permit.NEVER),
        ({"srv.*": Permit.NEVER, "srv.dig": Permit.ALWAYS}, Permit.ALWAYS),
        ({"srv": Permit.ALWAYS, "other.*": Permit.ALWAYS, "read": Permit.ALWAYS}, Permit.ASK),
    ],
)
def test_the_nearest_rule_counts(rules: dict[str, Permit], permit: Permit) -> None:
    assert Policy(rules=rules).permit(ScriptedTool("srv.dig", risk=Risk.WRITE)) is permit


@given(st.text(min_size=1))
def test_a_wire_name_is_one_that_every_vendor_takes(name: str) -> None:
    wire = wire_name(name)
    assert 1 <= len(wire) <= 64
    assert all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in wire)


def test_long_names_stay_different() -> None:
    assert wire_name("srv." + "a" * 80 + "1") != wire_name("srv." + "a" * 80 + "2")


async def test_an_offer_stands_in_one_order_and_the_first_source_wins() -> None:
    first, second = ScriptedTools(), ScriptedTools()
    offer = await Registry(sources=[first, second]).offer(["srv.dig", "rm", "look", "nothing"])
    assert [spec.name for spec in offer.specs] == ["look", "rm", "srv__dig"]
    assert offer.tools["look"] is first.look


async def test_an_agent_without_tools_is_offered_none() -> None:
    assert (await Registry(sources=[ScriptedTools()]).offer([])).specs == ()
