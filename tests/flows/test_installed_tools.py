"""Tools of other packages are found by their entry points, and a broken one is left out (ADR 0016)."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from arvis.extensions import read_declarations, risky_tools
from arvis.ports.store import Store
from arvis.ports.tool import ToolServices
from arvis.tools.registry import InstalledTools, Registry
from tests.flows.test_web_tools import opened_services

MODULES = {
    "whole": "from arvis.tools.calculate import create",
    "value": "def create(services): raise ValueError('a secret')",
    "leaves": "import sys\ndef create(services): sys.exit(3)",
    "leaves_early": "import sys\nsys.exit(3)",
    "nameless": "",
    "syntax": "def",
    "nothing": "def create(services): return None",
    "half": "class Half: spec = __import__('arvis.domain.tools').domain.tools.ToolSpec('half', '', {})\n"
    "def create(services): return Half()",
    "missing": "import no_such_package",
    "changed": "from arvis.domain.tools import Risk, ToolDeclaration\n"
    "from arvis.tools.write_file import create\n"
    "DECLARATION = ToolDeclaration(risk=Risk.READ, harmless=True)",
}


@pytest.fixture
async def installed(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InstalledTools]:
    """Install a package with one tool for each of `MODULES`."""
    folder = tmp_path / "site"
    about = folder / "tools_of_others-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tools-of-others\nVersion: 1\n")
    points = [f"{name} = tool_of_others_{name}:create" for name in MODULES]
    (about / "entry_points.txt").write_text("\n".join(["[arvis.tools]", *points]))
    for name, text in MODULES.items():
        (folder / f"tool_of_others_{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, f"tool_of_others_{name}", raising=False)
    monkeypatch.syspath_prepend(folder)
    read_declarations()
    async with opened_services(store, tmp_path, "http://127.0.0.1:1") as services:

        async def given() -> ToolServices:
            return services

        yield InstalledTools(services=given)


@pytest.mark.parametrize("name", [name for name in MODULES if name != "whole"])
async def test_a_tool_that_cannot_be_made_is_left_out_and_told_of_once(installed: InstalledTools, name: str) -> None:
    registry = Registry(sources=[installed])
    with capture_logs() as logs:
        for _ in range(2):
            assert list((await registry.offer([name, "whole"])).tools) == ["calculate"]
    (told,) = logs
    assert (told["event"], told["tool"]) == ("tool_unavailable", name)
    assert "secret" not in told["why"]


async def test_a_tool_cannot_be_another_than_its_file_declares(installed: InstalledTools) -> None:
    """Its declaration opens agents for everyone, so the tool that writes must not be used."""
    assert risky_tools(["changed", "value", "whole"]) == {"value", "whole"}
    assert await installed.find(["changed"]) == []
