"""Packages of scripts: only allowed ones are installed, each set once, and no name can be read by pip as something
else."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from arvis.domain.errors import ToolError
from arvis.ports.sandbox import Answerer, Finished, Task
from arvis.tools.code import Interpreter, PackageSets, daemons_interpreter
from arvis.tools.code.packages import MOST_SETS

PYTHON = Interpreter(Path("/opt/python/bin/python3"), (Path("/opt/python"),), "3.11", Path("/opt/pip"))


class PipSandbox:
    """A `Sandbox` in which pip returns the result `ends`."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.ends = Finished(0, b"", b"")

    async def refusal(self) -> str | None:
        return None

    async def run(self, task: Task, *, answer: Answerer | None = None) -> Finished:
        self.tasks.append(task)
        (task.folder / "installed").write_text(" ".join(task.argv[task.argv.index("--") + 1 :]), encoding="utf-8")
        await asyncio.sleep(0)
        return self.ends


@pytest.fixture
def sandbox() -> PipSandbox:
    return PipSandbox()


def shelf(sandbox: PipSandbox, folder: Path, *allowed: str, python: Interpreter = PYTHON) -> PackageSets:
    settings = {"PIP_INDEX_URL": "http://127.0.0.1/simple"}
    return PackageSets(folder=folder, sandbox=sandbox, interpreter=python, allowed=allowed, settings=settings)


def sets_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def installed(shelf: PackageSets, *libraries: str) -> str | None:
    async with shelf.held(libraries) as folder:
        return None if folder is None else (folder / "installed").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "library",
    [
        "",
        "-r",
        "--index-url=http://x",
        "--pre",
        "six --pre",
        "six\n--pre",
        "six;x",
        "six @ http://127.0.0.1/x.whl",
        "http://127.0.0.1/x.whl",
        "git+https://x/y",
        "./six",
        "../six",
        "/tmp/six.whl",
        "six[extra]",
        "six>=1",
        "six==",
        "six==1;python_version>'3'",
        "six==--pre",
        "$(id)",
        "s\u0131x",
        "six\0",
        "x" * 70,
        "six==1" + "0" * 50,
    ],
)
async def test_what_is_no_plain_name_is_refused(library: str, sandbox: PipSandbox, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="is not a package"):
        await installed(shelf(sandbox, tmp_path, "*", "six"), library)
    assert sandbox.tasks == []


async def test_what_is_not_allowed_is_refused(sandbox: PipSandbox, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="None are allowed: use the standard library"):
        await installed(shelf(sandbox, tmp_path), "six")
    with pytest.raises(ToolError, match=r"evil is not allowed here. Allowed: numpy, six"):
        await installed(shelf(sandbox, tmp_path, "six", "numpy"), "six", "evil")
    with pytest.raises(ToolError, match="Too many"):
        await installed(shelf(sandbox, tmp_path, "*"), *(f"p{number}" for number in range(11)))
    assert sandbox.tasks == []
    assert sets_in(tmp_path) == []


async def test_what_python_has_is_never_fetched(sandbox: PipSandbox, tmp_path: Path) -> None:
    assert await installed(shelf(sandbox, tmp_path, "*"), "json", "re") is None
    assert await installed(shelf(sandbox, tmp_path), "json") is None
    assert sandbox.tasks == []


async def test_pip_is_run_for_wheels_and_nothing_else(sandbox: PipSandbox, tmp_path: Path) -> None:
    assert await installed(shelf(sandbox, tmp_path, "my.pkg", "six"), "six==1.16.0", "My_Pkg") == "my-pkg six==1.16.0"
    (task,) = sandbox.tasks
    assert task.network
    assert list(task.argv[:4]) == ["/opt/python/bin/python3", "-I", "/opt/pip", "install"]
    assert ":all:" in task.argv
    assert task.argv[task.argv.index(":all:") - 1] == "--only-binary"
    assert set(task.environment) == {"PIP_INDEX_URL", "TMPDIR"}
    assert list(task.readable) == [Path("/opt/python"), Path("/opt/pip")]


async def test_a_set_is_fetched_once_whoever_asks(sandbox: PipSandbox, tmp_path: Path) -> None:
    packages = shelf(sandbox, tmp_path, "a", "b")
    await asyncio.gather(installed(packages, "a", "b"), installed(packages, "B", "a", "a"))
    assert await installed(shelf(sandbox, tmp_path, "a", "b"), "b", "a") == "a b"
    assert len(sandbox.tasks) == 1
    await installed(packages, "a")
    assert len(sandbox.tasks) == 2


async def test_a_failed_set_is_told_and_tried_again(sandbox: PipSandbox, tmp_path: Path) -> None:
    packages = shelf(sandbox, tmp_path, "a")
    sandbox.ends = Finished(1, b"", b"ERROR: No matching\n distribution")
    with pytest.raises(ToolError, match=r"could not be installed \(a\): ERROR: No matching distribution"):
        await installed(packages, "a")
    sandbox.ends = Finished(-9, b"", b"", timed_out=True)
    with pytest.raises(ToolError, match="longer than 300 seconds"):
        await installed(packages, "a")
    sandbox.ends = Finished(0, b"", b"")
    assert await installed(packages, "a") == "a"
    assert [path.suffix for path in sets_in(tmp_path)] == [""]


async def test_without_pip_it_is_said(sandbox: PipSandbox, tmp_path: Path) -> None:
    bare = Interpreter(PYTHON.program, (), "3.11", None)
    with pytest.raises(ToolError, match="has no pip"):
        await installed(shelf(sandbox, tmp_path, "a", python=bare), "a")


async def test_the_sets_that_were_used_last_stay(sandbox: PipSandbox, tmp_path: Path) -> None:
    packages = shelf(sandbox, tmp_path, "*")
    async with packages.held(["p0"]) as held, packages.held(["p1"]) as second:
        assert held is not None
        assert second is not None
        os.utime(held, (0, 0))
        for number in range(2, MOST_SETS + 2):
            await installed(packages, f"p{number}")
        assert held.is_dir()
    (tmp_path / "left.part").mkdir()
    os.utime(second, (1, 1))
    await installed(packages, "p1")
    await installed(packages, "new")
    names = {path.name for path in sets_in(tmp_path)}
    assert held.name not in names
    assert second.name in names
    assert "left.part" not in names
    assert len(names) == MOST_SETS


def test_the_path_of_pip_has_no_symbolic_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "releases" / "5"
    (installed / "pip").mkdir(parents=True)
    (installed / "pip" / "__init__.py").touch()
    current = tmp_path / "current"
    current.symlink_to(installed)
    monkeypatch.syspath_prepend(current)
    assert daemons_interpreter().pip == installed.resolve() / "pip"
