"""`Bots` over SQL: bots that were entered in the product, and the status of all bots."""

from __future__ import annotations

from arvis.domain.platforms import BotState, BotStatus, StoredBot
from arvis.store.sql.session import Row, Session

_STATES = frozenset(state.value for state in BotState)


class SqlBots:
    """`Bots` in one transaction."""

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
