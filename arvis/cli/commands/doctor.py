"""`arvis doctor`: checks the installation, with or without a running daemon. The checks change nothing."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import click

from arvis.cli.doctor import examine
from arvis.cli.doctor.findings import Finding, Status
from arvis.cli.doctor.scene import System
from arvis.cli.options import PrintingCommand
from arvis.cli.output import Output
from arvis.process.clock import SystemClock


@click.command(cls=PrintingCommand)
@click.option("--security", is_flag=True, help="Run only the checks of security.")
def doctor(*, security: bool, config: Path | None, data: Path | None) -> Output:
    """Check the installation, from the configuration to the queue. The exit code is 1 if a check fails."""
    system = System(python=sys.version_info[:3], encoding=sys.stdout.encoding)
    only = "security" if security else None
    findings = examine(config, data, os.environ, system=system, now=SystemClock().now(), only=only)
    healthy = all(finding.status is not Status.FAIL for finding in findings)
    checks = {"ok": healthy, "checks": [asdict(finding) for finding in findings]}
    return Output(checks, _report(findings), failed=not healthy)


def _report(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the findings by group, and the counts in the last line."""
    width = max(len(finding.id) for finding in findings)
    for group, members in groupby(findings, key=lambda finding: finding.group):
        yield group
        for finding in members:
            yield f"  {finding.status:<4}  {finding.id:<{width}}  {finding.what}"
            texts = (("why", finding.why), ("fix", finding.fix))
            yield from (f"{' ' * (width + 10)}{name}: {text}" for name, text in texts if text)
    counts = Counter(finding.status for finding in findings)
    yield f"{len(findings)} checks: {', '.join(f'{counts[status]} {status}' for status in Status)}"
