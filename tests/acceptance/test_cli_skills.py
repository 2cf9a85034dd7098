"""`arvis skills` against the real daemon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.daemon import Daemon, running_daemon

TEXT = "---\nslug: knots\nname: Knots\ntriggers: {keywords: [rope], patterns: ['(']}\n---\n# Tie\n"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    folder = tmp_path_factory.mktemp("skills")
    (folder / "config.yaml").write_text("web: {port: 0}\n", encoding="utf-8")
    with running_daemon(folder) as daemon:
        yield daemon


def test_a_skill_from_a_file_to_its_removal(daemon: Daemon, tmp_path: Path) -> None:
    file = tmp_path / "knots.md"
    file.write_text(TEXT, encoding="utf-8")
    brought = daemon.arvis("skills", "create", str(file))
    assert brought.stdout == "The skill knots is created.\n"
    assert "left out" in brought.stderr
    assert "# Tie" in daemon.arvis("skills", "show", "knots").stdout
    listed = daemon.arvis("skills", "list")
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == [
        "client-management", "code-review", "devops", "knots", "web-dev",
    ]  # fmt: skip
    assert "knots" in listed.stderr
    assert len(json.loads(daemon.arvis("skills", "list", "--json").stdout)["items"]) == 5
    assert daemon.arvis("skills", "delete", "knots").returncode == 0
    assert daemon.arvis("skills", "delete", "knots").returncode == 1


def test_what_cannot_be_brought_in_is_explained(daemon: Daemon, tmp_path: Path) -> None:
    assert "cannot be read" in daemon.arvis("skills", "create", str(tmp_path / "none.md")).stderr
    private = daemon.arvis("skills", "create", "http://127.0.0.1:1/skill.md")
    assert (private.returncode, "cannot be fetched" in private.stderr) == (1, True)
    assert "built-in" in daemon.arvis("skills", "delete", "devops").stderr
