"""`python -m tests.crash KIND --seed SEED`: disturb the daemon under load, and judge what people and files show.

The exit code is 0 for a clean campaign, 1 for violations, and 77 if this machine does not allow the campaign.
`python -m tests.crash KIND --help` shows the options of a kind. Without a kind, the kind is `chats`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
from pathlib import Path
from typing import Any

from tests.crash.campaign import fresh_seed
from tests.crash.namespace import REFUSED, Refused
from tests.crash.report import shown, table

#: Former names of kinds.
FORMER = {"flips": "damage", "mending-steps": "repair-steps"}
#: Kinds whose module is not in this package.
ELSEWHERE = {
    kind: f"tests.{package}.__main__"
    for kind, package in {"faults": "platforms.faults", "accounts": "accounts", "documents": "workflows"}.items()
}
#: Kind -> its effect. The module of the same name has the functions `add_options` and `play`.
KINDS = {
    "chats": "kill, stop, suspend or poison the daemon, or a cluster, while users chat",
    "platforms": "kill a daemon with bots on Discord, Telegram and Slack",
    "servers": "kill the processes of a cluster, and its PostgreSQL server",
    "workflows": "kill a daemon that runs workflows",
    "rewinds": "kill a daemon while users rewind, switch and branch conversations",
    "power-cut": "cut the power of the daemon's disk",
    "disk-full": "fill the daemon's disk and free it again",
    "sweep": "kill the daemon at every system call that writes, syncs or renames",
    "injection": "make these system calls fail",
    "damage": "damage a file at rest",
    "false-alarms": "kill a process that writes and checkpoints its log constantly",
    "repair-steps": "kill a process before each step of a repair",
    "faults": "give a bot wrong answers of its platform",
    "accounts": "let accounts fail by a script",
    "documents": "generate workflows, and compare the checks of API and runtime",
}


def main(words: list[str]) -> int:
    if not words or words[0] in {"-h", "--help"}:
        effects = "\n".join(f"  {kind:<14} {effect}" for kind, effect in KINDS.items())
        if words:
            print(f"{__doc__}\n{effects}")
            return 0
    kind = words.pop(0) if words and not words[0].startswith("-") else "chats"
    kind = FORMER.get(kind, kind)
    if kind not in KINDS:
        print(f"There is no kind `{kind}`. Name one of: {', '.join(KINDS)}", file=sys.stderr)
        return 2
    module: Any = importlib.import_module(ELSEWHERE.get(kind, f"tests.crash.{kind.replace('-', '_')}"))
    parser = argparse.ArgumentParser(
        prog=f"python -m tests.crash {kind}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", help="replay: the seed of an earlier run, or of one episode (SEED.NUMBER)")
    parser.add_argument("--report", type=Path, default=Path(f"build/{kind}-report.json"))
    module.add_options(parser)
    options = parser.parse_args(words)
    options.replays = options.seed is not None
    options.seed = options.seed or fresh_seed()
    print(f"seed {options.seed}", flush=True)
    try:
        report = module.play(options)
    except Refused as refused:
        print(f"This machine does not allow this campaign: {refused}")
        return REFUSED
    document = {"seed": options.seed, "python": platform.python_version(), "totals": report.figures, **report.further}
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(document, indent=2) + "\n")
    print("\n".join(text for text in (table(report.figures), shown(report.complaints)) if text))
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
