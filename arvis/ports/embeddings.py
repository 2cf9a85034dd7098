"""The repository of the vectors of messages, facts and chunks of documents, and the function that returns the vector of a
search text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.embeddings import Meaning, Subject, SubjectKind, Vector


@dataclass(frozen=True, slots=True)
class Unembedded:
    """The texts of a slice of rows that have no vector of a model, newest first. `position` is the position of the next
    slice, with older rows; None if there are none."""

    subjects: Sequence[Subject]
    position: str | None


class Embeddings(Protocol):
    def unembedded(self, kind: SubjectKind, model: str, before: str | None, limit: int) -> Unembedded:
        """Return those of the newest `limit` rows before a position that need a vector of this model. Without `before`, the
        slice begins with the newest row."""
        ...

    def put(self, model: str, subject: Subject, vector: Vector) -> bool:
        """Store the vector of a text, in place of one of another model. Return False if the text has changed or is gone."""
        ...

    def drop(self, kind: SubjectKind, ids: Collection[str]) -> None:
        """Delete the vectors of these messages, facts or chunks."""
        ...

    def prune(self, kind: SubjectKind, model: str, after: str, limit: int) -> str | None:
        """Delete the vectors of other models, and those whose text is gone, among the `limit` rows that follow `after`. Return
        the id of the last one; None if no rows follow."""
        ...

    def are_stored(self) -> bool:
        """Return True if a vector of any model is stored."""
        ...


#: Returns the vector of a search text; None if texts are not embedded, or if the vendor does not answer in time.
MeaningOf = Callable[[str], Awaitable[Meaning | None]]


async def no_meaning(_: str) -> Meaning | None:
    """The `MeaningOf` of a program that embeds no texts."""
    return None
