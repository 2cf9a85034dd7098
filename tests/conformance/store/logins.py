"""Cases for access: logins of the dashboard, its users, and keys that were created in the product."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from arvis.domain.ids import first_id_at
from arvis.domain.users import StoredKey, User, UserRole
from arvis.ports.people import LoginSession
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import NOW
from tests.conformance.store.transactions import TransactionCases

ANN = User("ann", "Ann ü", UserRole.OPERATOR, None, NOW, NOW)
KEY = StoredKey(first_id_at(NOW), "for the wiki", UserRole.CHAT, ("helper", "ü"), "hash-1", "owner", NOW)
_ALL = (10**15, "g")


def log_in(tx: Transaction, user_id: str, *tokens: str) -> str:
    """Create logins one after the other, and return their user's id."""
    person = tx.principals.seen("web", user_id, user_id, None, NOW)
    for number, token in enumerate(tokens):
        tx.logins.open_session(token, person.id, "Firefox on Linux", NOW + number)
    return person.id


def logins_of(
    tx: Transaction, person: str, before: tuple[int, str] = _ALL, *, seen_from: int = 0, created_from: int = 0
) -> Sequence[LoginSession]:
    return tx.logins.sessions_of(person, seen_from=seen_from, created_from=created_from, before=before, limit=2)


def hashes(sessions: Sequence[LoginSession]) -> list[str]:
    return [session.token_hash for session in sessions]


class LoginCases(TransactionCases):
    async def test_a_code_lets_in_its_user_once_and_in_time(self, store: Store) -> None:
        await store.write(lambda tx: tx.logins.add_code("code-1", "ann", NOW + 10, NOW))
        await store.write(lambda tx: tx.logins.add_code("code-2", "bob", NOW + 10, NOW))
        uses = await asyncio.gather(*(store.write(lambda tx: tx.logins.use_code("code-1", NOW)) for _ in range(8)))
        assert sorted(uses, key=str) == [None] * 7 + ["ann"]
        assert await store.write(lambda tx: tx.logins.use_code("code-2", NOW + 11)) is None
        await store.write(lambda tx: tx.logins.drop_codes("bob"))
        assert await store.write(lambda tx: tx.logins.use_code("code-2", NOW)) is None

    async def test_a_login_knows_its_user_and_its_device(self, store: Store) -> None:
        person = await store.write(log_in, "ann", "a" * 64)
        found = await store.read(lambda tx: tx.logins.session("a" * 64))
        assert found is not None
        assert (found.principal.id, found.user, found.device) == (person, None, "Firefox on Linux")
        await store.write(lambda tx: tx.users.add(ANN))
        found = await store.read(lambda tx: tx.logins.session_like("a" * 16))
        assert found is not None
        assert (found.token_hash, found.user) == ("a" * 64, ANN)
        assert await store.read(lambda tx: tx.logins.session_like("a" * 15 + "b")) is None
        assert await store.write(lambda tx: tx.logins.close_session("a" * 64))
        assert not await store.write(lambda tx: tx.logins.close_session("a" * 64))

    async def test_the_logins_of_a_person_are_listed_newest_first(self, store: Store) -> None:
        person = await store.write(log_in, "ann", "a1", "a2", "a3", "a4")
        await store.write(log_in, "bob", "b1")
        first = await store.read(logins_of, person)
        rest = await store.read(logins_of, person, (first[-1].created_at, first[-1].token_hash))
        assert hashes([*first, *rest]) == ["a4", "a3", "a2", "a1"]
        assert hashes(await store.read(logins_of, person, created_from=NOW + 2)) == ["a4"]
        await store.write(lambda tx: tx.logins.touch("a1", NOW + 50))
        assert hashes(await store.read(logins_of, person, seen_from=NOW + 40)) == ["a1"]

    async def test_the_logins_of_a_person_end_together(self, store: Store) -> None:
        person = await store.write(log_in, "ann", "a1", "a2", "a3")
        other = await store.write(log_in, "bob", "b1")
        assert sorted(await store.write(lambda tx: tx.logins.close_sessions_of(person, "a2"))) == ["a1", "a3"]
        assert await store.write(lambda tx: tx.logins.close_sessions_of(person)) == ["a2"]
        assert hashes(await store.read(logins_of, other)) == ["b1"]

    async def test_logins_that_are_over_are_forgotten(self, store: Store) -> None:
        person = await store.write(log_in, "ann", "a1", "a2", "a3")
        await store.write(lambda tx: tx.logins.touch("a1", NOW + 90))
        await store.write(lambda tx: tx.logins.drop_over(seen_before=NOW + 1, created_before=NOW - 1))
        assert hashes(await store.read(logins_of, person)) == ["a3", "a1"]
        await store.write(lambda tx: tx.logins.drop_over(seen_before=0, created_before=NOW))
        assert hashes(await store.read(logins_of, person)) == ["a3"]

    async def test_users_are_kept_changed_and_removed(self, store: Store) -> None:
        assert await store.write(lambda tx: tx.users.add(ANN))
        assert not await store.write(lambda tx: tx.users.add(replace(ANN, name="Another")))
        assert not await store.read(lambda tx: tx.users.any_password())
        changed = replace(ANN, name="Anna", role=UserRole.OWNER, password_hash="kept", updated_at=NOW + 1)
        await store.write(lambda tx: tx.users.update(changed))
        assert await store.read(lambda tx: tx.users.get("ann")) == changed
        assert await store.read(lambda tx: tx.users.any_password())
        bob = replace(ANN, id="bob_2")
        await store.write(lambda tx: tx.users.add(bob))
        assert await store.read(lambda tx: tx.users.after("", 5)) == [changed, bob]
        assert await store.read(lambda tx: tx.users.after("ann", 5)) == [bob]
        assert await store.write(lambda tx: tx.users.remove("ann"))
        assert not await store.write(lambda tx: tx.users.remove("ann"))

    async def test_keys_are_found_by_their_hash_until_they_are_removed(self, store: Store) -> None:
        later = replace(KEY, id=first_id_at(NOW + 5), key_hash="hash-2", agents=())
        for key in (KEY, later):
            await store.write(lambda tx, key: tx.api_keys.add(key), key)
        assert await store.read(lambda tx: tx.api_keys.by_hash("hash-1")) == KEY
        assert await store.read(lambda tx: tx.api_keys.get(later.id)) == later
        assert await store.read(lambda tx: tx.api_keys.before(None, 5)) == [later, KEY]
        assert await store.read(lambda tx: tx.api_keys.before(later.id, 5)) == [KEY]
        await store.write(lambda tx: tx.api_keys.used(KEY.id, NOW + 9))
        assert await store.read(lambda tx: tx.api_keys.get(KEY.id)) == replace(KEY, used_at=NOW + 9)
        assert await store.write(lambda tx: tx.api_keys.remove(KEY.id))
        assert not await store.write(lambda tx: tx.api_keys.remove(KEY.id))
        assert await store.read(lambda tx: tx.api_keys.by_hash("hash-1")) is None
