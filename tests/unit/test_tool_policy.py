"""Names, rules and the registry of tools."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.domain.taint import CLEAN, Label
from arvis.domain.tools import Permit, Risk, ToolCall, wire_name
from arvis.graphs.agent.subagents import Subagent, SubagentTool
from arvis.graphs.agent.tool_calls import plan
from arvis.ports.tool import Tool
from arvis.tools.function import FunctionTool
from arvis.tools.registry import Offer, Policy, Registry
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


# -- taint of outputs --------------------------------------------------------------------------------------------------


async def calculate(expression: str) -> str:
    return expression


OWN = FunctionTool(calculate, risk=Risk.READ, own_output=True)
SUBAGENT = Subagent("calculate", "Calculates.", "Calculator", node="n", parent="p", agent="a")


@pytest.mark.parametrize(
    ("tool", "arguments", "own"),
    [
        (OWN, {"expression": "1"}, True),
        (OWN, {"wrong": "1"}, True),
        (OWN, None, True),
        (ScriptedTool("calculate"), {}, False),
        (FunctionTool(calculate, risk=Risk.READ), {"expression": "1"}, False),
        (SubagentTool(subagent=SUBAGENT), {"task": "1"}, False),
        (None, {}, False),
    ],
)
def test_the_tool_and_not_its_name_decides_about_the_taint(
    tool: Tool | None, arguments: dict[str, str] | None, *, own: bool
) -> None:
    offer = Offer({"calculate": tool} if tool is not None else {})
    calls = [ToolCall(f"{number}", "calculate", arguments) for number in range(20)]
    planned = plan(calls, [], offer, Policy(rules={}).permit)
    assert {each.output_taint for each in planned} == {CLEAN if own else frozenset({Label.TOOLS})}


def test_a_declared_exception_needs_no_approval_unless_a_rule_requires_one() -> None:
    tool = FunctionTool(calculate, risk=Risk.WRITE, without_approval=True)
    assert Policy(rules={}).permit(tool) is Permit.ALWAYS
    assert Policy(rules={"write": Permit.ASK}).permit(tool) is Permit.ASK
    secret = FunctionTool(calculate, risk=Risk.WRITE, without_approval=True, sensitive=True)
    assert Policy(rules={}).permit(secret) is Permit.ASK
    with pytest.raises(ValueError, match="need an approval"):
        FunctionTool(calculate, risk=Risk.MONEY, without_approval=True)
