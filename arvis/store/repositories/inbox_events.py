"""Events of chat platforms besides messages, read positions of bots, and overheard messages, over SQL."""

from __future__ import annotations

from collections.abc import Mapping

from arvis.domain.messages import Address, FeedPosition, StoredMessage
from arvis.domain.platforms import OverheardMessage
from arvis.ports.platforms import SeenEvent
from arvis.store.repositories.messages import address_of, message_of, place
from arvis.store.sql.session import Row, Session


def overheard_of(row: Row) -> OverheardMessage:
    return OverheardMessage(
        address=address_of(row),
        event_id=row["event_id"],
        platform_ref=row["platform_ref"],
        user_id=row["user_id"],
        user_name=row["user_name"],
        content=row["content"],
        created_at=row["created_at"],
    )


def _channel(address: Address) -> dict[str, str]:
    return {"platform": address.platform, "connector": address.connector, "channel": address.channel}


class SqlEvents:
    """`Events` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def seen(self, platform: str, connector: str, event_id: str) -> SeenEvent | None:
        row = self._session.one("seen_event", platform=platform, connector=connector, event_id=event_id)
        return SeenEvent(row["message_id"], row["outcome"]) if row else None

    def keep(self, platform: str, connector: str, event_id: str, event: SeenEvent, now: int) -> None:
        self._session.execute(
            "keep_event",
            platform=platform,
            connector=connector,
            event_id=event_id,
            message_id=event.message_id,
            outcome=event.outcome,
            now=now,
        )

    def advance(self, platform: str, connector: str, position: FeedPosition) -> None:
        self._session.execute(
            "advance_feed", platform=platform, connector=connector, feed=position.feed, position=position.position
        )

    def position(self, platform: str, connector: str, feed: str) -> int | None:
        row = self._session.one("feed_position", platform=platform, connector=connector, feed=feed)
        return row["position"] if row else None

    def feeds(self, platform: str, connector: str, limit: int) -> Mapping[str, int]:
        rows = self._session.rows("feeds_of_bot", platform=platform, connector=connector, limit=limit)
        return {row["feed"]: row["position"] for row in rows}

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_events", before=before, limit=limit)


class SqlOverheard:
    """`Overheard` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, message: OverheardMessage, keep: int) -> bool:
        added = self._session.execute(
            "add_observed",
            id=self._session.new_id(),
            **place(message.address),
            event_id=message.event_id,
            platform_ref=message.platform_ref,
            user_id=message.user_id,
            user_name=message.user_name,
            content=message.content,
            created_at=message.created_at,
        )
        if added:
            self._session.execute("drop_observed", **place(message.address), keep=max(0, keep - 1))
        return bool(added)

    def newest(self, address: Address, since: int, limit: int) -> list[OverheardMessage]:
        rows = self._session.rows("newest_observed", **place(address), since=since, limit=limit)
        return [overheard_of(row) for row in reversed(rows)]

    def edit(self, address: Address, ref: str, content: str | None) -> None:
        if content is None:
            self._session.execute("forget_observed", **_channel(address), ref=ref)
        else:
            self._session.execute("edit_observed", **_channel(address), ref=ref, content=content)

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_observed", before=before, limit=limit)


class SqlIncomingRows:
    """`IncomingRows` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def by_ref(self, address: Address, ref: str) -> StoredMessage | None:
        row = self._session.one("message_by_ref", **_channel(address), ref=ref)
        return message_of(row) if row else None

    def by_album(self, address: Address, album: str) -> StoredMessage | None:
        row = self._session.one("message_by_album", **_channel(address), album=album)
        return message_of(row) if row else None

    def replace_text(self, message_id: str, content: str, tokens: int) -> None:
        self._session.execute("replace_text", id=message_id, content=content, tokens=tokens)
