"""Stored versions of rows, for the history of changes and for undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Conflict


class Versioned(StrEnum):
    """The kinds of rows whose versions are stored. Versions of agents have a separate table, because they include the
    agents' channels."""

    SCHEDULE = "schedule"
    CLIENT = "client"
    PERSON = "person"
    PROJECT = "project"
    SETTINGS = "settings"
    SKILL = "skill"
    WORKFLOW = "workflow"


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a row. `at` in ms."""

    version: int
    #: The columns as JSON values. None means that the row did not exist in this version.
    data: Mapping[str, Any] | None
    #: The principal whose change made this version; None if the principal is unknown.
    by_id: str | None
    at: int


def version_before(versions: Sequence[Version]) -> Version:
    """Return the version that an undo restores: the second one of `versions`, which are ordered newest first. Raise
    `Conflict` if there are fewer than two."""
    if len(versions) < 2:  # noqa: PLR2004 - the newest version is the current one
        raise Conflict("There is no change to undo.", fix="Edit the current version instead.")
    return versions[1]
