"""`python -m tests.architecture.metrics [ROOT]`: measure how readable the code is.

All figures but the walk are read from the source of ROOT (default: this repository), so that two trees can be compared.
The walk lists the functions of the project that run for one message, from its acceptance to its delivery. It always
uses this repository.
"""

from __future__ import annotations

import ast
import asyncio
import re
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import CodeType, FrameType
from typing import Any, Self

from tests.architecture.tree import own_files

HERE = Path(__file__).parents[2]
PACKAGES = ("arvis", "connectors")
WH = re.compile(r"\W*(What|Whatever|Whether|Who|Whoever|Whose|Which|That|How|Where|When|Why)\b")
#: An expression that reads the state of an execution by a literal key.
STATE_KEY = re.compile(r"\bstate(?:\[\"|\.get\(\"|\[f\")")
#: A citation of a document that is not in the repository: `behaviour 1.10`, `queue.md`, `reliability.md §2`.
ABSENT = re.compile(
    r"\b(?:behaviour|reliability|interfaces|ecosystem|packaging|peers|queue)(?:\.md|\s+§?\d+(?:\.\d+)*)"
)
IMPORT = re.compile(r"""(?:^|\n)\s*(?:import|export)[^;'"]*?from\s+["'](\.[^"']+)["']""")
SHORT = 5


def python_files(root: Path) -> list[Path]:
    return [file for package in PACKAGES for file in sorted((root / package).rglob("*.py"))]


def script_files(root: Path) -> list[Path]:
    ui = root / "arvis/web/ui/src"
    return sorted(file for file in ui.rglob("*.ts*") if not file.name.endswith(".d.ts"))


def lines_of(files: list[Path]) -> int:
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def import_lines(tree: ast.Module) -> int:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in nodes)


def docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text


def helpers_called_once(trees: dict[Path, ast.Module]) -> int:
    """Count the private functions of at most SHORT lines whose only use in their module is one call.

    Functions that are only named do not count: routes, the scripts of a transaction, callbacks.
    """
    found = 0
    for tree in trees.values():
        uses: Counter[str] = Counter()
        called: set[str] = set()
        short: list[str] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Name | ast.Attribute):
                uses[used_name(node)] += 1
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                called.add(used_name(node.func))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("_"):
                body = (node.end_lineno or node.lineno) - node.lineno + 1
                if body <= SHORT and not node.name.startswith("__"):
                    short.append(node.name)
        found += sum(uses[name] == 1 and name in called for name in short)
    return found


def used_name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def small_modules_of_one_importer(trees: dict[Path, ast.Module], root: Path) -> list[str]:
    """Name the modules of fewer than 60 lines that only one other module imports."""
    importers: Counter[str] = Counter()
    for path, tree in trees.items():
        wanted = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                wanted |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                wanted |= {alias.name for alias in node.names}
        importers.update(wanted - {module_name(path, root)})
    small = [path for path in trees if path.name != "__init__.py" and lines_of([path]) < 60]
    return sorted(module_name(path, root) for path in small if importers[module_name(path, root)] == 1)


def module_name(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts)


def cyclic_scripts(files: list[Path]) -> int:
    """Count the TypeScript modules that import themselves through others."""
    known = {file.resolve() for file in files}
    edges: dict[Path, set[Path]] = {}
    for file in files:
        edges[file.resolve()] = set()
        for target in IMPORT.findall(file.read_text(encoding="utf-8")):
            base = (file.parent / target).resolve()
            tries = [base, Path(f"{base}.ts"), Path(f"{base}.tsx"), base / "index.ts", base / "index.tsx"]
            edges[file.resolve()] |= {one for one in tries if one in known}
    return sum(_reaches(start, edges) for start in edges)


def _reaches(start: Path, edges: dict[Path, set[Path]]) -> bool:
    seen: set[Path] = set()
    waiting = [*edges[start]]
    while waiting:
        here = waiting.pop()
        if here == start:
            return True
        if here not in seen:
            seen.add(here)
            waiting += edges[here]
    return False


