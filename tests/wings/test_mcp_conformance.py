"""A short form of the conformance suite of the Model Context Protocol, and the page with its results."""

from __future__ import annotations

import os
from pathlib import Path

from tests.mcp_conformance.__main__ import HERE, compare, node, run_client
from tests.mcp_conformance.results import PAGE, page_of
from tests.parts import require


def test_the_page_lists_the_expected_results() -> None:
    assert PAGE.read_text() == page_of(), "run `python -m tests.mcp_conformance --write`"


def test_the_client_repeats_a_call_with_answers(tmp_path: Path) -> None:
    require(os.path.relpath(node()), f"run `npm ci` in {os.path.relpath(HERE)}")
    assert compare({"client": run_client(tmp_path, ["sep-2322-client-request-state"])}) == []
