"""The files with results, for later comparison: one JSON file per run, named after date and commit."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.report import aligned, number
from tests.parts import find

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "bench"

#: A figure that changed by a smaller share than this counts as unchanged.
NOISE = 0.1


def about() -> dict[str, Any]:
    """Return the time, the machine and the commit of the measurement."""
    return {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": _first_line("git", "describe", "--always", "--dirty", "--exclude=*"),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "postgresql": _postgresql(),
    }


def file_for(run: Mapping[str, Any]) -> Path:
    """Return `build/bench/DATE-COMMIT.json`, or `build/bench/DATE.json` if git is not available."""
    moment = str(run["at"]).translate(str.maketrans("T", "-", ":-Z"))
    return KEPT / ("-".join(part for part in (moment, run["commit"]) if part) + ".json")


def read(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


# -- the comparison of two runs ----------------------------------------------------------------------------

HEADINGS = ("measure", "was", "is", "change", "ratio was", "is", "change", "verdict")


def comparison(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Compare the rows that both runs have, and the conditions of the two runs."""
    before = {figure["name"]: figure for figure in old["figures"]}
    rows = [_row(before[figure["name"]], figure) for figure in new["figures"] if figure["name"] in before]
    differing = [
        f"{name}: {old.get(name)} → {new.get(name)}"
        for name in ("commit", "at", "cores", "system", "python", "sqlite", "postgresql", "short", "load")
        if old.get(name) != new.get(name)
    ]
    return "\n".join([*aligned([HEADINGS, *rows]), "", *differing])


def _row(old: Mapping[str, Any], new: Mapping[str, Any]) -> Sequence[str]:
    verdict = new["verdict"] if old["verdict"] == new["verdict"] else f"{old['verdict']} → {new['verdict']}"
    return (
        new["name"],
        f"{number(old['value'])} {old['unit']}".rstrip(),
        f"{number(new['value'])} {new['unit']}".rstrip(),
        _change(old["value"], new["value"]),
        _ratio(old),
        _ratio(new),
        _change(old["ratio"], new["ratio"]),
        verdict,
    )


def _ratio(figure: Mapping[str, Any]) -> str:
    return "" if figure["ratio"] is None else f"{figure['ratio']:.2f}"


def _change(old: float | None, new: float | None) -> str:
    """Return the change in per cent, or `~` if it is within the noise."""
    if not old or new is None:
        return ""
    change = new / old - 1
    return "~" if abs(change) < NOISE else f"{change:+.0%}"


# -- versions of the machine's programs --------------------------------------------------------------------


def _postgresql() -> str | None:
    initdb = find("initdb")
    version = _first_line(str(initdb), "--version") if initdb else None
    return version.rpartition(" ")[2] if version else None


def _first_line(*command: str) -> str | None:
    """Return the first line that a program prints; None if the program is missing, fails or prints nothing."""
    try:
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return ended.stdout.strip().partition("\n")[0] or None
