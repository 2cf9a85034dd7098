"""The form of a probe: an attack that succeeded against a comparable program, and the checks that try it on Arvis.

A check is a test, or all tests of a file. It uses real parts and asserts on what an attacker would get: statuses, rows, packets
at listening servers, files. `evidence` says in words what the checks observe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arvis.domain.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe. `checks` are tests as `FILE::FUNCTION`, or files, relative to `tests`."""

    number: int
    area: str
    title: str
    evidence: str
    checks: Sequence[str]


def checks(*files: tuple[str, str]) -> tuple[str, ...]:
    """Return the checks. Each pair is a file without `test_`, and the names of its tests without `test_`; no names: all."""
    return tuple(_expanded(files))


def _expanded(files: Sequence[tuple[str, str]]) -> Iterator[str]:
    for place, names in files:
        folder, _, name = place.rpartition("/")
        file = f"{folder}/test_{name}.py"
        yield from (f"{file}::test_{each}" for each in names.split()) if names else (file,)
