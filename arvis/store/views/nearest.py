"""The texts with the most similar vectors, for the views of messages and facts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from arvis.domain.embeddings import Meaning, SubjectKind
from arvis.store.repositories.embeddings import CANDIDATES, MOST_SCANNED, most_similar
from arvis.store.sql.session import Snapshot


async def nearest_vectors(
    snapshot: Snapshot, kind: SubjectKind, meaning: Meaning, areas: Sequence[str] | None
) -> Sequence[tuple[str, float]]:
    """Return the ids of the messages or facts with the most similar vectors, best first, with their similarities. If
    `areas` is not None, only vectors of these areas are compared."""
    wanted = {
        "model": meaning.model,
        "kind": kind,
        "signs": meaning.vector.signs,
        "most": MOST_SCANNED,
        "limit": CANDIDATES,
    }
    if areas is None:
        rows = await snapshot.rows("nearest_vectors", **wanted)
    else:
        rows = await snapshot.rows("nearest_vectors_in_areas", areas=json.dumps(areas), **wanted)
    # The comparison takes some milliseconds and would block the event loop.
    return await asyncio.to_thread(most_similar, rows, meaning.vector)
