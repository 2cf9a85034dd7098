"""Modules should have 100 to 400 lines; a module over 600 lines or a function over 60 is split by reason to change.

Very small units are limited, too: a small module with one importer belongs into that importer, and a private helper
that only passes its arguments on belongs into its caller. Exceptions need a reason.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from tests.architecture.metrics import SHORT, small_modules_of_one_importer
from tests.architecture.tree import PACKAGES, ROOT, functions, modules, parse, python_files, relative

MODULE_AIM, MODULE_LIMIT = 400, 600
FUNCTION_AIM, FUNCTION_LIMIT = 20, 60


def sizes_of_modules(files: list[Path]) -> dict[str, int]:
    return {relative(file): len(file.read_text(encoding="utf-8").splitlines()) for file in files}


def sizes_of_functions(files: list[Path]) -> dict[str, int]:
    return {function.where: function.lines for file in files for function in functions(file)}


def over(sizes: Mapping[str, int], limit: int) -> dict[str, int]:
    return {name: lines for name, lines in sizes.items() if lines > limit}


def summary(what: str, sizes: Mapping[str, int], aim: int) -> str:
    name, lines = max(sizes.items(), key=lambda size: size[1])
    beyond = len(over(sizes, aim))
    return (
        f"{what}: {len(sizes)}, median {median(sizes.values()):g} lines, {beyond} past {aim}, largest {lines} ({name})"
    )


def test_no_module_is_past_the_limit(figures: list[str]) -> None:
    figures.append(summary("modules", sizes_of_modules(modules()), MODULE_AIM))
    assert over(sizes_of_modules(python_files()), MODULE_LIMIT) == {}


def test_no_function_is_past_the_limit(figures: list[str]) -> None:
    sizes = sizes_of_functions(python_files())
    product = {where: lines for where, lines in sizes.items() if where.startswith(PACKAGES)}
    figures.append(summary("functions", product, FUNCTION_AIM))
    assert over(sizes, FUNCTION_LIMIT) == {}


#: Modules of fewer than 60 lines with one importer that stay separate, with the reason.
ALONE: Mapping[str, str] = {}


def test_a_small_module_with_one_importer_has_a_reason() -> None:
    trees = {file: parse(file) for file in modules()}
    assert set(small_modules_of_one_importer(trees, ROOT)) == set(ALONE)


#: Private helpers that only forward to another function and stay, with the reason.
FORWARDERS: Mapping[str, str] = {
    "arvis/process/subprocesses.py _wait": "it gives the wait for a process the same type as the other tasks",
}


def test_a_private_helper_that_only_forwards_has_a_reason() -> None:
    found = [f"{relative(file)} {name}" for file in modules() for name in forwarders(parse(file))]
    assert set(found) == set(FORWARDERS)


def forwarders(tree: ast.Module) -> Iterator[str]:
    """Yield the private functions that only forward: at most SHORT lines, one caller, and one call with names,
    attributes and constants as its arguments."""
    names: Counter[str] = Counter()
    called: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            names[_name(node)] += 1
        elif isinstance(node, ast.Call):
            called[_name(node.func)] += 1
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name.startswith("_")
            and not node.name.startswith("__")
            and names[node.name] == called[node.name] == 1
            and _only_forwards(node)
        ):
            yield node.name


def _only_forwards(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function only forwards. A decorated function does more than that."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    if function.decorator_list or len(body) != 1 or (function.end_lineno or 0) - function.lineno >= SHORT:
        return False
    statement = body[0]
    value = statement.value if isinstance(statement, ast.Return | ast.Expr) else None
    call = value.value if isinstance(value, ast.Await) else value
    if not isinstance(call, ast.Call):
        return False
    return all(_is_passed_on(each) for each in [call.func, *call.args, *(keyword.value for keyword in call.keywords)])


def _is_passed_on(value: ast.expr) -> bool:
    if isinstance(value, ast.Attribute | ast.Starred):
        return _is_passed_on(value.value)
    return isinstance(value, ast.Name | ast.Constant)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
