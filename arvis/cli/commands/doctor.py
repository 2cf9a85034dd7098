"""`arvis doctor`: checks the installation, with or without a running daemon. Without `--fix`, it changes nothing."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import click

from arvis.cli.doctor import Examination, examine
from arvis.cli.doctor.bundle import write_bundle
from arvis.cli.doctor.findings import Finding, Status
from arvis.cli.doctor.repairs import Outcome, make, repairs_of
from arvis.cli.doctor.scene import System
from arvis.cli.options import PrintingCommand
from arvis.cli.output import Output, tell
from arvis.process.clock import SystemClock

#: The headings of failures and warnings. All other findings are listed under the name of their group.
_TITLES = {Status.FAIL: "failures", Status.WARN: "warnings"}


@click.command(cls=PrintingCommand)
@click.option("--security", is_flag=True, help="Run only the checks of security.")
@click.option("--fix", is_flag=True, help="Make the repairs that lose no data, and check again.")
@click.option(
    "--bundle",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a support archive without secrets to this file or folder.",
)
def doctor(*, security: bool, fix: bool, bundle: Path | None, config: Path | None, data: Path | None) -> Output:
    """Check the installation, from the configuration to the queue, and list failures first. The exit code is 1 if a
    check fails."""
    found = _examine(config, data, security=security)
    outcomes = list(_repair(found)) if fix else []
    if any(not each.error for each in outcomes):
        found = _examine(config, data, security=security)
    healthy = all(finding.status is not Status.FAIL for finding in found.findings)
    checks = {"ok": healthy, "checks": [asdict(finding) for finding in found.findings]}
    texts = []
    if fix:
        checks["repairs"] = [asdict(outcome) for outcome in outcomes]
        texts = [_results(outcomes)]
    texts.append(_report(found.findings))
    if bundle is not None:
        path = write_bundle(bundle, found.scene, found.findings, os.environ)
        checks["bundle"] = str(path)
        texts.append(iter([f"The support archive is {path}. Read it before you send it to others."]))
    return Output(checks, *texts, failed=not healthy)


def _examine(config: Path | None, data: Path | None, *, security: bool) -> Examination:
    system = System(python=sys.version_info[:3], encoding=sys.stdout.encoding)
    only = "security" if security else None
    return examine(config, data, os.environ, system=system, now=SystemClock().now(), only=only)


def _repair(found: Examination) -> Iterator[Outcome]:
    """Make the repairs, and yield their results. Before each repair, print its description."""
    for repair in repairs_of(found.scene):
        tell(f"{repair.what} …")
        yield make(repair)


def _results(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield "repairs" if outcomes else "There is nothing to repair."
    for outcome in outcomes:
        yield f"  {'fail' if outcome.error else 'done'}  {outcome.what}{f': {outcome.error}' if outcome.error else ''}"


def _title(finding: Finding) -> str:
    return _TITLES.get(finding.status, finding.group)


def _report(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the failures, the warnings, the other findings by group, and the counts in the last line."""
    width = max(len(finding.id) for finding in findings)
    for title, members in groupby(findings, key=_title):
        yield title
        for finding in members:
            yield f"  {finding.status:<4}  {finding.id:<{width}}  {finding.what}"
            texts = (("why", finding.why), ("fix", finding.fix))
            yield from (f"{' ' * (width + 10)}{name}: {text}" for name, text in texts if text)
    counts = Counter(finding.status for finding in findings)
    yield f"{len(findings)} checks: {', '.join(f'{counts[status]} {status}' for status in Status)}"
