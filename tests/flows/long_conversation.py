"""`python -m tests.flows.long_conversation --messages 2000` runs the whole long conversation, once for each variant."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from arvis.store.open import Database
from tests.flows.long_talk import VARIANTS, talk

#: The time to build a prompt, and its number of messages and summaries, may grow by this factor from the first tenth of the
#: conversation to the last one.
MOST_GROWTH = 1.5


def main() -> None:
    parser = argparse.ArgumentParser(description="Talk for long with a model that holds 8,192 tokens.")
    parser.add_argument("--messages", type=int, default=2_000, help="of both sides together")
    parser.add_argument("--variant", choices=sorted(VARIANTS), help="who says how much the model holds (default: all)")
    given = parser.parse_args()
    failed = False
    for variant in [given.variant] if given.variant else VARIANTS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            begun = time.monotonic()
            figures = asyncio.run(talk(Database(folder / "arvis.db", None, folder), variant, given.messages))
        print(f"{variant}: {figures}; {time.monotonic() - begun:.0f} s", flush=True)
        failed = failed or max(figures.growth) > MOST_GROWTH
    sys.exit(failed)


if __name__ == "__main__":
    main()
