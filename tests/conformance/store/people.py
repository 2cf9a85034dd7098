"""Cases for paired people, and for unpaired people who ask."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from arvis.domain.ids import first_id_at
from arvis.domain.messages import Address, Principal, PrincipalRole
from arvis.domain.platforms import Pairing, PairingStatus
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import NOW
from tests.conformance.store.transactions import TransactionCases

ASKED = Pairing(
    id=first_id_at(NOW),
    code_hash="hash-1",
    address=Address("telegram", "main", "42"),
    user_id="42",
    user_name="Ann ü",
    status=PairingStatus.PENDING,
    created_at=NOW,
    expires_at=NOW + 900,
)
LATER = replace(ASKED, id=first_id_at(NOW + 5), code_hash="hash-2", created_at=NOW + 5, expires_at=NOW + 905)


def add_pairings(tx: Transaction, *pairings: Pairing) -> None:
    for pairing in pairings:
        tx.pairings.add(pairing)


def settle(tx: Transaction, status: PairingStatus) -> bool:
    return tx.pairings.settle(ASKED.id, status, "owner", NOW + 1)


class PeopleCases(TransactionCases):
    async def test_somebody_is_paired_until_they_are_not(self, store: Store) -> None:
        def seen(tx: Transaction) -> Principal:
            return tx.principals.seen("telegram", "42", "Ann", None, NOW)

        ann = await store.write(seen)
        assert not ann.paired
        await store.write(lambda tx: tx.principals.pair(ann.id, NOW + 1))
        assert await store.read(lambda tx: tx.principals.get(ann.id)) == replace(ann, paired=True)
        await store.write(lambda tx: tx.principals.set_role(ann.id, PrincipalRole.OPERATOR, NOW + 2))
        assert (await store.write(seen)) == replace(ann, paired=True, role=PrincipalRole.OPERATOR)
        await store.write(lambda tx: tx.principals.unpair(ann.id, NOW + 3))
        assert (await store.write(seen)) == replace(ann, role=PrincipalRole.OPERATOR)

    async def test_a_pairing_comes_back_as_it_went_in(self, store: Store) -> None:
        await store.write(add_pairings, ASKED, LATER)
        assert await store.read(lambda tx: tx.pairings.get(ASKED.id)) == ASKED
        assert await store.read(lambda tx: tx.pairings.by_code("hash-1")) == ASKED
        assert await store.read(lambda tx: tx.pairings.newest_of("telegram", "42")) == LATER
        assert await store.read(lambda tx: tx.pairings.get("nobody")) is None
        assert await store.read(lambda tx: tx.pairings.by_code("hash-3")) is None
        assert await store.read(lambda tx: tx.pairings.newest_of("discord", "42")) is None

    async def test_a_pairing_is_settled_once(self, store: Store) -> None:
        await store.write(add_pairings, ASKED)
        both = (PairingStatus.APPROVED, PairingStatus.REJECTED)
        assert sorted(await asyncio.gather(*(store.write(settle, status) for status in both))) == [False, True]

    async def test_what_waits_at_a_bot_is_counted(self, store: Store) -> None:
        other = replace(ASKED, id="x", code_hash="hash-9", address=Address("telegram", "second", "42"))
        await store.write(add_pairings, ASKED, LATER, other)
        assert await store.read(lambda tx: tx.pairings.pending("telegram", "main", NOW)) == 2
        assert await store.read(lambda tx: tx.pairings.pending("telegram", "main", ASKED.expires_at)) == 1
        await store.write(settle, PairingStatus.REJECTED)
        assert await store.read(lambda tx: tx.pairings.pending("telegram", "main", NOW)) == 1

    async def test_old_pairings_are_forgotten(self, store: Store) -> None:
        await store.write(add_pairings, ASKED, LATER)
        assert await store.write(lambda tx: tx.pairings.prune(NOW + 5, 10)) == 1
        assert await store.read(lambda tx: tx.pairings.get(ASKED.id)) is None
        assert await store.read(lambda tx: tx.pairings.get(LATER.id)) == LATER
