"""A program in the place of `claude`: it does what `behaviour.json` beside it says, and records its input.

The interpreter of the tests runs it with the standard library alone.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(sys.argv[0]).parent


def note(stdin: str) -> None:
    with (HERE / "calls.jsonl").open("a", encoding="utf-8") as file:
        call: dict[str, object] = {
            "argv": sys.argv[1:],
            "environment": dict(os.environ),
            "stdin": stdin,
            "folder": str(Path.cwd()),
        }
        system = [part.partition("=")[2] for part in sys.argv if part.startswith("--system-prompt-file=")]
        call["system"] = Path(system[0]).read_text(encoding="utf-8") if system else None
        file.write(json.dumps(call) + "\n")


def act(behaviour: dict[str, object]) -> None:
    match behaviour:
        case {"flood": str(line)}:
            while True:
                print(line)
        case {"flood_errors": int(size)}:
            sys.stderr.write("x" * size)
            sys.stderr.flush()
        case {"orphan": str(file)}:
            # It leaves its parent, its process group and its session, and ignores SIGTERM.
            code = "import os,signal,sys,time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            code += "if os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
            code += "open(sys.argv[1], 'w').write(str(os.getpid()))\ntime.sleep(600)"
            subprocess.run([sys.executable, "-I", "-S", "-c", code, file], check=True)
            while not (Path(file).exists() and Path(file).read_text(encoding="utf-8")):
                time.sleep(0.01)
    if "hang" in behaviour:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        (HERE / "hangs").touch()
        time.sleep(600)


def main() -> int:
    behaviour = json.loads((HERE / "behaviour.json").read_text(encoding="utf-8"))
    note(sys.stdin.read())
    act(behaviour)
    partial = "--include-partial-messages" in sys.argv
    for line in behaviour.get("stream" if partial else "whole", []):
        print(line if isinstance(line, str) else json.dumps(line))
    sys.stderr.write(behaviour.get("stderr", ""))
    return int(behaviour.get("exit", 0))


if __name__ == "__main__":
    sys.exit(main())
