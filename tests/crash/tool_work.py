"""The work of the campaign: turns that use tools in a small window, and the traces of these tools.

The token of a message determines the calls that it needs. The model asks for the calls that are not in its prompt. So
if a prompt forgets a call, the call is repeated, and a tool that must not be repeated writes a mark for each call.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from arvis.testing.openai_server import CallsTools

#: The agent that works with tools, its model, and the model's context window (tokens).
WORKER, MODEL, WINDOW = "worker", "small", 8_000
AGENT = {
    "slug": WORKER,
    "name": "Worker",
    "model": MODEL,
    "context_tokens": WINDOW,
    "tools": ["look", "stamp"],
    "on_new_message": "steer",
}
#: Choices for the number of rounds of a message, the calls of a round, and the characters of an output.
ROUNDS, CALLS, SIZES = (0, 2, 5, 5), (6, 8), (200, 1_500, 6_000)
#: Share of the calls that must not be repeated.
STAMPS = 0.3
MARKS = "stamps.log"

_TOOLS = f'''
"""Tools of the campaign."""

import os

from arvis.domain.tools import Risk
from arvis.tools.function import FunctionTool


def create_look(services):
    async def look(key: str, size: int) -> str:
        """Look something up."""
        return (f"{{key}} " * size)[:size]

    return FunctionTool(look, risk=Risk.READ)


def create_stamp(services):
    async def stamp(key: str, *, caller) -> str:
        """Leave a mark that stays."""
        log = caller.workspace.parents[2] / "{MARKS}"
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, f"{{key}} {{caller.execution_id}}\\\\n".encode())
        os.close(descriptor)
        return f"{{key}} is stamped"

    return FunctionTool(stamp, risk=Risk.READ, repeatable=False)
'''


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a tool. `key` identifies it in prompts and marks."""

    tool: str
    key: str
    arguments: Mapping[str, Any]


class Asks(CallsTools):
    """An answer that asks for these calls. Each has its key as its id."""

    @classmethod
    def of(cls, steps: Sequence[Step]) -> Asks:
        return cls(tuple((step.tool, json.dumps(dict(step.arguments))) for step in steps))

    def _call(self, number: int) -> dict[str, Any]:
        asked = super()._call(number)
        return {**asked, "id": json.loads(self.calls[number][1])["key"]}


def install(code: Path) -> None:
    """Install the tools beside a copy of the program, like an installed package."""
    about = code / "crash_tools-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: crash-tools\nVersion: 1\n")
    (about / "entry_points.txt").write_text(
        "[arvis.tools]\nlook = crash_tools:create_look\nstamp = crash_tools:create_stamp\n"
    )
    (code / "crash_tools.py").write_text(_TOOLS.replace("\\\\n", "\\n"))


def next_steps(token: str, prompt: str) -> list[Step]:
    """Return the calls of the first round that are missing in this prompt (JSON); none if the work is done."""
    for group in _rounds(token):
        if missing := [step for step in group if step.key not in prompt]:
            return missing
    return []


def marks(data: Path) -> list[str]:
    """Return the keys of the calls that must not be repeated, one for each time that the call was made."""
    return [key for key, _ in marked_executions(data)]


def marked_executions(data: Path) -> list[tuple[str, str]]:
    """Return the key and the execution of each call that must not be repeated, once for each time that it was made."""
    with suppress(FileNotFoundError):
        return [(key, execution) for key, execution in map(str.split, (data / MARKS).read_text().splitlines())]
    return []


def _rounds(token: str) -> Iterator[list[Step]]:
    rng, number = Random(token), token.removeprefix("m-")
    for place in range(rng.choice(ROUNDS)):
        yield [_step(rng, f"k{number}.{place}.{call}") for call in range(rng.randint(*CALLS))]


def _step(rng: Random, key: str) -> Step:
    if rng.random() < STAMPS:
        return Step("stamp", key, {"key": key})
    return Step("look", key, {"key": key, "size": rng.choice(SIZES)})
