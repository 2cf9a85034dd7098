"""`python -m tests.workflows --documents 10000`: judge generated documents by the API and the runtime, and run
them.

It exits with 1 if the two judge a document differently, if a run does not end, or if it ends incorrectly. `--first`
and `--documents` select documents by number; each is generated from the seed and its number. `--runs` is the maximum
number of documents without errors that are run. This is the kind `documents` of `python -m tests.crash`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

from arvis.store.open import Database
from tests.conformance.databases import opened
from tests.crash.__main__ import main
from tests.crash.report import Report
from tests.fixtures.workflow_documents import document
from tests.flows.drawn_kit import Play
from tests.workflows.by_api import differences_of_api
from tests.workflows.judging import judged, tally_of
from tests.workflows.running import refusals, run_all

#: Maximum number of failed runs that are printed.
_SHOWN = 40
Numbered = Sequence[tuple[int, Any]]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", type=int, default=10_000, help="number of documents (default 10000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first document (default 0)")
    parser.add_argument("--runs", type=int, default=2_000, help="maximum number of runs (default 2000)")


def play(options: argparse.Namespace) -> Report:
    numbers = range(options.first, options.first + options.documents)
    made = [(number, document(options.seed, number)) for number in numbers]
    with tempfile.TemporaryDirectory() as folder:
        _count(made)
        wrong, ends = asyncio.run(_by_all(made, options.seed, options.runs, Path(folder)))
    return Report({"documents": len(made), **ends, "wrong": len(wrong)}, wrong, failed=bool(wrong))


def _count(made: Numbered) -> None:
    """Print how many documents break each rule."""
    with _timed("the rules"):
        tally = tally_of(made)
        print(tally, "; rules that no document broke:", ", ".join(sorted(tally.unseen)) or "none")
        rules = ", ".join(f"{rule} {count}" for rule, count in tally.rules.most_common())
        print(f"number of documents that break each rule: {rules}", flush=True)


async def _by_all(made: Numbered, seed: str, runs: int, folder: Path) -> tuple[list[str], dict[str, int]]:
    with _timed("the API"), tempfile.TemporaryDirectory() as site:
        wrong = await differences_of_api(Path(site), made)
    async with opened(Database(folder / "arvis.db", None, folder)) as store:
        with _timed("the compiler"):
            parts = Play({}).node_parts(store)
            found = ((number, refusals(parts, each, judged(each).problems)) for number, each in made)
            wrong += [f"document {number}: {differing}" for number, differing in found if differing]
        with _timed("runs"):
            outcome = await run_all(store, iter(made), seed, most=runs)
            print("\n".join(f"  failed: {reason}" for reason in outcome.reasons[:_SHOWN]))
    return wrong + outcome.wrong, {f"runs {status}": count for status, count in sorted(outcome.ends.items())}


@contextmanager
def _timed(what: str) -> Iterator[None]:
    began = monotonic()
    yield
    print(f"{what}: {monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    raise SystemExit(main(["documents", *sys.argv[1:]]))
