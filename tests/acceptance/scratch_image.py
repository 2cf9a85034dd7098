"""Executes the steps of the Containerfile without a container engine: bubblewrap runs each RUN in a root folder of its own.

The programs of this machine take the place of the base image: /usr and Python are mounted read-only.
"""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.architecture.tree import ROOT

_STEP = re.compile(r"([A-Z]+)\s+(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$\{(\w+)\}")
#: Folders of this machine that a root folder shows, if they exist and are no links.
_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc/ssl", "/etc/alternatives")
_BASE_PATH = f"{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin"


@dataclass
class Stage:
    """A stage of the build, or the image that the last stage gives."""

    root: Path
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": _BASE_PATH})
    arguments: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    health: list[str] = field(default_factory=list)
    #: ENTRYPOINT and CMD.
    command: list[str] = field(default_factory=list)
    #: The instructions that only an engine uses, such as USER.
    others: dict[str, str] = field(default_factory=dict)

    def filled(self, text: str) -> str:
        """Return a text with the values of its variables."""
        known = self.arguments | self.environment
        return _VARIABLE.sub(lambda found: known[found[1]], text)

    def path(self, inside: str) -> Path:
        return self.root / str(Path("/", self.folder, inside)).lstrip("/")


class Builder:
    """The build of an image in the folder `place`. pip finds packages only in `wheels`. `arguments` are the values that
    replace the defaults of ARG."""

    def __init__(self, place: Path, wheels: Path, arguments: Mapping[str, str]) -> None:
        self._place = place
        self._wheels = wheels
        self._given = arguments
        self._stages: dict[str, Stage] = {}

    def build(self) -> Stage:
        """Execute all steps, and return the last stage."""
        stage: Stage | None = None
        for word, rest in steps((ROOT / "Containerfile").read_text(encoding="utf-8")):
            if word == "FROM":
                name = rest.partition(" AS ")[2] or "image"
                stage = self._stages[name] = Stage(_root(self._place / name))
            elif stage is None:
                assert word == "ARG", f"{word} before FROM"
            elif word == "RUN":
                self._run(stage, rest)
            else:
                self._execute(stage, word, stage.filled(rest))
        assert stage is not None
        return stage

    def _run(self, stage: Stage, rest: str) -> None:
        pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels", "HOME": "/tmp"}
        command = [*inside(stage, writable=True), "--ro-bind", str(self._wheels), "/wheels", "sh", "-ec", rest]
        run(command, stage.environment | stage.arguments | pip)

    def _execute(self, stage: Stage, word: str, rest: str) -> None:
        match word:
            case "ARG":
                name, _, default = rest.partition("=")
                stage.arguments[name] = self._given.get(name, default)
            case "COPY":
                self._copy(stage, shlex.split(rest))
            case "ENV":
                stage.environment |= dict(pair.partition("=")[::2] for pair in shlex.split(rest))
            case "WORKDIR":
                stage.folder = str(Path(stage.folder, rest))
                stage.path(".").mkdir(parents=True, exist_ok=True)
            case "HEALTHCHECK":
                stage.health = json.loads(rest.partition("CMD ")[2])
            case "ENTRYPOINT" | "CMD":
                stage.command += json.loads(rest)
            case "USER" | "VOLUME" | "LABEL" | "EXPOSE" | "STOPSIGNAL":
                stage.others[word] = rest
            case _:
                raise AssertionError(f"the test cannot execute {word}")

    def _copy(self, stage: Stage, words: list[str]) -> None:
        *options, source, target = words
        place = stage.path(target)
        if not options:
            assert source == "."
            shutil.copytree(ROOT, place, symlinks=True, ignore=_ignored, dirs_exist_ok=True)
            return
        (option,) = options
        shutil.copytree(self._stages[option.removeprefix("--from=")].path(source), place, symlinks=True)


def steps(text: str) -> Iterator[tuple[str, str]]:
    """Yield the steps: the instruction, and the rest without line breaks."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    for step in "\n".join(lines).replace("\\\n", " ").splitlines():
        found = _STEP.fullmatch(step)
        assert found is not None, step
        yield found[1], " ".join(found[2].split())


def _root(folder: Path) -> Path:
    for name in ("etc", "tmp", "dev", "proc", "opt"):
        (folder / name).mkdir(parents=True)
    # bubblewrap would make the folders above Python private.
    (folder / sys.base_prefix.lstrip("/")).mkdir(parents=True, exist_ok=True)
    for name in ("passwd", "group", "ld.so.cache"):
        shutil.copy(Path("/etc", name), folder / "etc" / name)
    return folder


def _ignored(folder: str, names: Sequence[str]) -> set[str]:
    """Return the names that `.containerignore` excludes."""
    lines = (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    below = [pattern.removeprefix("**/") for pattern in patterns if pattern.startswith("**/")]
    here = [*below, *(each for each in patterns if not each.startswith("**/"))] if Path(folder) == ROOT else below
    return {name for name in names for pattern in here if fnmatch.fnmatch(name, pattern)}


def inside(stage: Stage, *, writable: bool) -> list[str]:
    """Return the beginning of a command that runs in the root folder of a stage."""
    command = ["bwrap", "--die-with-parent", "--bind" if writable else "--ro-bind", str(stage.root), "/"]
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            command += ["--symlink", str(path.readlink()), name] if writable else []
        elif path.is_dir():
            command += ["--ro-bind", name, name]
    if not sys.base_prefix.startswith("/usr"):
        command += ["--ro-bind", sys.base_prefix, sys.base_prefix]
    return [*command, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", stage.folder]


def run(command: Sequence[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout
