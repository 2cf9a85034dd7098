"""The results of trials, as a table and as text."""

from __future__ import annotations

from collections.abc import Mapping

from tests.api.trial import LEFT_OUT, Tally

#: The tallies of each role, by role.
Results = Mapping[str, Mapping[str, Tally]]


def table(results: Results) -> str:
    """Return a table with one line for each role."""
    lines = [f"{'role':<10}{'operations':>11}{'cases':>9}{'5xx':>6}{'deviations':>12}{'let in':>8}"]
    for role, found in results.items():
        tallies = list(found.values())
        tried = sum(tally.cases > 0 for tally in tallies)
        cases, errors = sum(tally.cases for tally in tallies), sum(tally.server_errors for tally in tallies)
        deviations, let_in = sum(len(tally.deviations) for tally in tallies), sum(tally.let_in for tally in tallies)
        lines.append(f"{role:<10}{tried:>11}{cases:>9}{errors:>6}{deviations:>12}{let_in:>8}")
    return "\n".join(lines)


def explain(results: Results) -> str:
    """Return the findings that a person must check, or "" if there are none."""
    lines = []
    for role, found in results.items():
        for label, tally in sorted(found.items()):
            if tally.cases == 0:
                lines.append(f"{role}: {label} was not tried")
            if tally.let_in:
                lines.append(f"{role}: {label} let {tally.let_in} in without a credential")
            lines += [f"{role}: {label}, {times} times: {text}" for text, times in tally.deviations.items()]
    return "\n".join(lines)


def left_out() -> str:
    return "\n".join(f"left out: {label}, for {why}" for label, why in LEFT_OUT.items())
