"""`python -m tests.accounts --turns 10000`: run the drill, with three accounts that suffer rate limits, hangs, errors
and bad keys.

The drill fails if a turn fails, or if the 95th percentile of the extra wait (beyond the earliest possible answer)
exceeds two seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time

from tests.accounts.drill import jump, over_http

#: The highest allowed 95th percentile of the extra wait, in seconds.
_GATE = 2.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.accounts", description=__doc__)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=5.0, help="turns per second of the drill's time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--http", action="store_true", help="use the real provider and servers on 127.0.0.1")
    parser.add_argument("--scale", type=float, default=10.0, help="with --http: seconds of the drill per real second")
    asked = parser.parse_args()
    began = time.monotonic()
    if asked.http:
        drill = over_http(turns=asked.turns, rate=asked.rate, scale=asked.scale, seed=asked.seed)
        report = asyncio.run(drill)
    else:
        report = jump(turns=asked.turns, rate=asked.rate, seed=asked.seed)
    print("\n".join(report.lines()), f"\ntook {time.monotonic() - began:.0f} s")
    return 1 if report.failed or report.percentile(0.95) > _GATE else 0


if __name__ == "__main__":
    sys.exit(main())
