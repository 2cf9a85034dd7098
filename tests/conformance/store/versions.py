"""Cases for the versions of rows."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.versions import Version, Versioned
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import NOW
from tests.conformance.store.transactions import TransactionCases

SCHEDULE, CLIENT = Versioned.SCHEDULE, Versioned.CLIENT
OLD, NEW = {"name": "ü 🚀", "script": {"a": [None, 1.5]}}, {"name": "b"}


def keep_new(tx: Transaction, kind: Versioned, row_id: str) -> None:
    tx.versions.keep(kind, row_id, NEW, "ann", NOW, before=None)


def newest(tx: Transaction, kind: Versioned, row_id: str) -> Sequence[Version]:
    return tx.versions.newest(kind, row_id, 9)


class VersionCases(TransactionCases):
    async def test_the_first_change_keeps_how_it_was_before(self, store: Store) -> None:
        assert await store.read(lambda tx: tx.versions.newest(SCHEDULE, "s1", 9)) == []
        await store.write(lambda tx: tx.versions.keep(SCHEDULE, "s1", NEW, "ann", NOW, before=OLD))
        await store.write(lambda tx: tx.versions.keep(SCHEDULE, "s1", None, None, NOW + 1, before=NEW))
        assert await store.read(lambda tx: tx.versions.newest(SCHEDULE, "s1", 9)) == [
            Version(3, None, None, NOW + 1),
            Version(2, NEW, "ann", NOW),
            Version(1, OLD, None, NOW),
        ]
        assert [found.version for found in await store.read(lambda tx: tx.versions.newest(SCHEDULE, "s1", 2))] == [3, 2]

    async def test_versions_are_told_apart_by_kind_and_row(self, store: Store) -> None:
        for kind, row in ((SCHEDULE, "s1"), (SCHEDULE, "s2"), (CLIENT, "s1")):
            await store.write(keep_new, kind, row)
            assert [version.data for version in await store.read(newest, kind, row)] == [NEW, None]
