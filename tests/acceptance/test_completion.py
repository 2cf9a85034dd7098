"""`arvis completion`: a shell that loads the script completes commands, groups and options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arvis.cli.main import COMMANDS
from tests.acceptance.daemon import arvis, environment
from tests.parts import require

PROGRAM = f'#!/bin/sh\nexec "{sys.executable}" -m arvis "$@"\n'
#: Completes the words of $1, as the shell does after TAB, and prints the proposals.
ASK = """
eval "$(arvis completion bash)"
COMP_WORDS=($1)
COMP_CWORD=$2
_arvis_completion arvis
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    (tmp_path / "arvis").write_text(PROGRAM)
    (tmp_path / "arvis").chmod(0o755)
    return tmp_path


def proposals(programs: Path, words: str, position: int) -> list[str]:
    bash = require("bash", "install bash")
    done = subprocess.run(
        [bash, "-c", ASK, "bash", words, str(position)],
        env=environment(PATH=f"{programs}{os.pathsep}{os.environ['PATH']}"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_bash_completes_commands_groups_and_options(programs: Path) -> None:
    assert proposals(programs, "arvis comp", 1) == ["completion"]
    assert proposals(programs, "arvis service un", 2) == ["uninstall"]
    assert "--security" in proposals(programs, "arvis doctor --", 2)
    assert set(proposals(programs, "arvis", 1)) == set(COMMANDS)


@pytest.mark.parametrize(
    ("shell", "words"), [("zsh", "#compdef arvis"), ("fish", "complete --no-files --command arvis")]
)
def test_other_shells_get_their_script(tmp_path: Path, shell: str, words: str) -> None:
    done = arvis("completion", shell, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout


def test_the_names_of_commands_are_completed_without_importing_them(tmp_path: Path) -> None:
    """The import of all commands would take a second for each TAB."""
    code = (
        "import sys; from arvis.cli.main import arvis; arvis.shell_complete(None, 'a'); "
        "sys.exit(any(name.startswith('arvis.cli.commands.') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment(), check=False)
    assert done.returncode == 0
