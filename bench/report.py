"""The report of a benchmark, as a table and as JSON: figures, their controls, and their verdicts by gate and goal."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

#: The number of cores. Wall times are not reliable if the load average before the run is higher than this number, or
#: if the load average after the run, which itself loads the machine, is higher than this number plus one.
CORES = os.cpu_count() or 1


class Verdict(StrEnum):
    GOAL = "goal reached"
    GATE = "gate passed"
    DEFECT = "DEFECT"
    NONE = "-"


@dataclass(frozen=True, slots=True)
class Target:
    """The targets of a figure."""

    #: A figure that misses the gate is a defect.
    gate: float
    goal: float
    #: True if the targets apply to the ratio to the control instead of the value.
    of_ratio: bool = False
    #: True if lower figures are better.
    lower: bool = False

    def judge(self, figure: float) -> Verdict:
        sign = -1 if self.lower else 1
        if sign * figure >= sign * self.goal:
            return Verdict.GOAL
        return Verdict.GATE if sign * figure >= sign * self.gate else Verdict.DEFECT


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the report."""

    name: str
    value: float
    unit: str
    #: The value of the control, measured in the same run and in the same unit.
    control: float | None = None
    #: The description of the control.
    against: str = ""
    #: The median over all rounds of value ÷ control. It may differ from the quotient of the two medians.
    ratio: float | None = None
    target: Target | None = None

    @property
    def verdict(self) -> Verdict:
        if self.target is None:
            return Verdict.NONE
        judged = self.ratio if self.target.of_ratio else self.value
        return self.target.judge(judged) if judged is not None else Verdict.NONE

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Run:
    """All figures of one call of the program."""

    figures: Sequence[Figure]
    #: True if the run did less work than a full one.
    short: bool
    #: The load averages of one minute, before and after the run.
    load_before: float
    load_after: float
    #: The time, the machine and the commit.
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def busy(self) -> bool:
        return self.load_before > CORES or self.load_after > CORES + 1

    def to_json(self) -> dict[str, Any]:
        return {
            **self.about,
            "short": self.short,
            "load": [self.load_before, self.load_after],
            "busy": self.busy,
            "figures": [figure.to_json() for figure in self.figures],
        }

    def write(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


HEADINGS = ("measure", "value", "control", "ratio", "gate", "goal", "verdict")


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as a table with the columns of `HEADINGS`, followed by a description of each control."""
    rows = [HEADINGS, *(_cells(figure) for figure in figures)]
    lines = aligned(rows)
    controls = [f"control of “{figure.name}”: {figure.against}" for figure in figures if figure.against]
    return "\n".join([*lines, "", *controls])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows as lines with aligned columns. The first row has the headings, which are underlined."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]


def _cells(figure: Figure) -> tuple[str, ...]:
    target = figure.target
    unit = "" if target is None or target.of_ratio else f" {figure.unit}"
    sign = "≤" if target is not None and target.lower else "≥"
    return (
        figure.name,
        f"{number(figure.value)} {figure.unit}".rstrip(),
        "" if figure.control is None else f"{number(figure.control)} {figure.unit}".rstrip(),
        "" if figure.ratio is None else f"{figure.ratio:.2f}",
        "" if target is None else f"{sign} {number(target.gate)}{unit}".rstrip(),
        "" if target is None else f"{sign} {number(target.goal)}{unit}".rstrip(),
        figure.verdict,
    )


def number(value: float) -> str:
    """Return the number with three significant digits; from 100 on, without decimals."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3g}"
