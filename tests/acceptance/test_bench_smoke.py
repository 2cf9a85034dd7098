"""The benchmarks run and return valid figures. Speed is not tested: that needs a quiet machine and a human reader."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from bench.__main__ import ROWS, measure
from bench.cluster import cluster
from bench.order import Stay, disorder
from bench.people import Exchange
from bench.places import Files
from bench.postgres import on_postgres
from bench.profile import OUT, STAGES, stages_of, waits, work
from bench.report import CORES, Figure, Run, Target, Verdict, number, table
from bench.results import about, comparison, file_for, read
from bench.rounds import TINY, Paired, Setting, in_turn
from bench.stamps import Stamps
from bench.steps import FUNCTIONS
from bench.workers import workers
from tests.acceptance.town import PLATFORMS
from tests.parts import require

#: Benchmarks that start no daemon, and `prompt`, which needs one.
CHEAP = ["enqueue", "pickup", "drain", "depth", "lanes", "prompt", "size"]


def left_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def by_name(found: Sequence[Figure]) -> dict[str, Figure]:
    """Return the figures by name; they must be finite, with unique names."""
    figures = {figure.name: figure for figure in found}
    assert len(figures) == len(found)
    for figure in found:
        assert math.isfinite(figure.value), figure
        assert figure.ratio is None or (math.isfinite(figure.ratio) and figure.ratio > 0), figure
    return figures


def keep_nothing(_run: Run) -> None:
    """Store nothing, for runs whose result a test checks itself."""


async def test_the_cheap_rows_give_finite_figures(tmp_path: Path) -> None:
    run = await measure(CHEAP, folder=tmp_path, scale=TINY, keep=keep_nothing)
    figures = by_name(run.figures)
    assert len(figures) == 11
    assert figures["drain of no-op jobs, 32 workers, CPU"].value > 0
    assert figures["overlaps in 20 lanes × 10"].value == figures["inversions in 20 lanes × 10"].value == 0
    assert figures["prompt for “hello”"].value > 0.1
    assert left_in(tmp_path) == []


@pytest.mark.long
async def test_the_rows_about_several_processes_give_finite_figures(tmp_path: Path) -> None:
    require("initdb")
    figures = by_name(await on_postgres(workers, cluster)(Setting(tmp_path, Files(tmp_path), TINY)))
    assert figures["PostgreSQL: drain by 2 worker processes"].ratio
    assert figures["PostgreSQL: web + 2 workers, CPU of PostgreSQL"].value > 0
    order = [figure for figure in figures.values() if "lane" in figure.name]
    assert [(figure.value, figure.verdict) for figure in order] == [(0, Verdict.GOAL)] * 3


async def test_the_rows_about_workflows_give_finite_figures(tmp_path: Path) -> None:
    run = await measure(["workflows"], folder=tmp_path, scale=TINY, keep=keep_nothing)
    assert len(by_name(run.figures)) == 2


@pytest.mark.long
async def test_the_rows_about_chat_platforms_give_finite_figures(tmp_path: Path) -> None:
    run = await measure(["platforms-start", "platforms-event"], folder=tmp_path, scale=TINY, keep=keep_nothing)
    figures = by_name(run.figures)
    assert figures["start until 3 bots listen"].value > figures["start to ready, 3 connectors"].value > 0
    for name in PLATFORMS:
        assert figures[f"{name} event → model request, p50"].value > 0
    assert figures["memory after 24 messages, 3 connectors"].value > 50
    assert left_in(tmp_path) == []


async def test_results_are_kept_with_when_and_where(tmp_path: Path) -> None:
    run = await measure(["size"], folder=tmp_path, scale=TINY, keep=keep_nothing)
    run.write(tmp_path / "deep" / "figures.json")
    document = read(tmp_path / "deep" / "figures.json")
    assert document["short"] is True
    assert {"at", "commit", "cores", "python", "sqlite", "postgresql", "load"} <= document.keys()
    (figure,) = document["figures"]
    assert figure["name"] == "installed size"
    assert figure["target"] == {"gate": 62, "goal": 55, "of_ratio": False, "lower": True}
    assert figure["verdict"] in set(Verdict)


@pytest.mark.parametrize(
    ("commit", "name"), [("23b27b4", "20261122-010203-23b27b4.json"), (None, "20261122-010203.json")]
)
def test_a_result_is_named_after_when_and_which_commit(commit: str | None, name: str) -> None:
    assert file_for({"at": "2026-11-22T01:02:03Z", "commit": commit}).name == name


def test_two_runs_are_compared_by_row() -> None:
    def kept(*figures: Figure, commit: str) -> dict[str, Any]:
        run = Run(figures, short=False, load_before=0, load_after=0, about={**about(), "at": "today", "commit": commit})
        document: dict[str, Any] = json.loads(json.dumps(run.to_json()))
        return document

    target = Target(gate=2, goal=5, of_ratio=True)
    old = kept(Figure("drain", 8_000, "/s", 4_000, "a loop", 1.5, target), Figure("gone", 1, "ms"), commit="aaa")
    new = kept(Figure("drain", 8_400, "/s", 4_000, "a loop", 2.1, target), Figure("new", 1, "ms"), commit="bbb")
    printed = comparison(old, new)
    (row,) = [line for line in printed.splitlines() if line.startswith("drain")]

    for text in ("8,000 /s", "8,400 /s", "~", "1.50", "2.10", "+40%", "DEFECT → gate passed"):
        assert text in row
    assert "gone" not in printed
    assert "commit: aaa → bbb" in printed
    assert "at: " not in printed


@pytest.mark.parametrize(
    ("stays", "found"),
    [
        ([("a", 0, 0, 1), ("a", 1, 1, 2), ("b", 0, 0, 5)], (0, 0)),
        ([("a", 0, 0, 2), ("a", 1, 1, 3)], (1, 0)),
        ([("a", 0, 0, 9), ("a", 1, 1, 2), ("a", 2, 3, 4)], (2, 0)),
        ([("a", 1, 0, 1), ("a", 0, 1, 2)], (0, 1)),
        ([("a", 1, 2, 2), ("a", 0, 2, 2)], (0, 0)),
    ],
)
def test_disorder_in_a_lane_is_counted(stays: list[tuple[str, int, float, float]], found: tuple[int, int]) -> None:
    assert disorder(Stay(*stay) for stay in stays) == found


# -- the profile -------------------------------------------------------------------------------------------


async def test_the_stages_of_a_message_add_up_to_its_wait(tmp_path: Path) -> None:
    told, waited = await waits(tmp_path, 3)
    assert len(waited) == 3
    assert told
    for stages in told:
        assert min(stages.values()) >= 0
        assert any(math.isclose(sum(stages[name] for name, _ in STAGES) + stages[OUT], wait) for wait in waited)


def test_a_message_whose_marks_are_missing_is_left_out() -> None:
    assert stages_of(Exchange(sent=0.0, answered=1.0), Stamps()) is None


async def test_work_is_attributed_to_the_steps_of_a_message(tmp_path: Path) -> None:
    found = await work(tmp_path, 20)
    assert found.used["event loop"] > 0
    assert found.used["arvis-writer"] > 0
    sampled = sum(found.sampler.threads.values())
    assert math.isclose(sampled, sum(found.sampler.modules.values()))
    assert math.isclose(sampled, sum(found.sampler.steps.values()))
    assert {step for _, step in found.sampler.steps} >= {"7  compose the prompt", "10 call the model", "14 end the job"}
    assert {step for step, _ in found.statements} >= {"4  store the message", "14 end the job"}
    assert 15 < sum(found.statements.values()) < 40, "the goal is 25"


def test_the_functions_of_the_steps_exist() -> None:
    """A function that was renamed would attribute its work to another step."""
    for names in FUNCTIONS.values():
        for name in names:
            module, _, path = name.partition(":")
            found = attrgetter(path)(importlib.import_module(module))
            assert (found.__module__, found.__qualname__) == (module, path)


# -- rounds and verdicts -----------------------------------------------------------------------------------


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
