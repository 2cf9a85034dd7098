"""The servers that an owner has added at run time, as they are stored. Their secrets are sealed.

Such a server always has an address. A program can only be named in the configuration file: otherwise, a person who
steals an owner's key could start programs on this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from arvis.config.servers import STORED_SERVERS, McpServer
from arvis.config.values import Refused
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Conflict, NotFound, SecretLost, Unprocessable
from arvis.ports.clock import Clock
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store, Transaction

_MOST_SERVERS = 100
_FIELDS = "GET /openapi.json describes every field."
_SECRET = "client_secret"  # noqa: S105 - the name of a setting

#: The settings that can be changed at run time.
_SETTINGS = frozenset(
    (
        "url",
        "tools",
        "risk",
        "trust_annotations",
        "timeout_seconds",
        "repeatable",
        "client_id",
        "scopes",
        "send_files",
        "sampling",
    )
)

#: The stored servers: for each name its `settings`, and its sealed `headers` and `client_secret`.
_Kept = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ServerChanges:
    """The changes of a server. Settings and headers without an entry stay unchanged; the value None removes a setting
    or header."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    client_secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class StoredServers:
    """The stored servers. The methods raise `Unprocessable` for values that cannot be used, `NotFound` and
    `Conflict`."""

    store: Store
    box: SecretBox
    clock: Clock

    async def all(self) -> list[McpServer]:
        """Return the servers. A server whose secrets cannot be decrypted is returned without secrets. A server whose
        settings this version of Arvis cannot use is left out."""
        kept = _parsed(await self.store.read(_text))
        # A thread decrypts, because the first call reads the key from its file and imports the library.
        return await asyncio.to_thread(self._usable, kept) if kept else []

    def _usable(self, kept: _Kept) -> list[McpServer]:
        found = []
        for name, each in kept.items():
            with contextlib.suppress(Unprocessable):
                found.append(self._opened(name, each))
        return found

    async def add(self, name: str, given: ServerChanges) -> None:
        def added(kept: _Kept) -> None:
            if name in kept:
                raise Conflict(f"There is a server {name} already.", fix="Change it, or choose another name.")
            if len(kept) >= _MOST_SERVERS:
                raise Conflict(f"There are {_MOST_SERVERS} servers already.", fix="Remove one that you do not need.")
            kept[name] = self._changed(name, {"settings": {}, "headers": {}}, given)

        await self._edit(added)

    async def change(self, name: str, changes: ServerChanges) -> None:
        def changed(kept: _Kept) -> None:
            if name not in kept:
                raise _unknown()
            kept[name] = self._changed(name, kept[name], changes)

        await self._edit(changed)

    async def remove(self, name: str) -> None:
        def removed(kept: _Kept) -> None:
            if kept.pop(name, None) is None:
                raise _unknown()

        await self._edit(removed)

    def _changed(self, name: str, before: Mapping[str, Any], changes: ServerChanges) -> dict[str, Any]:
        if refused := sorted(changes.settings.keys() - _SETTINGS):
            raise Unprocessable(
                f"`settings.{refused[0][:50]}` cannot be set here.",
                why="Only config.yaml can name a program, its environment and what it may do.",
                fix=f"Use {', '.join(sorted(_SETTINGS))}.",
            )
        settings = _merged(before["settings"], changes.settings)
        headers = _merged(
            before["headers"], {key: text and self.box.seal(text) for key, text in changes.headers.items()}
        )
        secret = before.get(_SECRET) if changes.client_secret is None else self.box.seal(changes.client_secret)
        if before["settings"].get("url") not in {None, settings.get("url")}:
            _refuse_redirection(before, changes)
        kept = {"settings": settings, "headers": headers, **({_SECRET: secret} if settings.get("client_id") else {})}
        self._opened(name, kept)
        if "@" in urlsplit(str(settings.get("url") or "")).netloc:
            raise Unprocessable(
                "`settings.url` contains a login.",
                why="Addresses are stored without encryption.",
                fix="Send the login as the header `Authorization`.",
            )
        return kept

    def _opened(self, name: str, kept: Mapping[str, Any]) -> McpServer:
        try:
            headers = {key: self.box.open(text) for key, text in kept["headers"].items()}
            secret = self.box.open(kept[_SECRET]) if kept.get(_SECRET) else None
        except SecretLost:
            headers, secret = {}, None
        try:
            return McpServer.model_validate(
                {
                    **{key: value for key, value in kept["settings"].items() if key in _SETTINGS},
                    "name": name,
                    "headers": headers,
                    **({_SECRET: secret} if secret else {}),
                }
            )
        except ValidationError as error:
            raise _unusable(error) from None

    async def _edit(self, edit: Callable[[_Kept], None]) -> None:
        """Change the stored servers. If another process changes them at the same time, try again."""
        while True:
            text = await self.store.read(_text)
            kept = _parsed(text)
            edit(kept)
            if await self.store.write(_replace, text, json.dumps(kept), self.clock.now()):
                return


def _refuse_redirection(before: Mapping[str, Any], changes: ServerChanges) -> None:
    """Refuse a new address without new secrets, because the new server would get the stored secrets."""
    kept = [name for name in before["headers"] if name not in changes.headers]
    if before.get(_SECRET) and changes.client_secret is None and changes.settings.get("client_id", "") is not None:
        kept.append("client_secret")
    if kept:
        raise Unprocessable(
            f"`{kept[0]}` is missing.",
            why="The stored secret was entered for another address.",
            fix="Send the secret again, together with the new address.",
        )


def _merged(known: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**known, **changes}.items() if value is not None}


def _unusable(error: ValidationError) -> Unprocessable:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    refused = first.get("ctx", {}).get("error")
    text = str(refused) if isinstance(refused, Refused) else first["msg"]
    fix = refused.fix if isinstance(refused, Refused) else ""
    return Unprocessable(f"`{place or 'server'}` {text}.", fix=fix or _FIELDS)


def _unknown() -> NotFound:
    return NotFound("There is no such tool server.", fix="List the servers: `arvis mcp list`.")


def _parsed(text: str | None) -> _Kept:
    found: _Kept = json.loads(text) if text else {}
    return found


def _text(tx: Transaction) -> str | None:
    return tx.kv.get(STORED_SERVERS)


def _replace(tx: Transaction, before: str | None, text: str, now: int) -> bool:
    if before is not None:
        return tx.kv.swap(STORED_SERVERS, before, text, now)
    if tx.kv.get(STORED_SERVERS) is not None:
        return False
    tx.kv.put(STORED_SERVERS, text, now)
    return True