def static_figures(root: Path) -> dict[str, str]:
    files = python_files(root)
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    trees = {file: ast.parse(text) for file, text in texts.items()}
    lines = lines_of(files)
    imported = sum(import_lines(tree) for tree in trees.values())
    docs = [text for tree in trees.values() for text in docstrings(tree)]
    odd = sum(bool(WH.match(text)) for text in docs)
    once = helpers_called_once(trees)
    tests = own_files(root / "tests")
    scripts = script_files(root)
    keys = {file: len(STATE_KEY.findall(text)) for file, text in texts.items()}
    small = small_modules_of_one_importer(trees, root)
    return {
        "modules · median lines": f"{len(files)} · {median(lines_of([file]) for file in files):g}",
        "imports, share of lines": f"{imported / lines:.1%}",
        "helpers of ≤ 5 lines called once, per 1,000 lines": f"{1000 * once / lines:.1f}",
        "modules under 60 lines with one importer": str(len(small)),
        "docstrings that begin with a wh-word": f"{odd / len(docs):.1%} ({odd} of {len(docs)})",
        "string look-ups in a state": f"{sum(keys.values())} in {sum(map(bool, keys.values()))} files",
        "references to absent documents": f"{absent(files)} (tests {absent(tests)})",
        "TypeScript modules in import cycles": f"{cyclic_scripts(scripts)} of {len(scripts)}",
        "lines: Python · TypeScript · tests": f"{lines:,} · {lines_of(scripts):,} · {lines_of(tests):,}",
    }


def absent(files: list[Path]) -> int:
    return sum(len(ABSENT.findall(file.read_text(encoding="utf-8"))) for file in files)


class Walk:
    """The functions of the project that run in any thread while this is open, in the order of their calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, int]] = []
        self._closed = False
        self._begins: dict[CodeType, int] = {}
        self._roots = tuple(str(HERE / package) + "/" for package in PACKAGES)

    def _see(self, frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(self._roots) or code.co_name.startswith("<"):
            return
        # A coroutine that resumes after an `await` causes another call event, at a later instruction.
        begins_at = self._begins.setdefault(code, frame.f_lasti)
        if frame.f_lasti <= begins_at and not self._closed:
            self.calls.append((code.co_filename, code.co_qualname, code.co_firstlineno))

    def __enter__(self) -> Self:
        if sys.version_info >= (3, 12):
            threading.setprofile_all_threads(self._see)
        else:
            threading.setprofile(self._see)
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True  # threads that began before keep their profile function
        sys.setprofile(None)
        threading.setprofile(None)

    def figures(self) -> str:
        files = [file for file, _, _ in self.calls]
        changes = sum(before != after for before, after in pairwise(files))
        return f"{len(set(self.calls))} functions in {len(set(files))} files, {len(files)} calls, {changes} changes of file"


async def walk_of_a_hello() -> dict[str, str]:
    """Let a scripted model answer one plain message over a scripted platform.

    The second message is measured, so all modules are loaded.
    """
    from arvis.domain.events import DeliverySettled  # noqa: PLC0415 only for this tree
    from arvis.store.open import Database  # noqa: PLC0415 only for this tree
    from tests.flows.app_harness import open_app  # noqa: PLC0415 only for this tree

    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "arvis.db", None, Path(folder))
        walk = Walk()
        threading.setprofile(walk._see)  # the threads of the store begin with the harness
        async with open_app(database) as app:
            await app.say("Hello")
            await app.until_sent(1)
            sent = asyncio.Event()
            app.bus.subscribe(DeliverySettled, lambda _: sent.set())
            walk.calls.clear()
            with walk:
                await app.say("Hello again")
                await sent.wait()
    return {"one plain hello, accepted to sent": walk.figures()}


def main() -> None:
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE
    figures = static_figures(root)
    if root == HERE:
        figures |= asyncio.run(walk_of_a_hello())
    for name, value in figures.items():
        print(f"{name:55} {value}")


if __name__ == "__main__":
    main()
