"""`arvis doctor`: is everything in order? Works with and without a running daemon, and changes nothing."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path

import click

from arvis.cli.checks import Finding, Status, examine, failed
from arvis.cli.failures import FAILED
from arvis.cli.options import json_option, place_options
from arvis.cli.printing import plain, print_json
from arvis.config import load
from arvis.domain.errors import ConfigError


@click.command()
@json_option
@place_options
def doctor(*, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Check configuration, data folder, database, daemon and versions. Exit code 1 when a check fails."""
    try:
        findings = examine(load(config, data, os.environ))
    except ConfigError as error:
        findings = [failed("configuration", error)]
    healthy = all(finding.status is not Status.FAIL for finding in findings)
    if as_json:
        print_json({"ok": healthy, "checks": [asdict(finding) for finding in findings]})
    else:
        print(plain("\n".join(line for finding in findings for line in _lines(finding))))
    if not healthy:
        sys.exit(FAILED)


def _lines(finding: Finding) -> list[str]:
    more = [f"      {name}: {text}" for name, text in (("why", finding.why), ("fix", finding.fix)) if text]
    return [f"{finding.status:<4}  {finding.what}", *more]
