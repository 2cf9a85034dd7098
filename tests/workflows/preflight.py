"""The editor's rules, bundled for Node in the same way as for browsers, and the judgement of documents on both
sides."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arvis.workflows.document.model import normalise
from arvis.workflows.validation.check import KnownNames, check
from arvis.workflows.validation.rules import Problem

UI = Path(__file__).parents[2] / "arvis" / "web" / "ui"
_BUNDLER = UI / "node_modules" / "rolldown" / "bin" / "cli.mjs"
_ENTRY = Path(__file__).with_name("preflight.mjs")
#: Kind of names, such as `agents` or `tools` -> the names that exist.
Names = Mapping[str, list[str]]
#: Maximum number of documents in one call of Node.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Judged:
    """The judgement of one side, as JSON."""

    document: Any
    problems: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Preflight:
    """The bundle and the Node that runs it."""

    node: Path
    bundle: Path

    def judge(self, documents: Sequence[Any], names: Names | None = None) -> Iterator[Judged]:
        for at in range(0, len(documents), _AT_ONCE):
            asked = ({"raw": document, "known": names or {}} for document in documents[at : at + _AT_ONCE])
            lines = "".join(f"{json.dumps(each)}\n" for each in asked)
            answer = subprocess.run(
                [self.node, self.bundle], input=lines.encode(), stdout=subprocess.PIPE, timeout=300, check=True
            )
            yield from (Judged(**json.loads(line)) for line in answer.stdout.splitlines())


def bundled(node: Path, folder: Path) -> Preflight:
    """Bundle the rules into one file in this folder, with the packages of the dashboard."""
    return Preflight(node, bundle_of(_ENTRY, node, folder))


def bundle_of(entry: Path, node: Path, folder: Path) -> Path:
    """Bundle a script and its imports from the dashboard into one file in this folder."""
    assert _BUNDLER.exists(), "run: python hatch_build.py --checks"
    bundle = folder / entry.name
    command: list[str | Path] = [
        node,
        _BUNDLER,
        entry,
        "--file",
        bundle,
        "--format",
        "esm",
        "--platform",
        "node",
        "--log-level",
        "silent",
    ]
    subprocess.run(command, cwd=UI, stdout=subprocess.DEVNULL, timeout=120, check=True)
    return bundle


def in_python(document: Any, names: Names | None = None) -> Judged:
    """Judge the document by the rules of the API and the runtime."""
    normal = normalise(document)
    problems = check(normal, KnownNames(**(names or {})))
    return Judged(_as_json(normal), _as_json([problem.to_json() for problem in problems]))


def difference(ours: Judged, theirs: Judged) -> str | None:
    """Return the difference between two judgements, or None if they are equal."""
    if ours.document != theirs.document:
        return f"normalised: {_first(ours.document, theirs.document)}"
    if ours.problems != theirs.problems:
        return f"problems: {_first(ours.problems, theirs.problems)}"
    return None


def _first(ours: Any, theirs: Any, path: str = "") -> str:
    """Return the first difference between two values, with its path."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        return next(_first(ours[name], theirs[name], f"{path}.{name}") for name in ours if ours[name] != theirs[name])
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return next(_first(one, other, f"{path}.{at}") for at, (one, other) in pairs if one != other)
    return f"at {path or 'the top'}: Python {str(ours)[:600]!r}, editor {str(theirs)[:600]!r}"


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def is_error(problem: Problem | dict[str, Any]) -> bool:
    return (problem["severity"] if isinstance(problem, dict) else problem.severity) == "error"
