"""`arvis doctor`: is everything in order? Works with and without a running daemon, and changes nothing."""

from __future__ import annotations

import os
from dataclasses import asdict

import typer

from arvis.cli.checks import Finding, Status, examine, failed
from arvis.cli.failures import FAILED
from arvis.cli.options import AsJson, ConfigFile, DataFolder, new_app
from arvis.cli.printing import plain, print_json
from arvis.config import load
from arvis.domain.errors import ConfigError

app = new_app()


@app.command()
def doctor(*, as_json: AsJson = False, config: ConfigFile = None, data: DataFolder = None) -> None:
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
        raise typer.Exit(FAILED)


def _lines(finding: Finding) -> list[str]:
    more = [f"      {name}: {text}" for name, text in (("why", finding.why), ("fix", finding.fix)) if text]
    return [f"{finding.status:<4}  {finding.what}", *more]
