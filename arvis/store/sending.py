"""What is on its way to chat platforms, over SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arvis.domain.ids import first_id_at
from arvis.domain.messages import Address, Delivery
from arvis.domain.platforms import Draft, DraftState, Incident, Part, PartState, Piece, Place
from arvis.store.messages import address_of, buttons_of, delivery_of, files_of, list_of, place
from arvis.store.moving import Mover
from arvis.store.session import Row, Session


def draft_of(row: Row) -> Draft:
    return Draft(
        execution_id=row["execution_id"],
        id=row["id"],
        address=address_of(row),
        state=DraftState(row["state"]),
        platform_id=row["platform_id"],
        created_at=row["created_at"],
    )


def _channel(address: Address) -> dict[str, str]:
    return {"platform": address.platform, "connector": address.connector, "channel": address.channel}


class SqlParts:
    """`Parts` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def of_delivery(self, delivery_id: str) -> list[Part]:
        if not (rows := self._session.rows("parts_of_delivery", delivery_id=delivery_id)):
            return []
        found = self._session.one("get_delivery", id=delivery_id)
        return [part_of(row, delivery_of(found)) for row in rows] if found is not None else []

    def plan(self, delivery_id: str, parts: Sequence[Part]) -> None:
        self._session.execute("drop_parts", delivery_id=delivery_id)
        for part in parts:
            self._session.execute(
                "add_part",
                delivery_id=part.delivery.id,
                part=part.number,
                content=part.piece.content,
                buttons=list_of(part.piece.buttons),
                files=list_of(part.piece.files),
                state=part.state,
                platform_id=part.platform_id,
                tried_at=part.tried_at,
            )

    def put(self, part: Part, state: PartState, *, platform_id: str | None = None, tried_at: int | None = None) -> None:
        self._session.execute(
            "put_part",
            delivery_id=part.delivery.id,
            part=part.number,
            state=state,
            platform_id=platform_id,
            tried_at=tried_at,
        )


def part_of(row: Row, delivery: Delivery) -> Part:
    return Part(
        delivery=delivery,
        number=row["part"],
        piece=Piece(row["content"], buttons_of(row["buttons"]), files_of(row["files"])),
        state=PartState(row["state"]),
        platform_id=row["platform_id"],
        tried_at=row["tried_at"],
    )


class SqlDrafts:
    """`Drafts` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, execution_id: str) -> Draft | None:
        row = self._session.one("get_draft", execution_id=execution_id)
        return draft_of(row) if row else None

    def open(self, limit: int) -> list[Draft]:
        return [draft_of(row) for row in self._session.rows("open_drafts", limit=limit)]

    def awaited(self, execution_id: str) -> bool:
        return self._session.one("draft_awaited", execution_id=execution_id) is not None

    def add(self, draft: Draft) -> bool:
        added = self._session.execute(
            "add_draft",
            execution_id=draft.execution_id,
            id=draft.id,
            **place(draft.address),
            state=draft.state,
            platform_id=draft.platform_id,
            now=draft.created_at,
        )
        return added == 1

    def put(self, execution_id: str, state: DraftState, *, platform_id: str | None, now: int) -> None:
        self._session.execute("put_draft", execution_id=execution_id, state=state, platform_id=platform_id, now=now)

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_drafts", oldest=first_id_at(before), limit=limit)


class SqlPlaces:
    """`Places` in one transaction. A place is a channel: its threads are part of it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, address: Address) -> Place | None:
        row = self._session.one("get_place", **_channel(address))
        if row is None:
            return None
        return Place(replace(address, thread=""), row["state"], row["reason"], row["moved_to"], row["updated_at"])

    def put(self, place: Place) -> None:
        self._session.execute(
            "put_place",
            **_channel(place.address),
            state=place.state,
            reason=place.reason,
            moved_to=place.moved_to,
            now=place.updated_at,
        )

    def clear(self, address: Address) -> bool:
        return self._session.execute("clear_place", **_channel(address)) > 0

    def move(self, old: Address, new_channel: str, now: int) -> None:
        if new_channel == old.channel:
            return
        Mover(self._session, old, new_channel).move(now)
        self.put(Place(old, "moved", f"it has become {new_channel}", new_channel, now))


class SqlIncidents:
    """`Incidents` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, conversation_id: str, text: str, now: int) -> None:
        self._session.execute(
            "add_incident", id=self._session.new_id(), conversation_id=conversation_id, text=text, now=now
        )

    def untold(self, conversation_id: str, limit: int) -> list[Incident]:
        rows = self._session.rows("untold_incidents", conversation_id=conversation_id, limit=limit)
        return [Incident(row["id"], row["conversation_id"], row["text"], row["created_at"]) for row in reversed(rows)]

    def told(self, conversation_id: str, execution_id: str, upto: str) -> None:
        self._session.execute("told_incidents", conversation_id=conversation_id, execution_id=execution_id, upto=upto)
