"""Pairing of strangers: one code per person, few pending codes, few attempts, and each code works once."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from dataclasses import replace

import pytest

from arvis.domain.errors import ArvisError
from arvis.domain.messages import Address, IncomingMessage, Principal, PrincipalRole, Sender
from arvis.domain.platforms import PairingStatus
from arvis.ports.store import Store, Transaction
from arvis.services import people, roles
from arvis.services.people import (
    ALPHABET,
    LIFE_MS,
    MOST_PENDING,
    MOST_TRIES,
    REJECTED_MS,
    Paired,
    TooManyTries,
    TurnedAway,
    WrongCode,
)

NOW = 1_800_000_000_000
BY = "the-owner"
OWNERS = {"chat": ("boss",)}


def code_of(number: int) -> str:
    return people.new_code(lambda _bits: number)


def asking(user: str = "ann", *, bot: str = "main", **changes: object) -> IncomingMessage:
    message = IncomingMessage(Address("chat", bot, f"dm-{user}"), "e1", Sender(user, user.title()), "hello", (), True)
    return replace(message, **changes)  # type: ignore[arg-type]  # a test names fields as it likes


async def offered(store: Store, number: int, message: IncomingMessage | None = None, at: int = NOW) -> bool:
    said = await store.write(people.offer_pairing, message or asking(), at, code_of(number))
    return said is not None


async def person(store: Store, user: str = "ann", role: PrincipalRole | None = None) -> Principal:
    def seen(tx: Transaction) -> Principal:
        return tx.principals.seen("chat", user, user.title(), role, NOW)

    return await store.write(seen)


def test_codes_are_of_letters_that_nobody_confuses() -> None:
    assert (len(set(ALPHABET)), set("01ILO") & set(ALPHABET)) == (31, set())
    codes = {people.new_code(secrets.randbits) for _ in range(200)}
    assert len(codes) == 200
    assert all(len(code) == 10 and set(code) <= set(ALPHABET) for code in codes)


def test_the_figures_of_the_contract() -> None:
    """A code has 10 characters and is valid for 15 minutes. Three codes may be pending at a bot, and five wrong codes
    stop the attempts."""
    figures = (people.CODE_LENGTH, LIFE_MS, MOST_PENDING, MOST_TRIES)
    assert figures == (10, 900_000, 3, 5)


async def test_a_stranger_is_let_in_by_their_code(either_store: Store) -> None:
    store = either_store
    said = await store.write(people.offer_pairing, asking(), NOW, code_of(7))
    assert said is not None
    code = said.rpartition(": ")[2]
    assert people.as_entered(code) == code_of(7)
    found = await store.write(people.approve, f" {code.lower()} ", BY, NOW + 1)
    assert isinstance(found, Paired)
    assert (found.principal.paired, found.principal.role) == (True, PrincipalRole.MEMBER)
    told = await store.read(lambda tx: tx.pairings.newest_of("chat", "ann"))
    assert told is not None
    assert told.status is PairingStatus.APPROVED
    (change, before) = await store.read(people.changes, found.principal.id, 10)
    assert (change.data, change.by_id) == ({"role": "member", "paired": True}, BY)
    assert before.data == {"role": "member", "paired": False}
    assert await store.write(people.approve, code, BY, NOW + 2) == WrongCode(MOST_TRIES - 1)
    assert not await offered(store, 8, at=NOW + LIFE_MS)


async def test_who_is_let_in_is_told_where_they_asked(store: Store) -> None:
    await offered(store, 1)
    await store.write(people.approve, code_of(1), BY, NOW)
    heads = await store.read(lambda tx: tx.jobs.head_of_lane(asking().address.lane))
    assert heads is not None
    delivery = await store.read(lambda tx: tx.deliveries.get(heads.delivery_id or ""))
    assert delivery is not None
    assert (delivery.address, delivery.content) == (asking().address, people.WELCOME)


async def test_the_code_itself_is_not_kept(store: Store) -> None:
    await offered(store, 1)
    kept = await store.read(lambda tx: tx.pairings.newest_of("chat", "ann"))
    assert code_of(1) not in str(kept)


async def test_one_code_at_a_time(either_store: Store) -> None:
    assert [await offered(either_store, number) for number in range(3)] == [True, False, False]
    assert not await offered(either_store, 4, at=NOW + LIFE_MS - 1)
    assert await offered(either_store, 5, at=NOW + LIFE_MS)


async def test_few_codes_wait_at_one_bot(either_store: Store) -> None:
    strangers = [asking(f"user{number}") for number in range(MOST_PENDING + 2)]
    given = [await offered(either_store, number, stranger) for number, stranger in enumerate(strangers)]
    assert given == [True] * MOST_PENDING + [False] * 2
    assert await offered(either_store, 50, asking("user9", bot="second"))
    assert await offered(either_store, 51, strangers[-1], at=NOW + LIFE_MS)


async def test_strangers_at_the_same_moment_pass_no_limit(either_store: Store) -> None:
    crowd = (offered(either_store, number, asking(f"user{number}")) for number in range(8))
    assert sum(await asyncio.gather(*crowd)) == MOST_PENDING
    twice = (either_store.write(people.approve, code_of(number), BY, NOW) for number in range(8) for _ in range(2))
    found = await asyncio.gather(*twice)
    assert sum(isinstance(each, Paired) for each in found) <= MOST_PENDING
    assert sum(isinstance(each, WrongCode) for each in found) == MOST_TRIES


async def test_a_code_grows_old(store: Store) -> None:
    await offered(store, 1)
    assert isinstance(await store.write(people.approve, code_of(1), BY, NOW + LIFE_MS), WrongCode)
    assert not (await person(store)).paired


@pytest.mark.parametrize(
    "message",
    [
        asking(is_direct=False),
        asking(sender=Sender("ann", "Ann", bot=True)),
        asking(sender=Sender("ann", "Ann", PrincipalRole.MEMBER)),
    ],
    ids=["group", "bot", "known by a key"],
)
async def test_who_is_given_no_code(store: Store, message: IncomingMessage) -> None:
    assert not await offered(store, 1, message)


async def test_the_blocked_and_the_paired_are_given_no_code(store: Store) -> None:
    ann, bob = await person(store), await person(store, "bob")
    await store.write(lambda tx: tx.principals.set_role(ann.id, PrincipalRole.BLOCKED, NOW))
    await store.write(lambda tx: tx.principals.pair(bob.id, NOW))
    assert [await offered(store, 1), await offered(store, 2, asking("bob"))] == [False, False]


async def test_after_a_few_wrong_codes_none_is_looked_at(either_store: Store) -> None:
    store = either_store
    await offered(store, 1)
    wrong = [await store.write(people.approve, "wrong", BY, NOW + number) for number in range(MOST_TRIES)]
    assert wrong == [WrongCode(left) for left in range(MOST_TRIES - 1, -1, -1)]
    for script, at in itertools.product((people.approve, people.reject), (NOW + 10, NOW + LIFE_MS - 1)):
        assert await store.write(script, code_of(1), BY, at) == TooManyTries(NOW + LIFE_MS)
    await offered(store, 2, at=NOW + LIFE_MS)
    assert isinstance(await store.write(people.approve, code_of(2), BY, NOW + LIFE_MS), Paired)


async def test_who_is_turned_away_hears_nothing_for_a_day(either_store: Store) -> None:
    store = either_store
    await offered(store, 1)
    rejected = NOW + LIFE_MS - 1
    assert isinstance(await store.write(people.reject, code_of(1), BY, rejected), TurnedAway)
    assert isinstance(await store.write(people.approve, code_of(1), BY, rejected), WrongCode)
    waits = (LIFE_MS, REJECTED_MS - 1, REJECTED_MS)
    assert [await offered(store, 2, at=rejected + wait) for wait in waits] == [False, False, True]
    asked = await store.read(lambda tx: tx.pairings.newest_of("chat", "ann"))
    assert asked is not None
    assert await store.write(people.reject_by_id, asked.id, BY, NOW) is not None
    assert await store.write(people.reject_by_id, asked.id, BY, NOW) is None


async def change(
    store: Store, ann: Principal, role: PrincipalRole | None = None, paired: bool | None = None
) -> Principal:
    return await store.write(people.change, ann.id, role=role, paired=paired, owners=OWNERS, by=BY, now=NOW)


async def test_roles_are_given_and_on_record(either_store: Store) -> None:
    ann = await person(either_store)
    operator = await change(either_store, ann, PrincipalRole.OPERATOR)
    assert (operator.role, operator.paired) == (PrincipalRole.OPERATOR, True)
    assert await change(either_store, ann, PrincipalRole.OPERATOR) == operator
    assert len(await either_store.read(people.changes, ann.id, 10)) == 2


async def test_who_is_struck_off_keeps_nothing(store: Store) -> None:
    ann = await person(store)
    await change(store, ann, PrincipalRole.OPERATOR)
    assert await change(store, ann, PrincipalRole.MEMBER) == ann
    await change(store, ann, paired=True)
    assert (await change(store, ann, PrincipalRole.MEMBER)).paired
    assert not (await change(store, ann, PrincipalRole.MEMBER, paired=False)).paired


async def test_who_is_blocked_keeps_nothing(store: Store) -> None:
    await offered(store, 1)
    ann = await person(store)
    await change(store, ann, paired=True)
    blocked = await change(store, ann, PrincipalRole.BLOCKED)
    assert (blocked.role, blocked.paired) == (PrincipalRole.BLOCKED, False)
    assert isinstance(await store.write(people.approve, code_of(1), BY, NOW), WrongCode)
    back = await change(store, ann, PrincipalRole.MEMBER)
    assert (back.role, back.paired) == (PrincipalRole.MEMBER, False)


async def test_owners_are_made_by_the_configuration_alone(store: Store) -> None:
    boss, ann = await person(store, "boss", PrincipalRole.OWNER), await person(store)
    struck_off = await person(store, "old", PrincipalRole.OWNER)
    refused = [(boss, PrincipalRole.MEMBER, None), (ann, PrincipalRole.OWNER, None), (ann, PrincipalRole.BLOCKED, True)]
    for who, role, paired in refused:
        with pytest.raises(ArvisError):
            await change(store, who, role, paired)
    assert [roles.role_of(each, OWNERS) for each in (boss, struck_off)] == [PrincipalRole.OWNER, PrincipalRole.MEMBER]
    assert (await change(store, struck_off, PrincipalRole.BLOCKED)).role is PrincipalRole.BLOCKED
