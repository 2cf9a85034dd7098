"""The accepted descriptions and schemas of the tools of servers.

The first description of a tool is accepted, because an owner has configured its server. Models get only accepted
descriptions. After a change, each call needs an approval, and the question shows the change. A person who approves such
a call accepts the change; an owner can also accept it in the dashboard or on the command line.

If a server no longer offers a tool, Arvis keeps only the digest of its description. Without the digest, a server could
change a description unnoticed: it would remove the tool and offer it again. The housekeeping deletes these data of
servers that no longer exist.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from difflib import unified_diff
from typing import Any, Self

from arvis.domain.dataclass import dataclass
from arvis.domain.effects import Access, AccessKind, access_entry
from arvis.domain.text import storable, storable_json
from arvis.domain.tools import ACCEPTED_TOOLS
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.tools.mcp.remote import Offer

#: The number of tools that are remembered for each server, because a server may invent any number of names.
MOST_NAMES = 1_000
#: The maximum number of characters of a change that a question shows.
_LONGEST_CHANGE = 3_000


@dataclass(frozen=True, slots=True)
class Pin:
    """The accepted description of a tool."""

    description: str
    schema: Mapping[str, Any]
    read_only: bool
    #: True if the tool was first seen after the first list of its server, and no person has accepted it yet.
    new: bool = False
    #: The digest of the description of a tool that the server no longer offers; "" for other tools.
    removed: str = ""

    @classmethod
    def of(cls, offer: Offer, *, new: bool = False) -> Self:
        return cls(storable(offer.description), storable_json(dict(offer.schema)), offer.read_only, new)

    def to_json(self) -> dict[str, Any]:
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) or name in _REQUIRED}

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the description, the schema and the read-only claim."""
        if self.removed:
            return self.removed
        text = json.dumps([self.description, self.schema, self.read_only], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def offer(self, name: str) -> Offer:
        return Offer(name=name, description=self.description, schema=self.schema, read_only=self.read_only)

    def without_text(self) -> Pin:
        return Pin("", {"type": "object"}, read_only=False, new=self.new, removed=self.digest)


_REQUIRED = ("description", "schema", "read_only")
_Kept = dict[str, Pin]


@dataclass(frozen=True, slots=True)
class Pins:
    """The accepted descriptions of servers' tools, by server and tool."""

    store: Store
    clock: Clock

    async def read(self, server: str) -> _Kept:
        return await self.store.read(_read, server)

    async def settle(self, server: str, offers: Mapping[str, Offer], present: Collection[str]) -> _Kept:
        """Accept the offers of new tools, and delete the texts of tools that are not `present` (only their digests are
        kept). Return the accepted descriptions. Tools beyond `MOST_NAMES` are not stored."""
        kept = await self.read(server)
        if list(_settled(kept, offers, present).items()) == list(kept.items()):
            return kept
        return await self.store.write(_settle, server, offers, present, self.clock.now())

    async def forget(self, server: str) -> None:
        """Forget the descriptions of a server that was removed."""
        await self.store.write(_forget, server)

    async def accept(self, server: str, offer: Offer, by: str) -> None:
        """Store this offer as accepted by a person, with an entry in the audit log. `by` is the id of the person."""
        await self.store.write(_accept, server, offer, by, self.clock.now())


def _settled(kept: Mapping[str, Pin], offers: Mapping[str, Offer], present: Collection[str]) -> _Kept:
    """Return the accepted descriptions after a server has sent its list of tools. The tools that were removed last are
    at the end."""
    found = {name: pin for name, pin in kept.items() if name in present or pin.removed}
    found |= {name: pin.without_text() for name, pin in kept.items() if name not in found}
    for name, offer in offers.items():
        pin = found.get(name)
        if pin is None and (len(found) < MOST_NAMES or _forget_removed(found, present)):
            found[name] = Pin.of(offer, new=bool(kept))
        elif pin is not None and pin.removed and pin.removed == Pin.of(offer).digest:
            found[name] = Pin.of(offer, new=pin.new)
    return found


def _forget_removed(kept: _Kept, present: Collection[str]) -> bool:
    """Forget the tool that was removed longest ago. Return False if no removed tool is stored."""
    oldest = next((name for name, pin in kept.items() if pin.removed and name not in present), None)
    if oldest is not None:
        del kept[oldest]
    return oldest is not None


def _read(tx: Transaction, server: str) -> _Kept:
    found = json.loads(tx.kv.get(f"{ACCEPTED_TOOLS}{server}") or "{}")
    return {name: Pin(**fields) for name, fields in found.items()}


def _forget(tx: Transaction, server: str) -> None:
    tx.kv.delete(f"{ACCEPTED_TOOLS}{server}")


def _write(tx: Transaction, server: str, kept: _Kept, now: int) -> None:
    text = json.dumps({name: pin.to_json() for name, pin in kept.items()}, ensure_ascii=False)
    tx.kv.put(f"{ACCEPTED_TOOLS}{server}", text, now)


def _settle(
    tx: Transaction, server: str, offers: Mapping[str, Offer], present: Collection[str], now: int
) -> dict[str, Pin]:
    kept = _settled(_read(tx, server), offers, present)
    _write(tx, server, kept, now)
    return kept


def _accept(tx: Transaction, server: str, offer: Offer, by: str, now: int) -> None:
    kept, accepted = _read(tx, server), Pin.of(offer)
    before = kept.get(offer.name)
    if before == accepted:
        return
    kept[offer.name] = accepted
    _write(tx, server, kept, now)
    digests = {"before": before.digest if before is not None else None, "after": accepted.digest}
    access = Access(
        AccessKind.TOOL_ACCEPTED, f"{server}.{offer.name}", {"server": server, "tool": offer.name, **digests}
    )
    tx.audit.add(access_entry(tx.new_id(), access, now, by))


def change_of(accepted: Offer, now: Offer) -> str:
    """Return the differences between two offers as lines; "" if there are none."""
    before, after = (list(_lines(each)) for each in (accepted, now))
    # The first two lines name the files. A line of a description can look like them, but it must not be left out.
    lines = list(unified_diff(before, after, n=0, lineterm=""))[2:]
    return "\n".join(line for line in lines if not line.startswith("@@"))


def change_for_question(change: str, server: str, digest: str) -> str:
    """Return the change for a question. If the change is long, cut it, and say where the whole change can be read. The
    cut text also contains the digest of the description, because an approval is valid only for the same text."""
    if len(change) <= _LONGEST_CHANGE:
        return change
    return (
        f"{change[:_LONGEST_CHANGE]}\n[{len(change):,} characters in all. The whole change is in the dashboard "
        f"(Settings, Tool servers, {server}), and `arvis mcp tools {server}` prints it. Fingerprint: {digest[:16]}]"
    )


def _lines(offer: Offer) -> Iterator[str]:
    yield from storable(offer.description).splitlines()
    yield f"read-only: {offer.read_only}"
    yield from json.dumps(storable_json(dict(offer.schema)), indent=1, sort_keys=True, ensure_ascii=False).splitlines()
