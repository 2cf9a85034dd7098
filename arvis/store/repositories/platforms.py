"""Events of platforms, overheard messages and bots, over SQL."""

from __future__ import annotations

from collections.abc import Mapping

from arvis.domain.messages import Address, FeedPosition, StoredMessage
from arvis.domain.platforms import BotState, BotStatus, OverheardMessage, StoredBot
from arvis.ports.platforms import SeenEvent
from arvis.store.repositories.message_index import SqlMessageIndex
from arvis.store.repositories.messages import address_of, message_of, place
from arvis.store.sql.session import Row, Session

_STATES = frozenset(state.value for state in BotState)


class SqlBots:
    """Implements the port `Bots` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> list[StoredBot]:
        found = map(bot_of, self._session.rows("all_bots"))
        return sorted(found, key=lambda bot: (bot.platform, bot.name))

    def get(self, platform: str, name: str) -> StoredBot | None:
        row = self._session.one("bot_by_name", platform=platform, name=name)
        return bot_of(row) if row else None

    def add(self, bot: StoredBot) -> bool:
        columns = {"platform": bot.platform, "name": bot.name, "created_at": bot.created_at, **_changing(bot)}
        return self._session.execute("add_bot", **columns) == 1

    def update(self, bot: StoredBot) -> None:
        self._session.execute("update_bot", **_changing(bot))

    def remove(self, platform: str, name: str) -> bool:
        return self._session.execute("remove_bot", platform=platform, name=name) == 1

    def statuses(self) -> list[BotStatus]:
        found = map(bot_status_of, self._session.rows("bot_statuses"))
        return sorted(found, key=lambda status: (status.platform, status.name))

    def put_status(self, platform: str, name: str, state: BotState, *, error: str, now: int) -> None:
        self._session.execute("put_bot_status", platform=platform, name=name, state=state, error=error, now=now)

    def put_identity(self, platform: str, name: str, *, user_id: str, user_name: str, now: int) -> None:
        self._session.execute(
            "put_bot_identity",
            platform=platform,
            name=name,
            state=BotState.STARTING,
            user_id=user_id,
            user_name=user_name,
            now=now,
        )


def bot_of(row: Row) -> StoredBot:
    return StoredBot(
        id=row["id"],
        platform=row["platform"],
        name=row["name"],
        settings=row["settings"],
        secrets=row["secrets"],
        enabled=bool(row["enabled"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def bot_status_of(row: Row) -> BotStatus:
    return BotStatus(
        platform=row["platform"],
        name=row["name"],
        state=BotState(row["state"]) if row["state"] in _STATES else BotState.ERROR,
        error=row["error"],
        user_id=row["user_id"],
        user_name=row["user_name"],
        since=row["since"],
    )


def _changing(bot: StoredBot) -> dict[str, object]:
    return {
        "id": bot.id,
        "settings": bot.settings,
        "secrets": bot.secrets,
        "enabled": int(bot.enabled),
        "updated_at": bot.updated_at,
    }


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
    """Implements the port `Events` with the session of a transaction."""

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
    """Implements the port `Overheard` with the session of a transaction."""

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
    """Implements the port `IncomingRows` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._index = SqlMessageIndex(session)

    def by_ref(self, address: Address, ref: str) -> StoredMessage | None:
        row = self._session.one("message_by_ref", **_channel(address), ref=ref)
        return message_of(row) if row else None

    def sent_as(self, address: Address, ref: str) -> StoredMessage | None:
        row = self._session.one("message_sent_as", **_channel(address), ref=ref)
        return message_of(row) if row else None

    def by_album(self, address: Address, album: str) -> StoredMessage | None:
        row = self._session.one("message_by_album", **_channel(address), album=album)
        return message_of(row) if row else None

    def replace_text(self, message_id: str, content: str, tokens: int) -> None:
        self._index.replace(message_id, content)
        self._session.execute("replace_text", id=message_id, content=content, tokens=tokens)
