"""The tables of tools and plugins in the guides match what the files of these parts declare."""

from __future__ import annotations

import pytest

from tests.fixtures.tool_docs import TABLES, with_table


@pytest.mark.parametrize("name", TABLES)
def test_the_table_of_the_guide_is_current(name: str) -> None:
    guide = TABLES[name][0].read_text(encoding="utf-8")
    assert f"<!-- {name}: made -->" in guide
    assert guide == with_table(name, guide), "run: python -m tests.fixtures.tool_docs"
