"""The short form of the probes: the table is complete, each of its checks exists, and the command runs some of them. The checks themselves
are tests, so the whole test run includes them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.probes.__main__ import main
from tests.probes.running import FAILED, PASSED, SKIPPED, TESTS, Case, outcome_of
from tests.probes.table import PROBES, Probe

#: A probe of each kind of evidence that takes little time: statuses, texts, files, a table.
SHORT = (12, 14, 28, 33, 47)


@cache
def functions_in(file: Path) -> set[str]:
    return {
        node.name
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_probe_has_checks_that_exist() -> None:
    assert [probe.number for probe in PROBES] == list(range(1, 65))
    assert len({probe.title for probe in PROBES}) == len(PROBES)
    for probe in PROBES:
        assert probe.checks
        assert probe.evidence
        for check in probe.checks:
            file, _, test = check.partition("::")
            assert (TESTS / file).is_file(), check
            assert not test or test in functions_in(TESTS / file), check


def test_the_command_proves_probes_and_names_the_evidence(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--workers", "0", *map(str, SHORT)]) == 0
    output = capfd.readouterr().out
    assert f"probes: {len(SHORT)}, proved: {len(SHORT)}, not proved: 0" in output
    for probe in PROBES:
        assert (f"evidence: {probe.evidence} (" in output) == (probe.number in SHORT)


def test_failed_skipped_and_missing_checks_prove_nothing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = Probe(1, "area", "title", "evidence", ("unit/test_a.py::test_x", "unit/test_b.py"))
    passed = [Case("unit/test_a.py", "test_x", PASSED), Case("unit/test_b.py", "test_y", PASSED)]
    assert outcome_of(probe, passed).proved
    for result in (FAILED, SKIPPED):
        assert not outcome_of(probe, [*passed, Case("unit/test_b.py", "test_z", result, "why")]).proved
    assert outcome_of(probe, passed[:1]).missing == ["unit/test_b.py"]
    assert not outcome_of(probe, passed[:1]).proved

    broken = Probe(99, "area", "a broken probe", "nothing", ("probes/test_probes.py::test_that_does_not_exist",))
    monkeypatch.setattr("tests.probes.__main__.PROBES", [broken])
    assert main(["99"]) == 1
    assert "not run: probes/test_probes.py::test_that_does_not_exist" in capfd.readouterr().out
