"""`python -m tests.flows.daemon_elsewhen SECONDS … arvis run --data FOLDER` runs the daemon with a clock that is this
many seconds ahead of the system's. It ignores the arguments between the seconds and `--data`."""

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
