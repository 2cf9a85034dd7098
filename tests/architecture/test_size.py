"""Modules of 100 to 400 lines; past 600, or 60 in a function, they are split by reason to change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median

from tests.architecture.tree import functions, modules, python_files, relative

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
    figures.append(summary("functions", sizes_of_functions(modules()), FUNCTION_AIM))
    assert over(sizes_of_functions(python_files()), FUNCTION_LIMIT) == {}
