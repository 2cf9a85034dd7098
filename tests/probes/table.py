"""The probes of `probes.toml`.

A check is a test, or all tests of a file. It uses real parts and asserts on what an attacker would get: statuses, rows, packets
at listening servers, files. `evidence` says in words what the checks observe.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from arvis.domain.dataclass import dataclass

_ALL = "*"


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe. `checks` are tests as `FILE::FUNCTION`, or files, relative to `tests`."""

    number: int
    area: str
    title: str
    evidence: str
    checks: Sequence[str]


def _checks(files: Mapping[str, str]) -> Iterator[str]:
    for place, names in files.items():
        folder, _, name = place.rpartition("/")
        file = f"{folder}/test_{name}.py"
        yield from (file if each == _ALL else f"{file}::test_{each}" for each in names.split())


def _read() -> Iterator[Probe]:
    table = tomllib.loads(Path(__file__).with_name("probes.toml").read_text(encoding="utf-8"))
    for row in table["probe"]:
        yield Probe(row["number"], row["area"], row["title"], row["evidence"], tuple(_checks(row["checks"])))


PROBES: Sequence[Probe] = tuple(_read())
