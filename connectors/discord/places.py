"""A bot's knowledge of Discord's channels: which are threads, of which parent, and in which guild.

A message names only the id of its channel. The gateway describes channels before it sends messages in them; for
channels that it did not describe (a direct message, an old thread), Discord is asked once.
"""

from __future__ import annotations

from typing import Any

from connectors import answers
from connectors.answers import Uncertain
from connectors.discord.http import CallFailed
from connectors.discord.incoming import Event, Spot, reading
from connectors.discord.rest import Rest

#: One person alone with the bot; a group of people has another type.
_DIRECT_TYPES = frozenset({1})
_THREAD_TYPES = frozenset({10, 11, 12})
#: Channels with messages of their own: text, voice, announcements, stages, threads. Forums contain only threads.
_MESSAGE_TYPES = frozenset({0, 2, 5, 10, 11, 12, 13})


class Places:
    def __init__(self, *, rest: Rest) -> None:
        self._rest = rest
        self._spots: dict[str, Spot] = {}
        self._guilds: dict[str, str] = {}

    def learn(self, channel: Event, guild: str = "") -> Spot:
        """Store a channel. Raises `Malformed`."""
        with reading():
            id_, kind = str(channel["id"]), channel["type"]
            if kind in _THREAD_TYPES:
                spot = Spot(str(channel["parent_id"]), id_)
            else:
                spot = Spot(id_, direct=kind in _DIRECT_TYPES)
            self._spots[id_] = spot
            self._guilds[id_] = guild or str(channel.get("guild_id", ""))
        return spot

    def known(self, feed: str) -> Spot | None:
        return self._spots.get(feed)

    def forget(self, spot: Spot) -> None:
        self._guilds.pop(spot.feed, None)
        self._spots.pop(spot.feed, None)

    def of_guild(self, guild: str) -> list[Spot]:
        """Return the guild's channels and threads."""
        return [self._spots[id_] for id_, owner in self._guilds.items() if owner == guild]

    def guessed(self, data: Event) -> Spot:
        """Return the place of an event from the event alone: in guilds it names the guild. Raises `Malformed`."""
        with reading():
            spot = Spot(str(data["channel_id"]), direct="guild_id" not in data)
        if spot.direct:
            self._spots[spot.channel] = spot
        return spot

    async def spot(self, data: Event) -> Spot:
        """Return the place of a message, or of an event about one. Raises `Malformed`, and what `Rest` raises."""
        with reading():
            id_ = str(data["channel_id"])
        known = self._spots.get(id_)
        if known is None and "channel" in data:
            return self.learn(data["channel"], str(data.get("guild_id", "")))
        if known is None:
            found = await self._rest.request("GET", "/channels/{channel_id}", channel_id=id_)
            if not _is_channel(found, id_):
                raise CallFailed(Uncertain("Discord sent a channel in an unexpected format."))
            known = self.learn(found, str(data.get("guild_id", "")))
        return known


def _is_channel(found: Any, id_: str) -> bool:
    kind = answers.value(found, "type", kind=int)
    is_placed = kind not in _THREAD_TYPES or bool(answers.text(found, "parent_id"))
    return kind is not None and answers.text(found, "id") == id_ and is_placed


def holds_messages(channel: Event) -> bool:
    return channel.get("type") in _MESSAGE_TYPES
