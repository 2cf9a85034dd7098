"""The outputs of tools in a planning run, read from the effects of its children; claims of models do not count.

Outputs of sensitive tools stay sealed, because the evidence becomes part of the execution's state.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from arvis.domain.executions import PERSONAL_WAITS, Execution
from arvis.domain.messages import OutgoingFile
from arvis.domain.taint import Taint, taint_in
from arvis.graphs.planning.documents import harmless
from arvis.graphs.planning.lanes import clipped
from arvis.ports.store import Transaction
from arvis.prompt import Round
from arvis.tasks.attachments import files_of
from arvis.tasks.rounds import Rounds, load_rounds

#: Key of a child's state: the node that called it, and the number of its brief.
PART = "planning"

#: Tool runs in the prompt of a planner, and of a brief; characters of each.
KNOWN_RUNS = 20
READINESS_RUNS = 40
SNIPPET = 220
#: Characters in the critic's transcript: of one output, of all, and of text.
_ENTRY = 1_200
LONGEST_TRANSCRIPT = 24_000

_SEALED = "(not shown)"
#: Tools that find out what there is, and those that hand out means to reach it, by their names.
_READIES = re.compile(
    r"list|search|find|get|read|fetch|look|browse|discover|describe|status|http|cred|secret|variable|token|auth|vault|login",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ToolRun:
    """`arguments` are JSON with sorted keys."""

    tool: str
    arguments: str
    output: str
    failed: bool

    @property
    def line(self) -> str:
        said = " ".join(self.output.split())
        return f"- {self.tool} {self.arguments[:SNIPPET]} {'failed' if self.failed else '→'} {said[:SNIPPET]}"


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one child: the node that called it (`part`), the number of the brief, and its entries in order."""

    part: str
    brief: int
    entries: tuple[str | ToolRun, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of all children, the oldest first. `waited_ms`: time of waits for people; `taint` and `files` are
    those of the children."""

    works: tuple[Work, ...]
    taint: Taint
    files: tuple[OutgoingFile, ...]
    waited_ms: int

    @property
    def runs(self) -> list[ToolRun]:
        return [entry for work in self.works for entry in work.entries if isinstance(entry, ToolRun)]

    def transcript(self, brief: int) -> str:
        """Return the work for this brief as numbered entries; only the newest where that is long."""
        entries = [
            entry for work in self.works if (work.part, work.brief) == ("action", brief) for entry in work.entries
        ]
        lines = [f"{number}. {_told(entry)}" for number, entry in enumerate(entries, 1)]
        room, kept = LONGEST_TRANSCRIPT, list[str]()
        for line in reversed(lines):
            room -= len(line)
            if room < 0:
                break
            kept.append(line)
        return "\n".join(reversed(kept))


def load_evidence(tx: Transaction, execution: Execution) -> Evidence:
    children = [child for child in tx.executions.children_of(execution.id) if PART in child.state]
    return Evidence(
        works=tuple(_work(tx, child) for child in children),
        taint=taint_in(*(child.state for child in children)),
        files=tuple(file for child in children for file in files_of(child.state)),
        waited_ms=sum(_waited(tx, child) for child in children),
    )


def _work(tx: Transaction, child: Execution) -> Work:
    called: Mapping[str, object] = child.state[PART]
    made = load_rounds(tx, child, Rounds.from_json(child.state), lambda _sealed: _SEALED)
    entries = tuple(entry for each in made for entry in _entries(each))
    return Work(str(called["part"]), int(str(called["brief"])), entries)


def _entries(made: Round) -> Iterator[str | ToolRun]:
    if made.said.strip():
        yield made.said.strip()
    for call, output in zip(made.calls, made.outputs, strict=False):
        arguments = json.dumps(call.arguments, sort_keys=True, ensure_ascii=False, default=str)
        yield ToolRun(call.name, arguments, output.content, output.failed)


def _waited(tx: Transaction, child: Execution) -> int:
    waits = [wait for wait in tx.waits.of_execution(child.id) if wait.kind in PERSONAL_WAITS and wait.answered_at]
    return sum((wait.answered_at or 0) - wait.asked_at for wait in waits)


def _told(entry: str | ToolRun) -> str:
    if isinstance(entry, str):
        return f"The executor said: {clipped(entry, _ENTRY)}"
    how = "failed" if entry.failed else "gave"
    return f"Tool {entry.tool} {clipped(entry.arguments, _ENTRY)} {how}: {clipped(entry.output, _ENTRY)}"


def known_runs(runs: Sequence[ToolRun]) -> str:
    """The last distinct ones, by tool and arguments, as lines of a prompt; each with what it gave last."""
    newest: dict[tuple[str, str], ToolRun] = {}
    for run in reversed(runs):
        newest.setdefault((run.tool, run.arguments), run)
    return harmless("\n".join(run.line for run in reversed([*newest.values()][:KNOWN_RUNS])))


def readiness(runs: Sequence[ToolRun]) -> str:
    """Return the known state of the surroundings: the last runs of tools that check it or supply credentials."""
    ready = [run for run in runs if _READIES.search(run.tool)]
    return harmless("\n".join(run.line for run in ready[-READINESS_RUNS:]))
