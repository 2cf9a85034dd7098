"""Passes events from the gateway to the inbox, one after the other.

No event is lost while the disk is full: the connector retries an event until the inbox stores it, and up to
`_MOST_WAITING` later events wait in memory. Further messages are read from the channels' history afterwards.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from arvis.domain.dataclass import replace
from arvis.domain.errors import Unavailable
from arvis.domain.messages import Address
from arvis.domain.text import storable_json
from arvis.ports.clock import Clock
from arvis.ports.connector import BotUp, CommandHint
from arvis.ports.inbox import Inbox
from connectors import answers
from connectors.answers import Uncertain
from connectors.discord.catching_up import CatchingUp
from connectors.discord.client import REQUEST_ERRORS, CallFailed
from connectors.discord.incoming import Event, Malformed, Reader, Spot, reading
from connectors.discord.interactions import Interactions, register
from connectors.discord.rest import Rest
from connectors.discord.settings import DiscordConfig

_log = logging.getLogger(__name__)


#: The type of a direct chat of one person with the bot. A group of people has another type.
_DIRECT_TYPES = frozenset({1})
_THREAD_TYPES = frozenset({10, 11, 12})
#: The types of channels that contain messages: text, voice, announcements, stages, threads. Forums contain only
#: threads.
_MESSAGE_TYPES = frozenset({0, 2, 5, 10, 11, 12, 13})


class Places:
    """The channels and threads that a bot knows, with the parent of each thread and the guild of each channel.

    A message contains only the id of its channel. The gateway describes channels before it sends messages in them. For
    other channels (a direct message, an old thread), `spot` asks Discord once."""

    def __init__(self, *, rest: Rest) -> None:
        self._rest = rest
        self._spots: dict[str, Spot] = {}
        self._guilds: dict[str, str] = {}

    def learn(self, channel: Event, guild: str = "") -> Spot:
        """Store a channel and return its place. Raise `Malformed`."""
        with reading():
            id_, kind = str(channel["id"]), channel["type"]
            if kind in _THREAD_TYPES:
                parent = self._spots.get(str(channel["parent_id"]))
                spot = Spot(str(channel["parent_id"]), id_, name=parent.name if parent else "")
            else:
                direct = kind in _DIRECT_TYPES
                spot = Spot(id_, direct=direct, name="" if direct else str(channel.get("name") or ""))
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
        """Derive the place of an event from the event alone. An event without a guild comes from a direct chat. Raise
        `Malformed`."""
        with reading():
            spot = Spot(str(data["channel_id"]), direct="guild_id" not in data)
        if spot.direct:
            self._spots[spot.channel] = spot
        return spot

    async def spot(self, data: Event) -> Spot:
        """Return the place of a message or of an event about a message. Raise `Malformed` and `REQUEST_ERRORS`."""
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


_DISPATCH = 0
#: The maximum number of events that wait in memory while the inbox is unavailable.
_MOST_WAITING = 5_000
_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 30.0
#: The maximum number of requests for the channel of a live event, and the timeout of each request in seconds.
_LOOKS = 3
_LOOK_SECONDS = 5.0

Outcome = TypeVar("Outcome")


class Intake:
    """The handler of the gateway's events during one run of a bot. It calls `up` each time the bot has connected."""

    def __init__(
        self,
        *,
        bot: str,
        config: DiscordConfig,
        inbox: Inbox,
        rest: Rest,
        clock: Clock,
        commands: tuple[CommandHint, ...],
        up: Callable[[BotUp], None],
        tasks: asyncio.TaskGroup,
        longest_hold: float,
    ) -> None:
        self._inbox = inbox
        self._rest = rest
        self._clock = clock
        self._commands = commands
        self._up = up
        self._tasks = tasks
        self._places = Places(rest=rest)
        self._reader = Reader(bot=bot, me="", config=config)
        self._application = ""
        self._name = ""
        self._guilds: set[str] = set()
        self._overflowed = False
        self._events: asyncio.Queue[tuple[str, Event]] = asyncio.Queue()
        self.catching_up = CatchingUp(
            bot=bot, inbox=inbox, rest=rest, clock=clock, hand_in=self._hand_in, tasks=tasks, longest_hold=longest_hold
        )  # fmt: skip

    def received(self, frame: Event) -> None:
        """Queue the event in a frame. If `_MOST_WAITING` events are already queued, drop the event; the
        history of the channels is then read."""
        if frame.get("op") != _DISPATCH:
            return
        if self._events.qsize() < _MOST_WAITING:
            self._events.put_nowait((str(frame.get("t")), frame.get("d") or {}))
        else:
            self._overflowed = True

    async def run(self) -> None:
        """Handle the queued events in order until cancelled."""
        while True:
            name, data = await self._events.get()
            try:
                with reading():
                    event: Event = {**storable_json(data)} if data else {}
                await self._take(name, event)
            except Malformed as error:
                # Reading the event again would fail in the same way; the following events are not affected.
                _log.warning("discord bot %s: %s cannot be read: %s", self._reader.bot, name, error)
            if self._overflowed and self._events.empty():
                self._overflowed = False
                await self._patiently(self.catching_up.gap)

    async def _take(self, name: str, data: Event) -> None:
        match name:
            case "READY" | "RESUMED":
                await self._connected(name, data)
            case (
                "MESSAGE_CREATE"
                | "MESSAGE_UPDATE"
                | "MESSAGE_DELETE"
                | "MESSAGE_DELETE_BULK"
                | "MESSAGE_REACTION_ADD"
                | "MESSAGE_REACTION_REMOVE"
            ):
                with reading():
                    feed = str(data["channel_id"])
                spot = self._places.known(feed)
                if spot is None or self._reader.allowed(spot):
                    await self.catching_up.live(feed, name, data)
            case "INTERACTION_CREATE":
                self._tasks.create_task(self._interaction(data))
            case _:
                await self._learn(name, data)

    async def _learn(self, name: str, data: Event) -> None:
        """Update the known guilds and channels, and report to the inbox in which channels the bot can or cannot
        write."""
        match name:
            case "GUILD_CREATE":
                await self._guild(data)
            case "CHANNEL_CREATE" | "THREAD_CREATE":
                self._places.learn(data)
            case "CHANNEL_UPDATE" | "THREAD_UPDATE":
                # The bot may have been given permission to write there.
                await self._if_known(self._places.learn(data), self._inbox.reachable)
            case "THREAD_LIST_SYNC":
                for thread in answers.mappings(data.get("threads")) or ():
                    self._places.learn(thread, answers.text(data, "guild_id"))
            case "CHANNEL_DELETE" | "THREAD_DELETE":
                await self._vanished(data)
            case "GUILD_DELETE" if not data.get("unavailable"):
                await self._put_out(answers.text(data, "id"))

    async def _connected(self, name: str, data: Event) -> None:
        if name == "READY":
            self._read_ready(data)
            self._tasks.create_task(self._offer_commands())
        self._up(BotUp(self._reader.me, self._name))
        await self._patiently(self.catching_up.gap)

    def _read_ready(self, data: Event) -> None:
        """Read the first event of a session. Raise `ConnectionError` if it does not name the bot's user."""
        me = answers.text(data, "user", "id")
        if not me:
            raise ConnectionError("Discord's gateway did not send the id of the bot's user.")
        self._reader = replace(self._reader, me=me)
        self._name = answers.text(data, "user", "global_name") or answers.text(data, "user", "username") or me
        self._application = answers.text(data, "application", "id")
        guilds = answers.mappings(answers.value(data, "guilds", kind=list)) or ()
        self._guilds = {answers.text(guild, "id") for guild in guilds}

    async def _offer_commands(self) -> None:
        if not self._application:
            return
        try:
            await register(self._rest, self._application, self._commands)
        except REQUEST_ERRORS as error:
            # The commands also work as text, and the next session registers them again.
            _log.warning("discord bot %s: commands were not registered: %s", self._reader.bot, error)

    async def _guild(self, data: Event) -> None:
        with reading():
            guild = str(data["id"])
            channels = [*(data.get("channels") or ()), *(data.get("threads") or ())]
        invited = guild not in self._guilds
        self._guilds.add(guild)
        for channel in channels:
            spot = self._places.learn(channel, guild)
            newest = answers.text(channel, "last_message_id")
            if self._reader.allowed(spot) and holds_messages(channel):
                self.catching_up.noticed(spot.feed, int(newest) if newest.isdecimal() else 0)
        if invited:
            for spot in self._places.of_guild(guild):
                await self._if_known(spot, self._inbox.reachable)

    async def _put_out(self, guild: str) -> None:
        self._guilds.discard(guild)
        why = "The bot was removed from this server."
        for spot in self._places.of_guild(guild):
            await self._if_known(spot, lambda place: self._inbox.unreachable(place, why))

    async def _if_known(self, spot: Spot, tell: Callable[[Address], Awaitable[None]]) -> None:
        """Call `tell` (a method of the inbox) with the address of the place, but only if the bot has read messages
        there before."""
        bot = self._reader.bot
        if await self._patiently(lambda: self._inbox.position("discord", bot, spot.feed)) is not None:
            await self._patiently(lambda: tell(self._reader.place(spot)))

    async def _vanished(self, data: Event) -> None:
        spot = self._places.learn(data)
        self._places.forget(spot)
        await self._if_known(spot, lambda place: self._inbox.unreachable(place, "The channel was deleted."))

    async def _hand_in(self, name: str, data: Event, *, live: bool = False, moves: bool = True) -> None:
        """Pass an event about messages to the inbox. `live`: the event arrived just now and is not from the history.
        `moves`: every earlier event of its channel has been passed to the inbox, so the event may move the position."""
        if name == "PASSED":
            await self._patiently(lambda: self._inbox.passed("discord", self._reader.bot, data["position"]))
            return
        try:
            spot = await self._spot(data, live=live)
            with reading():
                calls = [] if spot is None else self._calls(name, data, spot, moves=moves)
        except Malformed as error:
            _log.warning("discord bot %s: %s cannot be read: %s", self._reader.bot, name, error)
        else:
            for call in calls:
                await self._patiently(call)

    def _calls(self, name: str, data: Event, spot: Spot, *, moves: bool) -> list[Callable[[], Awaitable[object]]]:
        """Return the calls that pass this event to the inbox."""
        inbox, reader = self._inbox, self._reader
        match name:
            case "MESSAGE_CREATE" if reader.concerns(data, spot):
                message = reader.message(data, spot)
                return [partial(inbox.receive, message if moves else replace(message, position=None))]
            case "MESSAGE_UPDATE" if "author" in data and reader.concerns(data, spot):
                edit = reader.edit(data, spot)
                return [partial(inbox.edit, edit)] if edit else []
            case "MESSAGE_DELETE" | "MESSAGE_DELETE_BULK":
                ids = data.get("ids") or [data["id"]]
                return [partial(inbox.delete, reader.deletion(str(id_), spot)) for id_ in ids]
            case "MESSAGE_REACTION_ADD" | "MESSAGE_REACTION_REMOVE" if reader.allowed(spot):
                change = reader.reaction(data, spot, added=name == "MESSAGE_REACTION_ADD")
                return [] if change is None else [partial(inbox.react, change)]
            case _:
                return []

    async def _interaction(self, data: Event) -> None:
        interactions = Interactions(
            reader=self._reader, inbox=self._inbox, rest=self._rest, application=self._application
        )
        try:
            spot = await self._spot(data, live=True)
            if spot is not None:
                await interactions.take(data, spot)
        except Malformed as error:
            _log.warning("discord bot %s: an interaction cannot be read: %s", self._reader.bot, error)

    async def _spot(self, data: Event, *, live: bool) -> Spot | None:
        """Return the place of an event; None if the bot may not read the channel. A live event proves that the bot can
        read its channel, and all later events wait for it. If Discord refuses the request for the channel or does not
        answer, the place of a live event is therefore derived from the event alone. Raise `Malformed`."""
        pause, tries = _PAUSE_SECONDS, 0
        while True:
            try:
                async with asyncio.timeout(_LOOK_SECONDS if live else None):
                    return await self._places.spot(data)
            except REQUEST_ERRORS as error:
                closed = isinstance(error, CallFailed) and (error.forbidden or error.missing)
                tries += 1
                if live and (closed or tries >= _LOOKS):
                    return self._places.guessed(data)
                if closed:
                    return None
                await self._clock.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    async def _patiently(self, call: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Make the call. While the inbox is unavailable, repeat it."""
        pause = _PAUSE_SECONDS
        while True:
            try:
                return await call()
            except Unavailable:
                await self._clock.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
