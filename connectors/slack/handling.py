"""Handles an event: looks up the names of the people in it, and passes it to the inbox. The event is acknowledged only
afterwards. A click is answered in a separate task."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import aiohttp

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import FeedPosition
from arvis.domain.text import storable_json
from arvis.ports.inbox import Clicked, Inbox
from connectors import answers
from connectors.slack.api import COSMETIC_SECONDS, ApiFailed, SlackApi
from connectors.slack.files import is_slacks
from connectors.slack.formatting import silent
from connectors.slack.history import messages_of
from connectors.slack.incoming import Event, Reader, is_direct, microseconds, people_of, thread_of

log = logging.getLogger(__name__)


_KEPT = 2_000
#: The paths of fields with the name of a person, in order of preference.
_NAMES = (("profile", "display_name"), ("profile", "real_name"), ("real_name",), ("name",))
#: The maximum number of names that are looked up for one message. Other people appear with their ids.
_ASKED_AT_ONCE = 10
#: The maximum number of seconds to wait for names, because an event must be acknowledged within three seconds.
_WAIT_SECONDS = 0.5


class Names:
    """The names of people. If a lookup takes longer than `_WAIT_SECONDS`, it continues in the background, so that the
    name is known at the person's next event."""

    def __init__(self, *, api: SlackApi) -> None:
        self._api = api
        self._known: OrderedDict[str, str] = OrderedDict()
        self._asked: dict[str, asyncio.Task[None]] = {}

    async def of(self, people: Sequence[str]) -> Mapping[str, str]:
        """Return the names of these people by id. A name that was not found in time is missing."""
        unknown = [user for user in people if user and user not in self._known][:_ASKED_AT_ONCE]
        if unknown:
            await asyncio.wait([self._begin(user) for user in unknown], timeout=_WAIT_SECONDS)
        return {user: self._known[user] for user in people if user in self._known}

    async def close(self) -> None:
        await _cancel(self._asked.values())

    def _begin(self, user: str) -> asyncio.Task[None]:
        """Begin the lookup of a name, unless a lookup of this name is running."""
        if user not in self._asked:
            self._asked[user] = task = asyncio.create_task(self._ask(user))
            task.add_done_callback(lambda _: self._asked.pop(user, None))
        return self._asked[user]

    async def _ask(self, user: str) -> None:
        try:
            answer = await self._api.ask("users.info", lambda web: web.users_info(user=user), within=COSMETIC_SECONDS)
        except ApiFailed:
            return
        found = (answers.text(answer.data, "user", *path) for path in _NAMES)
        if name := next(filter(None, found), ""):
            self._known[user] = name
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)


class Rooms:
    """The names of channels. Slack's events contain only their ids."""

    def __init__(self, *, api: SlackApi) -> None:
        self._api = api
        self._known: OrderedDict[str, str] = OrderedDict()

    async def of(self, channel: str) -> str:
        """Return the name of a channel; empty for a direct chat, or if Slack does not send the name in time."""
        if is_direct(channel):
            return ""
        if channel not in self._known:
            try:
                answer = await self._api.ask(
                    "conversations.info", lambda web: web.conversations_info(channel=channel), within=_WAIT_SECONDS
                )
            except ApiFailed as error:
                if error.is_transient:
                    return ""
                self._known[channel] = ""  # the bot lacks a scope, so it asks only once
            else:
                self._known[channel] = answers.text(answer.data, "channel", "name")
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return self._known[channel]


#: The maximum number of first messages of threads that are cached.
_KEPT_PARENTS = 200


class Parents:
    """The first messages of threads. Slack's event of a message in a thread does not contain them."""

    def __init__(self, *, api: SlackApi) -> None:
        self._api = api
        self._known: OrderedDict[tuple[str, str], Event] = OrderedDict()

    async def of(self, channel: str, thread: str) -> Event | None:
        """Return the first message of a thread; None if Slack does not send it within `_WAIT_SECONDS`."""
        known = self._known.get((channel, thread))
        if known is not None:
            return known
        try:
            answer = await self._api.ask(
                "conversations.replies",
                lambda web: web.conversations_replies(channel=channel, ts=thread, limit=1, inclusive=True),
                within=_WAIT_SECONDS,
            )
            found = messages_of(answer)
        except ApiFailed:
            return None
        parent = next((storable_json(each) for each in found if answers.text(each, "ts") == thread), None)
        if parent is not None:
            self._known[channel, thread] = parent
            while len(self._known) > _KEPT_PARENTS:
                self._known.popitem(last=False)
        return parent


