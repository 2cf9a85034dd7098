"""The tools that come with Arvis, checked by the suite for all tools, and the suite checked with wrong tools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from arvis.domain.tools import Risk
from arvis.extensions import TOOLS, declaration_in
from arvis.ports.store import Store
from arvis.ports.tool import Tool, ToolServices
from arvis.testing.conformance.tool import ToolConformance
from arvis.tools.function import FunctionTool
from tests.fixtures.tool_docs import registered
from tests.flows.test_web_tools import opened_services


@pytest.fixture
async def services(store: Store, tmp_path: Path) -> AsyncIterator[ToolServices]:
    async with opened_services(store, tmp_path, "http://127.0.0.1:1") as opened:
        yield opened


class TestOwnTools(ToolConformance):
    @pytest.fixture(params=registered(TOOLS), ids=lambda point: point.name)
    def point(self, request: pytest.FixtureRequest) -> EntryPoint:
        point: EntryPoint = request.param
        return point

    @pytest.fixture
    async def tool(self, point: EntryPoint, services: ToolServices) -> Tool:
        made: Tool = point.load()(services)
        return made

    def test_its_file_has_a_declaration(self, point: EntryPoint) -> None:
        assert declaration_in(point) is not None


async def roll_dice() -> str:
    """Roll a die."""
    return "4"


def test_a_tool_is_not_harmless_only_by_its_object() -> None:
    point = EntryPoint("roll_dice", f"{__name__}:roll_dice", TOOLS)
    suite = ToolConformance()
    suite.test_its_file_declares_the_same_as_the_tool(point, FunctionTool(roll_dice, risk=Risk.READ))
    with pytest.raises(AssertionError):
        suite.test_its_file_declares_the_same_as_the_tool(point, FunctionTool(roll_dice, risk=Risk.READ, harmless=True))
