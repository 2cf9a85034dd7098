"""`python -m tests.flows.long_conversation --messages 2000` runs the whole long conversation, once for each variant."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from arvis.store.open import Database
from tests.flows.long_talk import VARIANTS, talk


def main() -> None:
    parser = argparse.ArgumentParser(description="Talk for long with a model that holds 8,192 tokens.")
    parser.add_argument("--messages", type=int, default=2_000, help="of both sides together")
    parser.add_argument("--variant", choices=sorted(VARIANTS), help="who says how much the model holds (default: all)")
    given = parser.parse_args()
    for variant in [given.variant] if given.variant else VARIANTS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            begun = time.monotonic()
            figures = asyncio.run(talk(Database(folder / "arvis.db", None, folder), variant, given.messages))
        print(f"{variant}: {figures}; {time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
