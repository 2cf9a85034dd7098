"""Run the checks of probes with pytest, in a process of its own, and read their results."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from arvis.domain.dataclass import dataclass
from tests.probes.table import Probe

TESTS = Path(__file__).parents[1]
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass(frozen=True, slots=True)
class Case:
    """The result of one case of a check: the file relative to `tests`, the test, and the reason if it did not pass."""

    file: str
    test: str
    result: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of the checks of a probe. `missing` are the checks without a case."""

    probe: Probe
    cases: Sequence[Case]
    missing: Sequence[str]

    @property
    def proved(self) -> bool:
        """True if every check has run and every case has passed. A skipped case proves nothing."""
        return not self.missing and bool(self.cases) and all(case.result == PASSED for case in self.cases)

    @property
    def counts(self) -> Mapping[str, int]:
        return Counter(case.result for case in self.cases)


def files_of(probes: Collection[Probe]) -> list[str]:
    """Return the arguments for pytest, each once. A whole file includes its single tests."""
    checks = {check for probe in probes for check in probe.checks}
    return sorted(check for check in checks if "::" not in check or check.partition("::")[0] not in checks)


def run(probes: Sequence[Probe], *, workers: int = 0) -> list[Outcome]:
    """Run the checks of these probes, each once, and return the outcome of each probe."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        paths = [str(TESTS / check) for check in files_of(probes)]
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(workers), "-p", "no:cacheprovider"]
        subprocess.run(
            [*command, "-o", "junit_family=xunit1", f"--junitxml={report}", *paths], cwd=TESTS.parent, check=False
        )
        cases = list(cases_in(report)) if report.exists() else []
    return [outcome_of(probe, cases) for probe in probes]


def cases_in(report: Path) -> Iterator[Case]:
    """Yield the cases of a report of pytest."""
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 (our own report)
        file = (case.get("file") or "").removeprefix("tests/")
        test = (case.get("name") or "").partition("[")[0]
        bad = next((each for each in case if each.tag in {"failure", "error", "skipped"}), None)
        if bad is None:
            yield Case(file, test, PASSED)
        else:
            reason = " ".join((bad.get("message") or "").split())[:200]
            yield Case(file, test, SKIPPED if bad.tag == "skipped" else FAILED, reason)


def outcome_of(probe: Probe, cases: Sequence[Case]) -> Outcome:
    found = {check: [case for case in cases if _belongs(case, check)] for check in probe.checks}
    return Outcome(
        probe,
        [case for each in found.values() for case in each],
        [check for check, each in found.items() if not each],
    )


def _belongs(case: Case, check: str) -> bool:
    file, _, test = check.partition("::")
    return case.file == file and test in {"", case.test}
