"""`Pairings` over SQL: strangers who asked, and who let them in."""

from __future__ import annotations

from arvis.domain.ids import first_id_at
from arvis.domain.messages import Address
from arvis.domain.platforms import Pairing, PairingStatus
from arvis.store.session import Row, Session


def pairing_of(row: Row) -> Pairing:
    return Pairing(
        id=row["id"],
        code_hash=row["code_hash"],
        address=Address(row["platform"], row["connector"], row["channel"]),
        user_id=row["user_id"],
        user_name=row["user_name"],
        status=PairingStatus(row["status"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
    )


class SqlPairings:
    """`Pairings` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, pairing: Pairing) -> None:
        self._session.execute(
            "add_pairing",
            id=pairing.id,
            code_hash=pairing.code_hash,
            platform=pairing.address.platform,
            connector=pairing.address.connector,
            channel=pairing.address.channel,
            user_id=pairing.user_id,
            user_name=pairing.user_name,
            status=pairing.status,
            created_at=pairing.created_at,
            expires_at=pairing.expires_at,
        )

    def get(self, pairing_id: str) -> Pairing | None:
        return _found(self._session.one("get_pairing", id=pairing_id))

    def by_code(self, code_hash: str) -> Pairing | None:
        return _found(self._session.one("pairing_by_code", code_hash=code_hash))

    def newest_of(self, platform: str, user_id: str) -> Pairing | None:
        return _found(self._session.one("newest_pairing", platform=platform, user_id=user_id))

    def pending(self, platform: str, connector: str, now: int) -> int:
        row = self._session.one("count_pending_pairings", platform=platform, connector=connector, now=now)
        return int(row["number"]) if row else 0

    def settle(self, pairing_id: str, status: PairingStatus, by_id: str, now: int) -> bool:
        return self._session.execute("settle_pairing", id=pairing_id, status=status, by_id=by_id, now=now) == 1

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_pairings", oldest=first_id_at(before), limit=limit)


def _found(row: Row | None) -> Pairing | None:
    return pairing_of(row) if row else None
