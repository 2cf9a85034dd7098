"""The import contracts of `pyproject.toml` are kept, and each contract detects a breach."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")

#: A forbidden import: the importing module, the line, and the contract that must detect it.
BREACHES = [
    ("arvis.domain", "import arvis.ports", "floors"),
    ("arvis.queue", "import arvis.llm", "floors"),
    ("arvis.bus", "import arvis.message_flow", "floors"),
    ("arvis.message_flow", "import arvis.operations", "floors"),
    ("arvis.web", "import arvis.store", "floors"),
    ("arvis.app", "import arvis.testing", "floors"),
    ("arvis.cellar", "import arvis.domain", "floors"),
    ("arvis.store", "import arvis.config", "wings"),
    ("arvis.providers", "import arvis.net", "wings"),
    ("connectors", "import arvis.queue", "wings"),
    ("arvis.app", "import connectors", "connectors"),
    ("arvis.domain", "import pydantic", "nouns"),
    ("arvis.queue", "import sqlite3", "databases"),
    ("arvis.providers", "import aiohttp", "http"),
    ("arvis.web", "import discord", "platforms"),
    ("arvis.llm", "import anthropic", "models"),
    ("arvis.app", "import uvicorn", "web"),
    ("arvis.web", "import click", "cli"),
    ("arvis.cli", "import yaml", "config"),
    ("arvis.app", "import apscheduler", "scheduler"),
    ("arvis.web", "import cronsim", "calendar"),
    ("arvis.web", "import re2", "patterns"),
    ("arvis.app", "import mcp", "mcp"),
]


def lint(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Check the contracts against the packages in `folder`."""
    command = [str(LINT_IMPORTS), "--no-cache", *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)


def build(folder: Path, module: str, line: str) -> None:
    """Create a tree of empty packages, with one line in one of the modules."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    floors = "domain ports bus config queue llm message_flow operations web app cli store providers net testing graphs workflows"
    for name in {"arvis", "connectors", module, *(f"arvis.{floor}" for floor in floors.split())}:
        package = folder.joinpath(*name.split("."))
        package.mkdir(exist_ok=True, parents=True)
        (package / "__init__.py").write_text(f"{line}\n" if name == module else "")


def test_the_contracts_hold() -> None:
    outcome = lint(ROOT)
    assert outcome.returncode == 0, outcome.stdout


def test_a_tidy_tree_is_accepted(tmp_path: Path) -> None:
    build(tmp_path, "arvis.app", "import arvis.store, arvis.web")
    outcome = lint(tmp_path)
    assert outcome.returncode == 0, outcome.stdout


@pytest.mark.parametrize(("module", "line", "contract"), BREACHES)
def test_a_breach_is_noticed(tmp_path: Path, module: str, line: str, contract: str) -> None:
    build(tmp_path, module, line)
    outcome = lint(tmp_path, "--contract", contract)
    assert outcome.returncode == 1, outcome.stdout
    assert "1 broken" in outcome.stdout, outcome.stdout
