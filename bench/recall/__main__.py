"""`python -m bench.recall`: measure how often a search finds the messages that answer a question, and how long it takes.

The questions are our own 500 in four languages and, with `--locomo FILE`, those of the public data set LoCoMo
(`locomo10.json`). `--messages N` adds messages of other people, in which the searches must find the same evidence.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path

from arvis.ports.embeddings import MeaningOf, no_meaning
from arvis.ports.insights import Insights
from arvis.ports.store import Store
from arvis.process.clock import IdMaker, SystemClock
from arvis.store.open import Database, open_store
from bench.places import Files, Place, postgres_in
from bench.recall.cases import write
from bench.recall.filling import fill
from bench.recall.measuring import HEAD, Search, ask, embed, in_facts, in_messages, report, store_talks
from bench.recall.talks import Talk, own_talks, read_locomo
from tests.fixtures.embedding_server import vector_of


async def measure(
    database: Database, talks: Sequence[Sequence[Talk]], others: int, *, every: int, kinds: bool, embeddings: bool
) -> None:
    every_talk = [talk for group in talks for talk in group]
    new_id = IdMaker(clock=SystemClock(), random_bits=secrets.randbits)
    if others:
        fill(database, others)
    async with open_store(database, boot="bench", new_id=new_id) as (store, insights):
        await store_talks(store, every_talk)
        print(f"\n{'PostgreSQL' if database.url else 'SQLite'}, {others:,} messages of other people\n{HEAD}")
        searches = _searches(store, insights, no_meaning, "")
        if embeddings:
            searches += _searches(store, insights, await embed(store, vector_of), ", embedded")
        for group in talks:
            name = "LoCoMo" if group[0].name.startswith("locomo") else "own set"
            for what, search in searches:
                print(
                    "\n".join(report(f"{name}, {what}", await ask(group, search, every=every), kinds=kinds)), flush=True
                )


def _searches(store: Store, insights: Insights, meaning: MeaningOf, suffix: str) -> list[tuple[str, Search]]:
    return [
        (f"messages of a person{suffix}", in_messages(insights, meaning=meaning)),
        (f"all messages{suffix}", in_messages(insights, everywhere=True, meaning=meaning)),
        (f"facts{suffix}", in_facts(store, meaning=meaning)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    parser.add_argument(
        "--locomo", type=Path, metavar="FILE", help="also ask the questions of this file in LoCoMo's format"
    )
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument(
        "--messages", type=int, nargs="+", default=[0], metavar="N", help="add N messages of other people"
    )
    parser.add_argument("--every", type=int, default=1, metavar="N", help="ask only every Nth question")
    parser.add_argument(
        "--embeddings",
        action="store_true",
        help="also search by meaning, with vectors that depend on words and parts of words",
    )
    parser.add_argument(
        "--write",
        type=Path,
        metavar="FOLDER",
        help="measure nothing; write the conversations and questions into a folder, for `arvis import` and `arvis evals`",
    )
    parser.add_argument("--kinds", action="store_true", help="also print the results of each kind of question")
    given = parser.parse_args()
    talks = [own_talks(), *([read_locomo(given.locomo)] if given.locomo else [])]
    if given.write is not None:
        write(given.write, [talk for group in talks for talk in group])
        return
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-recall-")))
        place: Place = stack.enter_context(postgres_in(folder)) if given.database == "postgres" else Files(folder)
        for others in given.messages:
            database = place.fresh(f"messages-{others}")
            asyncio.run(
                measure(database, talks, others, every=given.every, kinds=given.kinds, embeddings=given.embeddings)
            )


if __name__ == "__main__":
    main()
