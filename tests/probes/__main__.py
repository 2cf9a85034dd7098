"""`python -m tests.probes [NUMBER ...]`: tries attacks that succeeded against comparable programs on Arvis, and prints a table with the
evidence for each.

`--list` prints the table without running it. The exit code is 1 if a probe failed or was not proved, for example because a
program is missing.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence

from tests.probes.running import FAILED, PASSED, SKIPPED, Outcome, run
from tests.probes.table import PROBES, Probe


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.probes", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("numbers", metavar="NUMBER", nargs="*", type=int, help="only these probes")
    parser.add_argument("--list", action="store_true", help="print the probes and their checks, and run nothing")
    parser.add_argument("--workers", type=int, default=0, help="the number of processes that run checks")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.numbers) - {probe.number for probe in PROBES}:
        parser.error(f"there is no probe {min(unknown)}; the numbers are 1 to {len(PROBES)}")
    probes = [probe for probe in PROBES if not chosen.numbers or probe.number in chosen.numbers]
    if chosen.list:
        print(*itertools.chain.from_iterable(map(_listed, probes)), sep="\n")
        return 0
    outcomes = run(probes, workers=chosen.workers)
    print(*itertools.chain.from_iterable(map(_shown, outcomes)), sep="\n")
    unproved = [outcome.probe.number for outcome in outcomes if not outcome.proved]
    print(f"\nprobes: {len(outcomes)}, proved: {len(outcomes) - len(unproved)}, not proved: {unproved or 0}")
    return 1 if unproved else 0


def _listed(probe: Probe) -> list[str]:
    return [f"{probe.number:>2}  {probe.area}: {probe.title}", *(f"      {check}" for check in probe.checks)]


def _shown(outcome: Outcome) -> list[str]:
    """Return the lines of a probe: its state and title, the evidence with the numbers of cases, and the reasons."""
    probe, counts = outcome.probe, outcome.counts
    state = "proved" if outcome.proved else "FAILED" if counts[FAILED] else "NOT RUN"
    numbers = ", ".join(f"{counts[result]} {result}" for result in (PASSED, FAILED, SKIPPED) if counts[result])
    lines = [
        f"{probe.number:>2}  {state:<8}{probe.title}",
        f"    evidence: {probe.evidence} ({numbers or 'no case'} in {len(probe.checks)} checks)",
    ]
    lines += [f"    {case.result}: {case.file}::{case.test}: {case.reason}" for case in outcome.cases if case.reason]
    return lines + [f"    not run: {check}" for check in outcome.missing]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
