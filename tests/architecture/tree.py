"""The project's own files, for tests that read them."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"

#: The packages that run in production. The rules about size and exceptions apply to them.
PACKAGES = ("arvis", "connectors")


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the project."""

    where: str  # `file:line name`
    lines: int  # counted from its first decorator to its end


def modules() -> list[Path]:
    return [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]


def own_files(folder: Path) -> list[Path]:
    """Return the Python files below a folder, without those of installed packages."""
    return sorted(file for file in folder.rglob("*.py") if "node_modules" not in file.parts)


def python_files() -> list[Path]:
    return [*modules(), *own_files(TESTS), *own_files(ROOT / "bench")]


def kept_files() -> list[Path]:
    """Return the files that git tracks or would add; in an unpacked sdist, all files but generated ones."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return [file for file in ROOT.rglob("*") if file.is_file() and not _made(file)]
    command = [git, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def _made(file: Path) -> bool:
    parts = file.relative_to(ROOT).parts
    return any(part.startswith(".") and part not in {".ci", ".gitignore"} for part in parts) or bool(
        {"__pycache__", "node_modules", "data", "dist", "build"} & set(parts)
    )


@cache
def parse(file: Path) -> ast.Module:
    """Return the tree of a file. The trees are kept until the tests of a file end."""
    return ast.parse(file.read_text(encoding="utf-8"), filename=str(file))


def functions(file: Path) -> Iterator[Function]:
    for node in ast.walk(parse(file)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            last = node.end_lineno or node.lineno
            yield Function(f"{relative(file)}:{node.lineno} {node.name}", last - first + 1)


def lines_with(pattern: re.Pattern[str], files: Iterable[Path]) -> list[str]:
    """Return `file:line: text` of each line that matches the pattern; binary files are skipped."""
    found = []
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        lines = enumerate(text.splitlines(), start=1)
        found += [f"{relative(file)}:{number}: {line.strip()}" for number, line in lines if pattern.search(line)]
    return found


def relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()
