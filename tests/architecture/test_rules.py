"""Rules that no linter checks: the allowed places of broad handlers, SQL, versions and addresses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, kept_files, lines_with, modules, parse, python_files, relative

#: The seven places that may catch everything; rule 3 of CONTRIBUTING.md lists them.
BROAD_HANDLERS = {
    "job boundary": re.compile(r"arvis/queue/"),
    "bus subscriber": re.compile(r"arvis/bus\.py"),
    "connector supervision": re.compile(r"arvis/process/supervisor\.py"),
    "web handler": re.compile(r"arvis/web/"),
    "writer of the store": re.compile(r"arvis/store/"),
    "creation and call of a tool": re.compile(r"arvis/(graphs/agent/tool_calls|tools/registry)\.py"),
    "creation and call of a plugin": re.compile(r"arvis/plugins/(guard|registry)\.py"),
}
BROAD = {"Exception", "BaseException"}

SQL = re.compile(
    r"\s*(SELECT\s[^;]*\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|WITH\s+\w+\s+AS|PRAGMA|BEGIN\b|COMMIT\b"
    r"|ROLLBACK\b|SAVEPOINT|(CREATE|DROP|ALTER)\s+(UNIQUE\s+)?(TABLE|INDEX|VIEW|TRIGGER))\b"
)
SQL_FILES = re.compile(r"(migrations|arvis/store/queries(/postgres|/sqlite)?|tests/fixtures/unfinished)/[^/]+\.sql")

# The brackets keep this file from matching its own patterns.
REGISTRIES = re.compile(r"py[p]i\.org|python[h]osted|npm[j]s\.(org|com)|deb[i]an\.org/debian")
MACHINE_PATHS = re.compile(r"(?<![\w.~}])/(work|root|home|Users)/\w")
STANDARD_DATACLASS = re.compile(r"^from dataclasses import .*\bdataclass\b|@dataclasses\.dataclass")
MOCKS = re.compile(r"\bunittest(\.| import )mock\b|^\s*(from|import) mock\b")
TYPE_ONLY = re.compile(r"\b(import|typing\.)\s*TYPE_CHECKING\b|\bif TYPE_CHECKING\b")
VERSIONS = re.compile(r"""^(__version__|version)\s*=\s*["']""")


def catches_everything(node: ast.AST) -> bool:
    """Return whether a handler catches everything.

    A handler that ends by raising the error again only cleans up and does not count.
    """
    match node:
        case ast.ExceptHandler(body=[*_, ast.Raise(exc=None)]):
            return False
        case ast.ExceptHandler(type=None):
            return True
        case ast.ExceptHandler(type=ast.expr() as caught):
            return _names_broad(caught)
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress"), args=args):
            return any(_names_broad(caught) for caught in args)
    return False


def _names_broad(caught: ast.expr) -> bool:
    return any(isinstance(name, ast.Name) and name.id in BROAD for name in ast.walk(caught))


def broad_handlers(file: Path) -> Iterator[tuple[int, bool]]:
    """Yield the line of each broad handler, and whether a comment on that line or next to it gives the reason."""
    lines = ["", *file.read_text(encoding="utf-8").splitlines(), ""]
    for node in ast.walk(parse(file)):
        if isinstance(node, ast.ExceptHandler | ast.Call) and catches_everything(node):
            above, line, below = lines[node.lineno - 1 : node.lineno + 2]
            yield node.lineno, "# " in line or above.lstrip().startswith("#") or below.lstrip().startswith("#")


def sql_texts(file: Path) -> Iterator[int]:
    for node in ast.walk(parse(file)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.match(node.value):
            yield node.lineno


def test_everything_is_caught_only_in_the_seven_places(figures: list[str]) -> None:
    found = {relative(file): list(broad_handlers(file)) for file in modules()}
    counts = {
        place: sum(len(at) for name, at in found.items() if path.match(name)) for place, path in BROAD_HANDLERS.items()
    }
    figures.append("broad handlers: " + ", ".join(f"{place} {count}" for place, count in counts.items()))
    elsewhere = [name for name, at in found.items() if at and not any(p.match(name) for p in BROAD_HANDLERS.values())]
    assert elsewhere == []


def test_each_broad_handler_has_its_reason() -> None:
    found = [(relative(file), line) for file in modules() for line, reasoned in broad_handlers(file) if not reasoned]
    assert found == []


def test_sql_stands_only_in_the_store() -> None:
    outside = [file for file in modules() if not relative(file).startswith("arvis/store/")]
    assert [(relative(file), line) for file in outside for line in sql_texts(file)] == []


def test_sql_files_lie_in_few_folders() -> None:
    """Other folders hold no `.sql` file, except for the unfinished databases that the tests restore."""
    names = [relative(file) for file in kept_files() if file.suffix == ".sql"]
    assert [name for name in names if not SQL_FILES.fullmatch(name)] == []


def test_no_import_is_for_types_only() -> None:
    assert lines_with(TYPE_ONLY, python_files()) == []


def test_dataclasses_are_those_of_the_domain() -> None:
    """The decorator of the standard library makes the start and each object slower."""
    assert lines_with(STANDARD_DATACLASS, modules()) == []


def test_no_mocking_library() -> None:
    assert lines_with(MOCKS, python_files()) == []


def test_no_file_names_a_registry() -> None:
    assert lines_with(REGISTRIES, kept_files()) == []


def test_no_file_names_a_path_of_one_machine() -> None:
    assert lines_with(MACHINE_PATHS, kept_files()) == []


def test_constraints_are_plain_lines() -> None:
    plain = re.compile(r"[a-z0-9-]+==[\w.]+( ; [^/@]+)?")
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not plain.fullmatch(line)] == []


def test_the_version_stands_in_one_place() -> None:
    files = [file for file in kept_files() if file.suffix in {".py", ".toml", ".cfg"}]
    assert [line.split(":")[0] for line in lines_with(VERSIONS, files)] == ["arvis/__init__.py"]


@pytest.mark.parametrize(
    "text",
    [
        "try: pass\nexcept: pass",
        "try: pass\nexcept Exception: pass",
        "try: pass\nexcept (ValueError, BaseException): pass",
        "with contextlib.suppress(Exception): pass",
    ],
)
def test_a_broad_handler_is_seen(text: str) -> None:
    assert any(catches_everything(node) for node in ast.walk(ast.parse(text)))


@pytest.mark.parametrize(
    "text", ["try: pass\nexcept (ValueError, OSError): pass", "try: pass\nexcept BaseException:\n    undo()\n    raise"]
)
def test_a_narrow_handler_is_none(text: str) -> None:
    assert not any(catches_everything(node) for node in ast.walk(ast.parse(text)))


@pytest.mark.parametrize("text", ["SELECT a FROM b", "\n  INSERT INTO a", "UPDATE a SET b = 1", "PRAGMA x", "COMMIT"])
def test_sql_is_seen(text: str) -> None:
    assert SQL.match(text)


@pytest.mark.parametrize("text", ["Select an agent", "Update agents", "Begin", "with a friend as a guest"])
def test_prose_is_no_sql(text: str) -> None:
    assert not SQL.match(text)
