"""The keys of the API: those of the configuration and the daemon's own in the data folder.

Keys are compared as hashes in constant time and never kept or shown in clear.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from arvis.config.sections import ApiKey
from arvis.web.identity import OWNER_ID, Identity, Role


class KeyRing:
    """Knows which key opens what. `daemon_key` is the content of `DATA/api-key`, an owner key."""

    def __init__(self, *, daemon_key: str, keys: Sequence[ApiKey]) -> None:
        entries = [(_digest(key.key.get_secret_value().encode()), key) for key in keys]
        self._holders = [(digest, _holder(digest, key)) for digest, key in entries]
        self._holders.append((_digest(daemon_key.encode()), _OWNER))

    def holder(self, key: bytes) -> Identity | None:
        """Whose key this is. Looks at every entry whatever matches, so that time tells nothing."""
        offered = _digest(key)
        found = None
        for digest, identity in self._holders:
            if hmac.compare_digest(digest, offered):
                found = identity
        return found


_OWNER = Identity(Role.OWNER, OWNER_ID, "Owner", paired=True, may_name=True)


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def _holder(digest: bytes, key: ApiKey) -> Identity:
    """A key that is no owner's is a user of its own. A chat key with named agents counts as paired with them;
    without, it reaches what has no risky tools."""
    user_id, name = f"key-{digest.hex()[:16]}", "API key"
    match Role(key.role):
        case Role.OWNER:
            return _OWNER
        case Role.CHAT:
            return Identity(Role.CHAT, user_id, name, paired=bool(key.agents), agents=key.agents or None)
        case role:
            return Identity(role, user_id, name, paired=role is Role.OPERATOR)
