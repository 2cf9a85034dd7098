"""The build hook: when the dashboard is built, and which error appears when Node.js is missing or too old."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hatch_build import Dashboard, find_npm
from tests.architecture.tree import ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Create the minimum that the hook reads: sources, and a build of them."""
    sources = tmp_path / "arvis" / "web" / "ui"
    (sources / "src").mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        (sources / name).write_text("{}")
    (sources / "src" / "main.ts").write_text("one")
    built = tmp_path / "arvis" / "web" / "static"
    built.mkdir()
    (built / ".stamp").write_text(Dashboard(tmp_path)._stamp())
    shutil.copy(ROOT / "hatch_build.py", tmp_path)
    return tmp_path


def test_it_is_built_when_the_content_of_the_sources_has_changed(checkout: Path) -> None:
    source = checkout / "arvis" / "web" / "ui" / "src" / "main.ts"
    assert not Dashboard(checkout).stale
    source.touch()
    (source.parents[1] / "node_modules").mkdir()
    (source.parents[1] / "node_modules" / "other.js").write_text("of somebody else")
    (source.parents[1] / "tests").mkdir()
    (source.parents[1] / "tests" / "main.test.ts").write_text("a test")
    assert not Dashboard(checkout).stale
    source.write_text("two")
    assert Dashboard(checkout).stale
    source.write_text("one")
    assert not Dashboard(checkout).stale
    source.rename(source.with_name("other.ts"))
    assert Dashboard(checkout).stale


def test_without_node_one_sentence_says_what_to_do(checkout: Path) -> None:
    (checkout / "arvis" / "web" / "ui" / "src" / "main.ts").write_text("two")
    done = subprocess.run(
        [sys.executable, "hatch_build.py"], cwd=checkout, env={"PATH": ""}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "Node.js 20.19" in done.stderr
    assert "ARVIS_SKIP_UI=1" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_node_that_is_too_old_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, version in (("node", "v18.20.4"), ("npm", "9")):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho {version}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_npm() is None
    (tmp_path / "node").write_text("#!/bin/sh\necho v22.1.0\n")
    assert find_npm() == [str(tmp_path / "npm")]
