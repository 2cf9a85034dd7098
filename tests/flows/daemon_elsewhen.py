"""`python -m tests.flows.daemon_elsewhen SECONDS … arvis run --data FOLDER`: the daemon with a clock that is so much ahead of
the system's. Everything between the seconds and `--data` is what would start it otherwise."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from arvis.app import daemon
from arvis.config import load
from tests.flows.app_parts import MovableClock


def main() -> None:
    clock = MovableClock()
    clock.put_forward(float(sys.argv[1]))
    data = Path(sys.argv[sys.argv.index("--data") + 1])
    asyncio.run(daemon.run(load(None, data, os.environ), say=lambda line: print(line, flush=True), clock=clock))


if __name__ == "__main__":
    main()
