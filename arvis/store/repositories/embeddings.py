"""The vectors of messages, facts and chunks of documents, over SQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from arvis.domain.embeddings import MOST_TEXT, SHORTEST_TEXT, Subject, SubjectKind, Vector
from arvis.ports.embeddings import Unembedded
from arvis.store.sql.fact_search import scope_key
from arvis.store.sql.session import LAST, Row, Session, dump

#: The maximum number of vectors whose signs one search compares. If there are more, the newest ones are compared.
MOST_SCANNED = 200_000
#: The maximum number of vectors that are then compared number by number: those with the fewest differing signs.
CANDIDATES = 80
#: The maximum number of texts that a search by meaning returns. The similarity of each text is at least the fraction
#: `_SIMILAR` of the highest similarity.
_MOST_SIMILAR = 30
_SIMILAR = 0.7
#: A number, as text, that is higher than the number of any fact or chunk.
_AFTER_ALL_NUMBERS = str(1 << 62)


class SqlEmbeddings:
    """Implements the port `Embeddings` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def unembedded(self, kind: SubjectKind, model: str, before: str | None, limit: int) -> Unembedded:
        if kind is not SubjectKind.MESSAGE:
            read = self._facts if kind is SubjectKind.FACT else self._chunks
            return read(model, int(before or _AFTER_ALL_NUMBERS), limit)
        start = before or LAST
        slice_ = self._session.one("slice_of_messages", before=start, limit=limit)
        first = slice_["first"] if slice_ else None
        if first is None:
            return Unembedded((), None)
        rows = self._session.rows(
            "messages_to_embed", first=first, before=start, model=model, most=MOST_TEXT, shortest=SHORTEST_TEXT
        )
        return Unembedded([Subject(kind, row["id"], row["area"], row["content"]) for row in rows], first)

    def _facts(self, model: str, before: int, limit: int) -> Unembedded:
        slice_ = self._session.one("slice_of_facts", before=before, limit=limit)
        first = slice_["first"] if slice_ else None
        if first is None:
            return Unembedded((), None)
        rows = self._session.rows("facts_to_embed", first=first, before=before, model=model)
        return Unembedded([_fact_subject(row) for row in rows], str(first))

    def _chunks(self, model: str, before: int, limit: int) -> Unembedded:
        slice_ = self._session.one("slice_of_chunks", before=before, limit=limit)
        first = slice_["first"] if slice_ else None
        if first is None:
            return Unembedded((), None)
        rows = self._session.rows("chunks_to_embed", first=first, before=before, model=model)
        subjects = [
            Subject(SubjectKind.CHUNK, row["id"], row["area"], f"{row['heading']}\n{row['content']}"[:MOST_TEXT])
            for row in rows
        ]
        return Unembedded(subjects, str(first))

    def put(self, model: str, subject: Subject, vector: Vector) -> bool:
        row = self._embedded(subject)
        if row is None:
            return False
        # The area may have changed since the text was read, for example by a link between identities.
        area = _fact_subject(row).area if subject.kind is SubjectKind.FACT else row["area"]
        self._session.execute(
            "put_vector",
            kind=subject.kind,
            subject=subject.id,
            model=model,
            area=area,
            signs=vector.signs,
            vector=vector.numbers,
        )
        return True

    def _embedded(self, subject: Subject) -> Row | None:
        """Return the row of a text and lock it until the end of the transaction. Return None if the text was changed or
        deleted."""
        match subject.kind:
            case SubjectKind.MESSAGE:
                return self._session.one("embedded_message", id=subject.id, text=subject.text, most=MOST_TEXT)
            case SubjectKind.FACT:
                return self._session.one("embedded_fact", id=subject.id, text=subject.text)
            case SubjectKind.CHUNK:
                return self._session.one("embedded_chunk", id=subject.id)

    def drop(self, kind: SubjectKind, ids: Collection[str]) -> None:
        self._session.execute("drop_vectors", kind=kind, ids=dump(list(ids)))

    def prune(self, kind: SubjectKind, model: str, after: str, limit: int) -> str | None:
        end = self._session.one("slice_of_vectors", kind=kind, after=after, limit=limit - 1)
        upto = end["subject"] if end else LAST
        self._session.execute("prune_vectors", kind=kind, model=model, after=after, upto=upto)
        return None if end is None else upto

    def are_stored(self) -> bool:
        return self._session.one("any_vector") is not None


def _fact_subject(row: Row) -> Subject:
    return Subject(SubjectKind.FACT, row["id"], scope_key(row["agent_id"], row["scope"]), row["content"])


def most_similar(rows: Sequence[Row], vector: Vector) -> list[tuple[str, float]]:
    """Return the ids of the rows with the most similar vectors, best first, with their similarities."""
    found = [(row["subject"], vector.similarity(Vector(bytes(row["vector"])))) for row in rows]
    best = max((similarity for _, similarity in found), default=0.0)
    similar = [pair for pair in found if pair[1] > 0 and pair[1] >= _SIMILAR * best]
    return sorted(similar, key=lambda pair: (-pair[1], pair[0]))[:_MOST_SIMILAR]
