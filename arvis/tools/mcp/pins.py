"""The accepted descriptions and schemas of the tools of servers.

The first description of a tool is accepted, because an owner has configured its server. Models get only accepted
descriptions. After a change, each call needs an approval that shows the change; the first approval accepts it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import unified_diff

from arvis.domain.dataclass import dataclass
from arvis.domain.text import storable, storable_json
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.tools.mcp.remote import Offer

#: The number of tools that are remembered for each server, because a server may invent names for ever.
MOST_NAMES = 1_000
#: The maximum number of characters of a change that a question shows.
_LONGEST_CHANGE = 3_000
_KEY = "mcp tools {}"


@dataclass(frozen=True, slots=True)
class Pins:
    """The accepted offers of servers, by server and tool. Without a store, they are kept until the process ends."""

    store: Store | None
    clock: Clock
    _kept: dict[str, dict[str, Offer]]

    async def read(self, server: str) -> dict[str, Offer]:
        if self.store is None:
            return dict(self._kept.get(server, {}))
        text = await self.store.read(_read, server)
        return {name: Offer(name=name, **fields) for name, fields in json.loads(text or "{}").items()}

    async def accept(self, server: str, offers: Mapping[str, Offer]) -> None:
        """Store these offers as accepted. Offers beyond `MOST_NAMES` are not stored."""
        if self.store is None:
            kept = self._kept.setdefault(server, {})
            for name, offer in offers.items():
                if name in kept or len(kept) < MOST_NAMES:
                    kept[name] = offer
        elif offers:
            await self.store.write(
                _accept, server, {name: _fields(offer) for name, offer in offers.items()}, self.clock.now()
            )


def _fields(offer: Offer) -> dict[str, object]:
    return {
        "description": storable(offer.description),
        "schema": storable_json(dict(offer.schema)),
        "read_only": offer.read_only,
    }


def _read(tx: Transaction, server: str) -> str | None:
    return tx.kv.get(_KEY.format(server))


def _accept(tx: Transaction, server: str, new: Mapping[str, Mapping[str, object]], now: int) -> None:
    kept = json.loads(_read(tx, server) or "{}")
    for name, fields in new.items():
        if name in kept or len(kept) < MOST_NAMES:
            kept[name] = fields
    tx.kv.put(_KEY.format(server), json.dumps(kept, ensure_ascii=False), now)


def change_of(accepted: Offer, now: Offer) -> str:
    """Return the differences between two offers as lines; "" if there are none."""
    before, after = (list(_lines(each)) for each in (accepted, now))
    lines = [
        line.rstrip("\n") for line in unified_diff(before, after, n=0, lineterm="") if line[:3] not in {"---", "+++"}
    ]
    text = "\n".join(line for line in lines if not line.startswith("@@"))
    return text if len(text) <= _LONGEST_CHANGE else f"{text[:_LONGEST_CHANGE]}\n[{len(text):,} characters in all]"


def _lines(offer: Offer) -> Iterator[str]:
    yield from storable(offer.description).splitlines()
    yield f"read-only: {offer.read_only}"
    yield from json.dumps(storable_json(dict(offer.schema)), indent=1, sort_keys=True, ensure_ascii=False).splitlines()
