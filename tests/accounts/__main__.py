"""`python -m tests.accounts --turns 10000`: run the drill, with three accounts that suffer rate limits, hangs, errors
and bad keys.

The drill fails if a turn fails, or if the 95th percentile of the extra wait (beyond the earliest possible answer)
exceeds two seconds. This is the kind `accounts` of `python -m tests.crash`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from tests.accounts.drill import jump, over_http
from tests.crash.__main__ import main
from tests.crash.report import Report

#: The highest allowed 95th percentile of the extra wait, in seconds.
_GATE = 2.0


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=5.0, help="turns per second of the drill's time")
    parser.add_argument("--http", action="store_true", help="use the real provider and servers on 127.0.0.1")
    parser.add_argument("--scale", type=float, default=10.0, help="with --http: seconds of the drill per real second")


def play(options: argparse.Namespace) -> Report:
    settings = {"turns": options.turns, "rate": options.rate, "seed": options.seed}
    report = asyncio.run(over_http(scale=options.scale, **settings)) if options.http else jump(**settings)
    late = report.percentile(0.95) > _GATE
    complaints = [f"the turn at {turn.at:.0f} s failed: {turn.reason}" for turn in report.failed]
    complaints += [f"the 95th percentile of the extra wait is over {_GATE} s"] if late else []
    return Report(report.figures(), complaints, failed=bool(complaints))


if __name__ == "__main__":
    raise SystemExit(main(["accounts", *sys.argv[1:]]))
