"""Every imported library is declared.

A library that only comes as a dependency of another one may disappear with the next version.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement

from tests.architecture.tree import ROOT, own_files, parse

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = [each for group in PROJECT["optional-dependencies"].values() for each in group]

#: Modules whose library is declared under another name, or comes with a declared library.
BELONGS_TO = {
    "anyio": "mcp",
    "httpx2": "mcp",
    "jsonschema": "mcp",
    "mcp_types": "mcp",
    "pydantic_core": "pydantic",
    "referencing": "mcp",
    "whisper": "openai-whisper",
}


def _declared() -> set[str]:
    return {_plain(Requirement(each).name) for each in [*PROJECT["dependencies"], *EXTRAS]}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _imports(folder: str) -> Iterator[tuple[str, str]]:
    for file in own_files(ROOT / folder):
        for node in ast.walk(parse(file)):
            for module in _named(node):
                yield module.partition(".")[0], str(file.relative_to(ROOT))


def _named(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []


def test_every_library_that_is_imported_is_declared() -> None:
    declared, known = _declared(), packages_distributions()
    missing: dict[str, set[str]] = {}
    for module, file in [*_imports("arvis"), *_imports("connectors")]:
        if (
            module in sys.stdlib_module_names
            or module in {"arvis", "connectors"}
            or Path(file).parts[:2] == ("arvis", "testing")
        ):
            continue
        distributions = {_plain(name) for name in (*known.get(module, ()), BELONGS_TO.get(module, module))}
        if not distributions & declared:
            missing.setdefault(module, set()).add(file)
    assert missing == {}
