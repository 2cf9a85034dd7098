"""Kill moves at chosen steps: `python -m tests.files.move_kills` reads orders from standard input, one JSON object per
line, and answers each with a line.

A step is the begin or the end of a call: of a batch that is read or written, a blob, or a change of the files or tables
that are used. `step` and `table` of an order select calls of one function, for one table. Each move runs in a process of
its own. The answer is "killed", or the number of steps if the move ended before.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

from arvis.store.moving.move import move
from arvis.store.open import Database

NOW = 1_800_000_000_000
STEPS = {"add", "put_blob", "start_again", "index_messages", "mark_moved", "finish", "put_prepared", "_put_in_place"}
STEPS |= {"_set_schema", "sync_folder", "_transaction", "selection"}


def counted_move(order: dict[str, Any]) -> int:
    """Move, and kill this process at the step of the order. Return the number of steps."""
    steps = 0
    wanted = STEPS if order["step"] is None else {order["step"]}

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal steps
        code = frame.f_code
        if event not in {"call", "return"} or code.co_name not in wanted or "/arvis/store/" not in code.co_filename:
            return
        table = frame.f_locals.get("table")
        if order["table"] is None or (table is not None and table.name == order["table"]):
            steps += 1
            if steps == order["number"]:
                os.kill(os.getpid(), signal.SIGKILL)

    folder = Path(order["folder"])
    source, target = (Database(Path(order[side][0]), order[side][1], folder) for side in ("source", "target"))
    sys.setprofile(count)
    move(source, target, NOW, lambda _: None)
    sys.setprofile(None)
    return steps


def answer(order: dict[str, Any]) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.write(writing, str(counted_move(order)).encode())
            code = 0
        except BaseException:  # noqa: BLE001 the forked process must not return
            traceback.print_exc()
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        steps = pipe.read()
    _, status = os.waitpid(child, 0)
    return "killed" if os.WIFSIGNALED(status) else steps or "failed"


if __name__ == "__main__":
    for line in sys.stdin:
        print(answer(json.loads(line)), flush=True)
