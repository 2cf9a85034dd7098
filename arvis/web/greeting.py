"""The first frame of a socket: who is there, on which channel, and what they have seen already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arvis.web.bodies import Fields
from arvis.web.clients import Client
from arvis.web.gate import Gate
from arvis.web.identity import ANYONE, Identity, address_for


@dataclass(frozen=True, slots=True)
class Greeting:
    """`last_seq` is the last delivery the client has seen (None: it wants none of the past)."""

    client: Client
    last_seq: int | None


class Greeter:
    """`new_token` makes the ids of clients."""

    def __init__(self, *, gate: Gate, new_token: Callable[[], str]) -> None:
        self._gate = gate
        self._new_token = new_token

    async def greet(self, fields: Fields, at_upgrade: Identity, address: str) -> Greeting:
        """A key in the frame wins over the cookie or key of the upgrade. Raises what `auth` can fail with."""
        key = fields.text("apiKey")
        identity = at_upgrade if key is None else await self._gate.by_key(key, address)
        self._gate.admit(identity, ANYONE)
        sender = self._gate.sender(identity, fields.label("userId"), fields.display_name("userName"))
        place = address_for(identity, fields.label("channelId") or f"web-{sender.user_id}")
        client = Client(id=self._new_token(), identity=identity, sender=sender, address=place)
        return Greeting(client, fields.whole("lastSeq"))
