"""A short form of the conformance suite of the Model Context Protocol, and the page with its results."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.mcp_conformance.__main__ import HERE, compare, main, node, run_client
from tests.mcp_conformance.results import PAGE, page_of
from tests.parts import require


def test_the_page_lists_the_expected_results() -> None:
    assert PAGE.read_text() == page_of(), "run `python -m tests.mcp_conformance --write`"


def test_the_client_repeats_a_call_with_answers(tmp_path: Path) -> None:
    require(os.path.relpath(node()), f"run `npm ci` in {os.path.relpath(HERE)}")
    assert compare({"client": run_client(tmp_path, ["sep-2322-client-request-state"])}) == []


def test_an_unknown_scenario_is_refused_with_the_known_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["mcp_conformance", "--leg", "client", "--only", "tools_cal1"])
    assert main() == 2
    shown = capsys.readouterr().err
    assert "'tools_cal1'" in shown
    assert "  client: tools_call\n" in shown
    assert "server:" not in shown
