"""Declarations are read from files that are never imported, and everything that is not declared is risky."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from arvis.domain.agents import Agent
from arvis.domain.plugins import PluginDeclaration
from arvis.domain.tools import Need, Risk, ToolDeclaration
from arvis.extensions import (
    PLUGINS,
    TOOLS,
    declaration_in,
    file_of,
    installed,
    is_risky,
    risky_plugins,
    risky_tools,
    words_in,
)

LEAVES = "raise SystemExit('this file was imported')\n"
GOOD = f"{LEAVES}DECLARATION = ToolDeclaration(risk=Risk.EGRESS, harmless=True, needs=(Need.NETWORK,))\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_declaration_is_read_without_running_its_package(site: Path) -> None:
    inner = site / "package_of_others" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner.parent, inner):
        (folder / "__init__.py").write_text(LEAVES)
    (inner / "dice.py").write_text(f'"""Tool `dice`: rolls a die.\n\nMore."""\n{GOOD}')
    point = EntryPoint("dice", "package_of_others.inner.dice:create", TOOLS)
    assert declaration_in(point) == ToolDeclaration(risk=Risk.EGRESS, harmless=True, needs=(Need.NETWORK,))
    assert words_in(point) == "Rolls a die."
    assert not [name for name in sys.modules if name.startswith("package_of_others")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "def",
        "DECLARATION = ToolDeclaration(harmless=True)",
        "DECLARATION = ToolDeclaration(risk=Risk.WRITE, harmless=True)",
        "DECLARATION = ToolDeclaration(risk=Risk.READ, sensitive=True, harmless=True)",
        "DECLARATION = ToolDeclaration(risk=Risk.EXEC, without_approval=True)",
        "DECLARATION = ToolDeclaration(risk=Risk.NOTHING, harmless=True)",
        "DECLARATION = ToolDeclaration(risk=Other.READ, harmless=True)",
        "DECLARATION = ToolDeclaration(risk=Risk.READ, harmless=not False)",
        "DECLARATION = ToolDeclaration(risk=Risk.READ, honest=True)",
        "DECLARATION = ToolDeclaration(**{'risk': 'read', 'harmless': True})",
        "DECLARATION = PluginDeclaration(harmless=True)",
        "if True:\n    DECLARATION = ToolDeclaration(risk=Risk.READ, harmless=True)",
        "DECLARATION = (" * 300,
    ],
)
def test_what_is_no_literal_declaration_declares_nothing(site: Path, text: str) -> None:
    (site / "odd_tool_of_others.py").write_text(text)
    assert declaration_in(EntryPoint("odd", "odd_tool_of_others:create", TOOLS)) is None


@pytest.mark.parametrize(
    "module", ["no_such_package", "no_such_package.inner", "arvis.no_such_module", "sys", "os.path"]
)
def test_a_file_that_is_not_there_declares_nothing(module: str) -> None:
    point = EntryPoint("odd", f"{module}:create", TOOLS)
    assert (file_of(point), declaration_in(point), words_in(point)) == (None, None, "")


def test_a_plugin_declares_in_the_same_way(site: Path) -> None:
    (site / "plugin_of_others.py").write_text(f"{LEAVES}DECLARATION = PluginDeclaration(harmless=True)")
    assert declaration_in(EntryPoint("p", "plugin_of_others:create", PLUGINS)) == PluginDeclaration(harmless=True)
    assert declaration_in(EntryPoint("p", "plugin_of_others:create", TOOLS)) is None


def test_only_tools_that_are_known_to_be_harmless_are_for_everyone() -> None:
    """This list is written again on purpose: strangers may use agents with these tools, so an addition is reviewed."""
    harmless = {"web_search", "calculate", "get_time", "http_fetch"}
    assert {*installed(TOOLS)} - risky_tools(installed(TOOLS)) == harmless
    others = {"unheard_of", "server.get_time", "get_time.*", "get_time__x", "GET_TIME", "", "code_execution"}
    assert risky_tools({*harmless, *others}) == others


def test_only_plugins_that_are_known_to_be_harmless_are_for_everyone() -> None:
    harmless = {"time", "environment", "helpers", "active_agents"}
    assert {*installed(PLUGINS)} - risky_plugins(installed(PLUGINS)) == harmless
    assert risky_plugins({*harmless, "unheard_of"}) == {"unheard_of"}


def test_one_risky_part_makes_an_agent_risky() -> None:
    assert not is_risky(Agent("a", "a", "A", tools=("get_time",), plugins=("time",)))
    assert is_risky(Agent("a", "a", "A", tools=("get_time", "write_file"), plugins=("time",)))
    assert is_risky(Agent("a", "a", "A", tools=("get_time",), plugins=("time", "workspace")))
