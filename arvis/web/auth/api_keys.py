"""The check of API keys. A key is listed in the configuration, is stored in the database, or is the daemon's own key in
the data folder.

Keys are stored and compared as hashes and never shown in clear. Keys of the configuration are compared in constant
time. Keys of the database are looked up by their hash. This lookup needs no constant time, because a caller cannot
choose any part of a hash.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from arvis.config.sections import ApiKey
from arvis.config.values import is_weak_key
from arvis.domain.messages import PrincipalRole
from arvis.domain.users import StoredKey
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.web.http.identity import OWNER_ID, PRINCIPAL_ROLES, Identity, Role

#: The prefix of keys that the daemon creates, by which people and secret scanners recognise leaked keys.
PREFIX = "arvis_"

#: The minimum time between two updates of a key's last use (ms).
_TOUCH_MS = 3_600_000


class ApiKeyCache:
    """The API keys and their holders. `daemon_key` is the content of `DATA/api-key`, which is an owner key."""

    def __init__(self, *, daemon_key: str, keys: Sequence[ApiKey], store: Store, clock: Clock) -> None:
        given = [(key.key.get_secret_value(), key) for key in keys]
        entries = [(_digest(text.encode()), is_weak_key(text), key) for text, key in given]
        self._holders = [(digest, weak, _holder(digest, key)) for digest, weak, key in entries]
        self._holders.append((_digest(daemon_key.encode()), False, _opens(Role.OWNER, OWNER_ID, "", ())))
        self._store = store
        self._clock = clock

    async def holder(self, key: bytes, *, guessable: bool = True) -> Identity | None:
        """Return the holder of the key, or None if the key is not valid. If `guessable` is False, ignore the keys of
        the configuration that can be guessed."""
        offered = _digest(key)
        return self._configured(offered, guessable=guessable) or await self._made(key, offered)

    async def renew(self, key_id: str) -> Identity | None:
        """Return the holder of a key of the database, with the current rights. Return None if the key was revoked."""
        found = await self._store.read(_get, key_id)
        return None if found is None else _identity(found)

    def _configured(self, offered: bytes, *, guessable: bool) -> Identity | None:
        """Return the holder of a configured key. Compare every entry, even after a match, so that the duration does not
        reveal which entry matched."""
        found = None
        for digest, weak, identity in self._holders:
            if hmac.compare_digest(digest, offered) and (guessable or not weak):
                found = identity
        return found

    async def _made(self, key: bytes, offered: bytes) -> Identity | None:
        if not key.startswith(PREFIX.encode()):
            return None
        found, now = await self._store.read(_by_hash, offered.hex()), self._clock.now()
        if found is None:
            return None
        if found.used_at is None or now - found.used_at >= _TOUCH_MS:
            await self._store.write(_used, found.id, now)
        return _identity(found)


def roles_of(keys: Sequence[ApiKey]) -> dict[str, PrincipalRole]:
    """Return the role of each key in the configuration, by the user id that belongs to the key."""
    holders = (_holder(_digest(key.key.get_secret_value().encode()), key) for key in keys)
    return {holder.user_id: PRINCIPAL_ROLES[holder.role] for holder in holders}


def key_hash(key: str) -> str:
    """Return the hash under which a key is stored."""
    return _digest(key.encode()).hex()


def user_of_key(key_id: str) -> str:
    """Return the user id of a key of the database whose role is not owner."""
    return f"key-{key_id}"


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def _holder(digest: bytes, key: ApiKey) -> Identity:
    return _opens(Role(key.role), f"key-{digest.hex()[:16]}", "API key", key.agents)


def _identity(key: StoredKey) -> Identity:
    return _opens(Role(key.role), user_of_key(key.id), key.name, key.agents, key.id)


def _opens(role: Role, user_id: str, name: str, agents: tuple[str, ...], key: str | None = None) -> Identity:
    """Return the identity of a key. All owner keys belong to the same user, and every other key has its own user. A
    chat key with a list of agents counts as paired. A chat key without this list can use only agents that have no risky
    tools."""
    match role:
        case Role.OWNER:
            return Identity(Role.OWNER, OWNER_ID, "Owner", paired=True, may_name=True, key=key)
        case Role.CHAT:
            return Identity(Role.CHAT, user_id, name, paired=bool(agents), agents=agents or None, key=key)
        case _:
            return Identity(role, user_id, name, paired=role is Role.OPERATOR, key=key)


def _by_hash(tx: Transaction, hashed: str) -> StoredKey | None:
    return tx.api_keys.by_hash(hashed)


def _get(tx: Transaction, key_id: str) -> StoredKey | None:
    return tx.api_keys.get(key_id)


def _used(tx: Transaction, key_id: str, now: int) -> None:
    tx.api_keys.used(key_id, now)
