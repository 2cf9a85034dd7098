"""Deliveries to chat platforms over SQL: their parts, drafts, channels and incidents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arvis.domain.dataclass import replace
from arvis.domain.ids import first_id_at
from arvis.domain.memory import room_scope
from arvis.domain.messages import Address, Delivery
from arvis.domain.platforms import ChannelStatus, Draft, DraftState, Incident, Part, PartState, Piece
from arvis.store.repositories.jobs import SqlJobs
from arvis.store.repositories.memory import SqlFacts
from arvis.store.repositories.messages import (
    SqlDeliveries,
    address_of,
    buttons_of,
    delivery_of,
    files_of,
    list_of,
    place,
)
from arvis.store.sql.session import Row, Session, dump, each


class Mover:
    """Moves the rows of a channel to the channel that replaced it on the platform. A second move also moves the rows
    that were added to the old channel after the first move."""

    def __init__(self, session: Session, old: Address, new_channel: str) -> None:
        self._session = session
        self._old = replace(old, thread="")
        self._new = replace(self._old, channel=new_channel)

    def move(self, now: int) -> None:
        self._move_lanes(self._threads("threads_on_their_way"), now)
        for thread in self._threads("threads_of_conversations"):
            old, new = (room_scope(replace(address, thread=thread)) for address in (self._old, self._new))
            SqlFacts(self._session).move(old, new)
            self._session.execute("move_states", old=old, new=new)
        self._execute("move_bindings")
        self._execute("drop_moved_bindings")
        self._execute("close_doubled_conversations")
        for query in ("move_conversations", "move_schedules", "move_webhooks", "move_drafts", "move_observed"):
            self._execute(query)

    def _move_lanes(self, threads: Iterable[str], now: int) -> None:
        """Move unsent deliveries and their jobs. In the new channel the deliveries get new sequence numbers, in the
        same order."""
        places = [(replace(self._old, thread=thread), replace(self._new, thread=thread)) for thread in threads]
        jobs = SqlJobs(self._session)
        jobs.lock([address.lane for pair in places for address in pair])
        self._execute("continue_channel")
        deliveries = SqlDeliveries(self._session)
        for row in self._session.rows("deliveries_on_their_way", **self._channels()):
            self._session.execute(
                "move_delivery", id=row["id"], channel=self._new.channel, seq=deliveries.next_seq(self._new)
            )
        for old, new in places:
            jobs.move_lane(old.lane, new.lane, now)

    def _threads(self, query: str) -> list[str]:
        """Return the ids of the threads that the query returns. The id "" means the channel itself."""
        rows = self._session.rows(query, **self._channels())
        return sorted({"", *(row["thread"] for row in rows)})

    def _execute(self, query: str) -> None:
        self._session.execute(query, **self._channels())

    def _channels(self) -> dict[str, str]:
        return {
            "platform": self._old.platform,
            "connector": self._old.connector,
            "old": self._old.channel,
            "new": self._new.channel,
        }


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
    """Implements the port `Parts` with the session of a transaction."""

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
    """Implements the port `Drafts` with the session of a transaction."""

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


class SqlChannelStatuses:
    """Implements the port `ChannelStatuses` with the session of a transaction. All threads of a channel share its
    status."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, address: Address) -> ChannelStatus | None:
        row = self._session.one("get_place", **_channel(address))
        if row is None:
            return None
        return ChannelStatus(
            replace(address, thread=""), row["state"], row["reason"], row["moved_to"], row["updated_at"]
        )

    def put(self, place: ChannelStatus) -> None:
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
        self.put(ChannelStatus(old, "moved", f"it was replaced by {new_channel}", new_channel, now))


def _incident_of(row: Row) -> Incident:
    return Incident(row["id"], row["conversation_id"], row["text"], row["created_at"], row["principal_id"])


_INCIDENTS = each(_incident_of)


class SqlIncidents:
    """Implements the port `Incidents` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, conversation_id: str, text: str, now: int) -> None:
        self._session.execute(
            "add_incident", id=self._session.new_id(), conversation_id=conversation_id, text=text, now=now
        )

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_incidents", oldest=first_id_at(before), limit=limit)

    def unreported(self, conversation_id: str, limit: int) -> list[Incident]:
        newest = self._session.held("unreported_incidents", _INCIDENTS, conversation_id=conversation_id, limit=limit)
        return list(reversed(newest))

    def reopen(self, conversation_id: str, execution_ids: Sequence[str]) -> None:
        self._session.execute("reopen_incidents", conversation_id=conversation_id, ids=dump(list(execution_ids)))

    def mark_reported(self, conversation_id: str, execution_id: str, upto: str) -> None:
        self._session.execute(
            "mark_incidents_reported", conversation_id=conversation_id, execution_id=execution_id, upto=upto
        )
