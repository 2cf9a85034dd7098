"""Measures how often a new fact wrongly replaces a known one, and how often an outdated fact stays:
`python -m bench.recall.supersession`.

The pairs (`supersession.yaml`) are divided in two halves. Tune the rules of `arvis/memory/updating.py` with the first
half only; the second half measures them. `--list` prints the wrongly judged pairs of the first half, never those of the
second half.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from arvis.domain.dataclass import dataclass
from arvis.memory.similarity import Wording
from arvis.memory.updating import likeness

TUNING, TEST = "tuning", "test"
#: The kinds of pairs whose new fact replaces the known one. In all other pairs, both facts stay.
OUTDATING = frozenset({"update", "contradiction"})


@dataclass(frozen=True, slots=True)
class Pair:
    half: str
    language: str
    kind: str
    known: str
    new: str

    @property
    def is_right(self) -> bool:
        return replaces(self.known, self.new) == (self.kind in OUTDATING)


@dataclass(frozen=True, slots=True)
class Score:
    """The numbers of wrong decisions: facts that were replaced although both are true, and outdated facts that stayed."""

    pairs: int
    both: int
    replaced_wrongly: int
    kept_wrongly: int


def replaces(known: str, new: str) -> bool:
    """Return whether `arvis.memory.service.remember` replaces the known fact by the new one."""
    like = likeness(Wording.of(new), Wording.of(known))
    return like is not None and not like.same


def pairs(half: str) -> Sequence[Pair]:
    return list(_read(half, yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))[half]))


def _read(half: str, found: Mapping[str, Mapping[str, Sequence[Sequence[str]]]]) -> Iterator[Pair]:
    for language, kinds in found.items():
        for kind, texts in kinds.items():
            for known, new in texts:
                yield Pair(half, language, kind, known, new)


def score(of: Sequence[Pair]) -> Score:
    both = [pair for pair in of if pair.kind not in OUTDATING]
    outdating = [pair for pair in of if pair.kind in OUTDATING]
    return Score(
        len(of),
        len(both),
        sum(not pair.is_right for pair in both),
        sum(not pair.is_right for pair in outdating),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.recall.supersession", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the wrongly judged pairs of the half for tuning")
    chosen = parser.parse_args()
    print(f"{'half':8} {'language':9} {'pairs':>6} {'replaced wrongly':>18} {'outdated, but kept':>20}")
    for half in (TUNING, TEST):
        found = pairs(half)
        for language in (*dict.fromkeys(pair.language for pair in found), "all"):
            of = [pair for pair in found if language in {pair.language, "all"}]
            got = score(of)
            wrong, kept = f"{got.replaced_wrongly} of {got.both}", f"{got.kept_wrongly} of {got.pairs - got.both}"
            print(f"{half:8} {language:9} {got.pairs:6} {wrong:>18} {kept:>20}")
    if chosen.list:
        for pair in pairs(TUNING):
            if not pair.is_right:
                print(f"{pair.language} {pair.kind}: {pair.known} -> {pair.new}")


if __name__ == "__main__":
    main()