async def _cancel(tasks: Collection[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


_TIMEOUT = aiohttp.ClientTimeout(total=COSMETIC_SECONDS)


class Answering:
    """Tasks that answer clicks: each sends a line that only the person who clicked sees, and removes the buttons from
    the message. The tasks do not delay the acknowledgement of the click, and only log their failures."""

    def __init__(self, *, api: SlackApi) -> None:
        self._api = api
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, body: Event, clicked: Clicked) -> None:
        url = str(body.get("response_url") or "")
        if is_slacks(url, self._api.base_url):
            task = asyncio.create_task(self._answer(url, body.get("message") or {}, clicked))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        await _cancel(self._tasks)

    async def _answer(self, url: str, message: Event, clicked: Clicked) -> None:
        if clicked.text:
            text = {"response_type": "ephemeral", "replace_original": False, "text": silent(clicked.text)}
            await self._post(url, text)
        if clicked.done and message.get("blocks"):
            await self._post(url, {"replace_original": True, **without_buttons(message)})

    async def _post(self, url: str, body: dict[str, Any]) -> None:
        """Send an answer whose links show no previews."""
        whole = {**body, "unfurl_links": False, "unfurl_media": False}
        try:
            async with self._api.session.post(url, json=whole, allow_redirects=False, timeout=_TIMEOUT) as response:
                if not response.ok:
                    log.info("Slack did not accept the answer to a click: status %s.", response.status)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            log.info("The answer to a click did not reach Slack: %s.", type(error).__name__)


def without_buttons(message: Event) -> dict[str, Any]:
    blocks = [block for block in message["blocks"] if block.get("type") != "actions"]
    return {"text": str(message.get("text") or "…"), "blocks": blocks}


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
    """The state of the catch-up. While `complete` is False, older messages may still have to be read, so an event must
    not move the position of its channel."""

    complete: bool = False


class Handler:
    """The handler of events from the socket, from HTTP requests and from histories."""

    def __init__(
        self,
        *,
        reader: Reader,
        inbox: Inbox,
        names: Names,
        parents: Parents,
        rooms: Rooms,
        answering: Answering,
        progress: Progress,
    ) -> None:
        self._reader = reader
        self._inbox = inbox
        self._names = names
        self._parents = parents
        self._rooms = rooms
        self._answering = answering
        self._progress = progress

    async def take(self, body: Mapping[str, Any]) -> None:
        """Handle the body of an HTTP request or of a socket envelope. Raise `Unavailable`."""
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
            case (("reaction_added" | "reaction_removed"), _):
                await self._take_reaction(event)
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
        parent = await self._parent(event)
        names = await self._names.of([*people_of(event), *(people_of(parent) if parent is not None else ())])
        room, position = await self._rooms.of(str(event["channel"])), await self._position(event)
        message = self._reader.message(event, names, position, parent=parent, room=room)
        received = await self._inbox.receive(message)
        edited = (event.get("edited") or {}).get("ts")
        if received.duplicate and edited:
            # The message comes from the history, and was edited after the inbox had received it.
            await self._inbox.edit(self._reader.found_edit(event, names))

    async def _parent(self, event: Event) -> Event | None:
        """Return the first message of the thread in which a message mentions the bot, because the person usually asks
        about this first message. Return None for a thread that the bot itself began, because the first message is then
        the bot's own."""
        thread = thread_of(event)
        if not thread or event.get("parent_user_id") == self._reader.me.user or not self._reader.mentioned(event):
            return None
        return await self._parents.of(str(event["channel"]), thread)

    async def _position(self, event: Event) -> FeedPosition | None:
        """Return the position to which an event moves its channel. During the catch-up, return None for a channel that
        already has a position, because its older messages may still be unread."""
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

    async def _take_reaction(self, event: Event) -> None:
        change = self._reader.reaction(event)
        if change is not None:
            await self._inbox.react(change)

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
    # `channel` is an id in events about archived and deleted channels, and an object in events about renamed channels.
    # A reaction contains its channel in `item`.
    channel = event.get("channel") or (event.get("item") or {}).get("channel")
    return channel if isinstance(channel, str) else ""
