"""The repository of the vectors of messages, facts and chunks of documents, and the function that returns the vector of a
search text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.embeddings import Meaning, Subject, SubjectKind, Vector


@dataclass(frozen=True, slots=True)
class Unembedded:
    """The texts of one batch of rows for which the vector of a model is missing, newest first. The next batch, with
    older rows, begins at `position`; None if there are no older rows."""

    subjects: Sequence[Subject]
    position: str | None


class Embeddings(Protocol):
    def unembedded(self, kind: SubjectKind, model: str, before: str | None, limit: int) -> Unembedded:
        """Examine the next `limit` rows before the position `before` (None: beginning with the newest row), and return
        the texts that need a vector of this model."""
        ...

    def put(self, model: str, subject: Subject, vector: Vector) -> bool:
        """Store the vector of a text; it replaces a vector of another model. Return False and store nothing if the text
        was changed or deleted."""
        ...

    def drop(self, kind: SubjectKind, ids: Collection[str]) -> None:
        """Delete the vectors of these messages, facts or chunks."""
        ...

    def prune(self, kind: SubjectKind, model: str, after: str, limit: int) -> str | None:
        """Examine the `limit` vectors that follow the id `after`. Delete vectors of other models, and vectors whose
        text was deleted. Return the id of the last examined vector; None if these were the last vectors."""
        ...

    def are_stored(self) -> bool:
        """Return True if a vector of any model is stored."""
        ...


#: A function that returns the vector of a search text; None if texts are not embedded, or if the vendor does not answer
#: in time.
MeaningOf = Callable[[str], Awaitable[Meaning | None]]


async def no_meaning(_: str) -> Meaning | None:
    """The `MeaningOf` of a program that embeds no texts."""
    return None
