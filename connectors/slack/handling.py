"""Handle one event after the other: read it, pass it to the inbox, and only then acknowledge it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arvis.domain.messages import FeedPosition
from arvis.domain.text import storable_json
from arvis.ports.inbox import Inbox
from connectors.slack.answering import Answering
from connectors.slack.incoming import Event, Reader, microseconds, people_of
from connectors.slack.names import Names

log = logging.getLogger(__name__)

_UNREACHABLE = {
    "channel_left": "The bot was removed from the channel.",
    "group_left": "The bot was removed from the channel.",
    "channel_archive": "The channel was archived.",
    "group_archive": "The channel was archived.",
    "channel_deleted": "The channel was deleted.",
    "group_deleted": "The channel was deleted.",
}
_REACHABLE = frozenset({"channel_unarchive", "group_unarchive"})


@dataclass(slots=True)
class Progress:
    """The state of the catch-up. `complete` is False while older messages may still have to be read: then an event
    must not move the position of its channel."""

    complete: bool = False


class Handler:
    """Handles events from the socket, from HTTP requests and from histories."""

    def __init__(self, *, reader: Reader, inbox: Inbox, names: Names, answering: Answering, progress: Progress) -> None:
        self._reader = reader
        self._inbox = inbox
        self._names = names
        self._answering = answering
        self._progress = progress

    async def take(self, body: Mapping[str, Any]) -> None:
        """Take the body of a request or of an envelope. Raises `Unavailable`."""
        body = storable_json(body)
        kind = body.get("type")
        if kind == "event_callback":
            await self.take_event(body.get("event") or {})
        elif kind == "block_actions":
            await self._take_click(body)
        elif body.get("command"):
            await self._take_command(body)

    async def take_event(self, event: Event) -> None:
        channel = _channel_of(event)
        if not self._reader.listens(channel):
            return
        match event.get("type"), event.get("subtype"):
            case "message", "message_changed":
                await self._take_change(event)
            case "message", "message_deleted":
                await self._take_deletion(event)
            case (("message" | "app_mention"), _):
                await self.take_message(event)
            case ("member_joined_channel" | "member_left_channel") as kind, _:
                if event.get("user") == self._reader.me.user:
                    await self._take_membership(channel, joined=kind == "member_joined_channel")
            case kind, _ if kind in _UNREACHABLE:
                await self._inbox.unreachable(self._reader.place(channel), _UNREACHABLE[str(kind)])
            case kind, _ if kind in _REACHABLE:
                await self._inbox.reachable(self._reader.place(channel))

    async def take_message(self, event: Event) -> None:
        if not self._reader.wants(event):
            return
        names = await self._names.of(people_of(event))
        message = self._reader.message(event, names, await self._position(event))
        received = await self._inbox.receive(message)
        edited = (event.get("edited") or {}).get("ts")
        if received.duplicate and edited:
            # A message from the history of a channel that was changed in the meantime.
            await self._inbox.edit(self._reader.found_edit(event, names))

    async def _position(self, event: Event) -> FeedPosition | None:
        """Return the position of an event. In a channel that was never read, no older messages are looked for."""
        channel = str(event["channel"])
        complete = self._progress.complete
        if not complete and await self._inbox.position("slack", self._reader.name, channel) is not None:
            return None
        return FeedPosition(channel, microseconds(str(event["ts"])))

    async def _take_change(self, event: Event) -> None:
        now = event.get("message") or {}
        if now.get("subtype") == "tombstone":
            await self._take_deletion(event)
            return
        edit = self._reader.edit(event, await self._names.of(people_of(now)))
        if edit is not None:
            await self._inbox.edit(edit)

    async def _take_deletion(self, event: Event) -> None:
        deletion = self._reader.deletion(event)
        if deletion is not None:
            await self._inbox.delete(deletion)

    async def _take_membership(self, channel: str, *, joined: bool) -> None:
        place = self._reader.place(channel)
        if joined:
            await self._inbox.reachable(place)
        else:
            await self._inbox.unreachable(place, _UNREACHABLE["channel_left"])

    async def _take_command(self, body: Event) -> None:
        if body.get("trigger_id") and self._reader.listens(str(body.get("channel_id") or "")):
            names = await self._names.of([str(body["user_id"])])
            await self._inbox.receive(self._reader.command(body, names))

    async def _take_click(self, body: Event) -> None:
        names = await self._names.of([str((body.get("user") or {}).get("id") or "")])
        click = self._reader.click(body, names)
        if click is not None and self._reader.listens(click.address.channel):
            self._answering.begin(body, await self._inbox.click(click))


def _channel_of(event: Event) -> str:
    # Slack names archived and deleted channels by id; a renamed one would be an object.
    channel = event.get("channel")
    return channel if isinstance(channel, str) else ""
