"""The rules of the `Tool` port as tests: subclass `ToolConformance` and override its fixtures.

A tool passes if every vendor accepts its specification, if it checks arguments before a call, and if its file declares
what the tool does. The cases need pytest-asyncio in its auto mode.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from arvis.domain.errors import ToolError
from arvis.domain.tools import wire_name
from arvis.extensions import declaration_in
from arvis.ports.tool import Tool, declaration_of


class ToolConformance:
    """The cases for tools. Override `point` and `tool`."""

    @pytest.fixture
    def point(self) -> EntryPoint:
        raise NotImplementedError(
            "Return the tool's entry point, such as EntryPoint('dice', 'dice:create', 'arvis.tools')."
        )

    @pytest.fixture
    async def tool(self) -> Tool:
        raise NotImplementedError("Return the tool, made with its services.")

    def test_the_agent_names_it_as_the_model_does(self, point: EntryPoint, tool: Tool) -> None:
        assert tool.spec.name == point.name == wire_name(point.name)

    def test_the_model_learns_its_effect_and_its_parameters(self, tool: Tool) -> None:
        assert tool.spec.description.strip()
        assert tool.spec.parameters["type"] == "object"

    def test_unknown_arguments_are_refused_before_a_call(self, tool: Tool) -> None:
        with pytest.raises(ToolError) as refused:
            tool.check({"no_such_argument": 1})
        assert refused.value.what

    def test_its_file_declares_the_same_as_the_tool(self, point: EntryPoint, tool: Tool) -> None:
        """Permission checks read only the file (`arvis/extensions.py`), so the file must declare a harmless tool."""
        in_file, declared = declaration_in(point), declaration_of(tool)
        assert in_file == declared or (in_file is None and not declared.harmless)
