"""The files that a turn will send with its reply, in the state of its execution: names and hashes, never bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from arvis.domain.messages import OutgoingFile

#: Of one reply.
MOST_FILES = 10


def files_of(state: Mapping[str, Any]) -> tuple[OutgoingFile, ...]:
    return tuple(OutgoingFile(**each) for each in state.get("files", ()))


def with_files(state: Mapping[str, Any], more: Sequence[OutgoingFile]) -> dict[str, Any]:
    """The change of state that adds these, each once; no change without any."""
    files = dict.fromkeys((*files_of(state), *more))
    return {"files": [asdict(file) for file in [*files][:MOST_FILES]]} if more else {}
