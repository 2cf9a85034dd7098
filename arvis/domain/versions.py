"""How a row was before it was changed, so that a change can be told and undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from arvis.domain.errors import Conflict


class Versioned(StrEnum):
    """Rows whose versions are kept. Agents have a table of their own: their channels belong to a version."""

    SCHEDULE = "schedule"
    CLIENT = "client"
    PERSON = "person"
    PROJECT = "project"
    SETTINGS = "settings"
    SKILL = "skill"
    WORKFLOW = "workflow"


@dataclass(frozen=True, slots=True)
class Version:
    """`data` is the row as JSON values, None where there was none; `by_id` is the principal who made it so, None where
    nobody is known; `at` in ms."""

    version: int
    data: Mapping[str, Any] | None
    by_id: str | None
    at: int


def version_before(versions: Sequence[Version]) -> Version:
    """What an undo leads back to, of the newest versions, the newest first. Raises `Conflict` when there is none."""
    if len(versions) < 2:  # noqa: PLR2004 - the newest is how it is now
        raise Conflict("Nothing was changed that could be undone.", fix="Change it as you want it.")
    return versions[1]
