"""Earlier versions of a row, for the history of changes and undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from arvis.domain.errors import Conflict


class Versioned(StrEnum):
    """Kinds of rows whose versions are stored. Agents have their own table, because a version includes their
    channels."""

    SCHEDULE = "schedule"
    CLIENT = "client"
    PERSON = "person"
    PROJECT = "project"
    SETTINGS = "settings"
    SKILL = "skill"
    WORKFLOW = "workflow"


@dataclass(frozen=True, slots=True)
class Version:
    """`data` is the row as JSON values (None: it did not exist); `by_id` is the principal who made the change (None:
    unknown); `at` is in ms."""

    version: int
    data: Mapping[str, Any] | None
    by_id: str | None
    at: int


def version_before(versions: Sequence[Version]) -> Version:
    """Return the version to which an undo leads, given the newest versions, newest first. Raises `Conflict` if there
    is none."""
    if len(versions) < 2:  # noqa: PLR2004 - the newest is how it is now
        raise Conflict("There is no change to undo.", fix="Edit the current version instead.")
    return versions[1]
