"""The benchmarks run and give figures that mean something. Never how fast: that is for a quiet machine and a reader."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from bench.__main__ import ROWS, measure
from bench.report import CORES, Figure, Run, Target, Verdict, number, table
from bench.rounds import Paired, in_turn

#: Those that need no large database and no long watch.
CHEAP = ["enqueue", "pickup", "drain", "lanes", "prompt", "size"]


def left_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_the_cheap_rows_give_finite_figures(tmp_path: Path) -> None:
    run = await measure(CHEAP, folder=tmp_path, short=True)
    figures = {figure.name: figure for figure in run.figures}
    assert len(figures) == len(run.figures) == 8
    for figure in run.figures:
        assert math.isfinite(figure.value), figure
        assert figure.ratio is None or (math.isfinite(figure.ratio) and figure.ratio > 0), figure
    assert figures["overlaps in 200 lanes × 10"].value == figures["inversions in 200 lanes × 10"].value == 0
    assert figures["prompt for “hello”"].value > 0.1
    assert left_in(tmp_path) == []


async def test_what_is_written_can_be_read_again(tmp_path: Path) -> None:
    run = await measure(["size"], folder=tmp_path, short=True)
    run.write(tmp_path / "figures.json")
    document = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert document["short"] is True
    assert [figure["name"] for figure in document["figures"]] == ["installed size"]
    assert document["figures"][0]["verdict"] in set(Verdict)


async def test_control_and_measure_take_turns() -> None:
    order: list[str] = []

    async def control() -> float:
        order.append("control")
        return 2.0

    async def work() -> float:
        order.append("measure")
        return 1.0

    assert (await in_turn(2, control, work)).ratio == 0.5
    assert order == ["control", "measure"] * 3


def test_the_ratio_is_the_median_of_the_rounds() -> None:
    paired = Paired(values=(1.0, 2.0, 90.0), controls=(1.0, 4.0, 100.0))
    assert (paired.value, paired.control, paired.ratio) == (2.0, 4.0, 0.9)


@pytest.mark.parametrize(
    ("target", "judged", "verdict"),
    [
        (Target(gate=2, goal=5), 5, Verdict.GOAL),
        (Target(gate=2, goal=5), 2, Verdict.GATE),
        (Target(gate=2, goal=5), 1.9, Verdict.DEFECT),
        (Target(gate=6, goal=3, lower=True), 3, Verdict.GOAL),
        (Target(gate=6, goal=3, lower=True), 6, Verdict.GATE),
        (Target(gate=6, goal=3, lower=True), 6.1, Verdict.DEFECT),
        (Target(gate=0, goal=0, lower=True), 1, Verdict.DEFECT),
    ],
)
def test_a_figure_is_judged_by_gate_and_goal(target: Target, judged: float, verdict: Verdict) -> None:
    assert Figure("of the value", judged, "", target=target).verdict is verdict


def test_a_target_of_ratios_judges_the_ratio() -> None:
    figure = Figure("rate", 9_999, "/s", 10_000, "a loop", 0.1, Target(gate=0.3, goal=0.5, of_ratio=True))
    assert figure.verdict is Verdict.DEFECT


def test_the_table_names_value_control_and_verdict() -> None:
    printed = table([Figure("rate", 1_234.5, "/s", 2_000, "a plain loop", 0.62, Target(0.3, 0.55, of_ratio=True))])
    for text in ("1,234 /s", "2,000 /s", "0.62", "≥ 0.3", "≥ 0.55", "goal reached", "a plain loop"):
        assert text in printed


def test_a_busy_machine_is_called_busy() -> None:
    assert Run((), short=True, load_before=CORES + 0.1, load_after=0.0).busy
    assert Run((), short=True, load_before=0.0, load_after=CORES + 1.1).busy
    assert not Run((), short=True, load_before=CORES, load_after=CORES + 1).busy


@pytest.mark.parametrize(("value", "text"), [(12_345.6, "12,346"), (1.234, "1.23"), (0.04567, "0.0457"), (0, "0")])
def test_numbers_keep_what_means_something(value: float, text: str) -> None:
    assert number(value) == text


def test_every_row_says_what_it_measures() -> None:
    assert all(row.__doc__ for row in ROWS.values())
