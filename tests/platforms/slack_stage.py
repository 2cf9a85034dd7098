"""Slack as a stage: people who write in a workspace on this machine, and the connector with Slack's own client."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from arvis.domain.messages import Address
from arvis.ports.connector import BotSettings, CommandHint, ConnectorServices
from arvis.process.clock import SystemClock
from arvis.testing.conformance.connector_stage import Shown
from connectors.slack.connector import SlackConnector
from connectors.slack.receiving import PATIENCE
from connectors.slack.settings import read_config
from tests.platforms.slack_server import Fault, SlackServer
from tests.platforms.slack_server_api import public
from tests.platforms.slack_server_world import (
    APP_TOKEN,
    BOT_ID,
    BOT_TOKEN,
    BOT_USER,
    TEAM,
    Channel,
    Json,
    buttons_of,
    pings_of,
    text_shown,
)

COMMANDS = tuple(CommandHint(name, f"about {name}") for name in ("help", "new", "stop"))
#: Interval of the client's checks of its connection, shorter than the default.
_PING_SECONDS = 0.5


class SlackStage:
    can = frozenset(
        {
            "buttons",
            "changes",
            "connections",
            "deletions",
            "edits",
            "failures",
            "files",
            "gone",
            "groups",
            "own threads",
            "redelivery",
            "threads",
        }
    )
    text_limit = 12_000

    def __init__(self, server: SlackServer, *, mentions_twice: bool) -> None:
        self.server = server
        self._mentions_twice = mentions_twice
        self.world = server.world
        self._connectors: list[SlackConnector] = []
        self._threads: dict[str, str] = {}
        self._files = itertools.count(1)

    @classmethod
    @asynccontextmanager
    async def open(cls, *, mentions_twice: bool = False, **server: Any) -> AsyncIterator[SlackStage]:
        """Yield a stage. With `mentions_twice`, a mention comes as `message` and as `app_mention`, as for most apps."""
        async with SlackServer(**server).serve() as running:
            stage = cls(running, mentions_twice=mentions_twice)
            try:
                yield stage
            finally:
                for connector in stage._connectors:
                    await connector.close()

    def length(self, text: str) -> int:
        return len(text.encode("utf-16-le")) // 2

    async def connector(
        self, *, public_url: str | None = None, max_parts: int = 5, patience: float = PATIENCE, **values: Any
    ) -> SlackConnector:
        clock = SystemClock()
        services = ConnectorServices(clock=clock, commands=COMMANDS, max_parts=max_parts, public_url=public_url)
        needed = {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN, "api_url": f"{self.server.root}/api"}
        config = read_config(BotSettings("main", {**needed, **values}), services)
        connector = SlackConnector(
            name="main", config=config, services=services, ping_seconds=_PING_SECONDS, patience=patience
        )
        self._connectors.append(connector)
        return connector

    def address(self, channel: str = "room", *, direct: bool = False, thread: str = "", user: str = "ann") -> Address:
        place = self.direct(user) if direct else self.channel(channel)
        return Address("slack", "main", place.id, self._thread(place, thread))

    def channel(self, name: str) -> Channel:
        key = f"C0{name.upper()}"
        return self.world.channels.setdefault(key, Channel(key))

    def direct(self, user: str) -> Channel:
        key = f"D0{user.upper()}"
        return self.world.channels.setdefault(key, Channel(key, "im"))

    def user(self, name: str) -> str:
        key = f"U0{name.upper()}"
        self.world.names.setdefault(key, name.capitalize())
        return key

    def _thread(self, place: Channel, name: str) -> str:
        if name and name not in self._threads:
            root = {"type": "message", "user": self.user("bob"), "text": name, "ts": self.world.next_ts()}
            place.messages.append(root)
            self._threads[name] = str(root["ts"])
        return self._threads.get(name, "")

    async def say(
        self,
        text: str,
        *,
        user: str = "ann",
        direct: bool = True,
        addressed: bool = True,
        channel: str = "room",
        thread: str = "",
    ) -> str:
        place = self.direct(user) if direct else self.channel(channel)
        escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        written = f"<@{BOT_USER}> {escaped}" if addressed and not direct else escaped
        root = self._thread(place, thread)
        return self.write(place, {"user": self.user(user), "text": written} | ({"thread_ts": root} if root else {}))

    def write(self, place: Channel, message: Json) -> str:
        """Store a message and send its events: `message` if the bot may read the channel, `app_mention` if it is
        mentioned."""
        message = {"type": "message", "ts": self.world.next_ts(), **message}
        root = place.find(str(message.get("thread_ts")))
        if root is not None:
            message["parent_user_id"] = root.get("user")
        place.messages.append(message)
        event = {**public(message), "channel": place.id, "event_ts": message["ts"]}
        hears = place.history_scope in self.world.scopes
        if hears:
            self.server.emit({**event, "channel_type": place.kind})
        mentioned = f"<@{BOT_USER}>" in message["text"] and place.kind != "im"
        if mentioned and (self._mentions_twice or not hears):
            self.server.emit({**event, "type": "app_mention"})
        return str(message["ts"])

    async def say_file(
        self, name: str, content_type: str, data: bytes, *, voice: bool = False, user: str = "ann", text: str = ""
    ) -> str:
        key = f"F9{next(self._files):06}"
        self.server.files[key] = (content_type, data)
        url = f"{self.server.root}/files-pri/{key}"
        file: Json = {"id": key, "name": name, "mimetype": content_type, "size": len(data), "mode": "hosted"}
        file |= {"url_private": url, "url_private_download": url}
        if voice:
            file["subtype"] = "slack_audio"
        message = {"subtype": "file_share", "user": self.user(user), "text": text, "files": [file]}
        return self.write(self.direct(user), message)

    async def say_as_bot(self, text: str, *, own: bool) -> None:
        who = {"user": BOT_USER, "bot_id": BOT_ID} if own else {"subtype": "bot_message", "bot_id": "B0OTHER01"}
        self.write(self.channel("room"), {"text": text, **who})

    async def edit(self, ref: str, text: str) -> None:
        place, message = self._find(ref)
        before = public(message)
        message.update(text=text, edited={"user": message["user"], "ts": self.world.next_ts()})
        self.server.api.changed(place, message, before)

    async def delete(self, ref: str) -> None:
        place, message = self._find(ref)
        place.messages.remove(message)
        event = {"type": "message", "subtype": "message_deleted", "hidden": True, "channel": place.id}
        event |= {"channel_type": place.kind, "ts": self.world.next_ts(), "deleted_ts": ref}
        self.server.emit({**event, "previous_message": public(message)})

    def _find(self, ref: str) -> tuple[Channel, Json]:
        places = self.world.channels.values()
        return next((place, found) for place in places if (found := place.find(ref)) is not None)

    async def click(self, platform_id: str, button_id: str, *, user: str = "ann") -> None:
        place, message = self._find(platform_id)
        button = next(each for each in buttons_of(message) if each["value"] == button_id)
        number = self.world.next_ts()
        payload = {
            "type": "block_actions",
            "team": {"id": TEAM},
            "user": {"id": self.user(user), "username": user, "name": user, "team_id": TEAM},
            "trigger_id": f"trigger.{number}",
            "container": {"type": "message", "message_ts": platform_id, "channel_id": place.id},
            "channel": {"id": place.id, "name": place.id.lower()},
            "message": public(message),
            "response_url": self.server.response_url(place.id, platform_id),
            "actions": [{"type": "button", "action_ts": number, "block_id": "b1", **button}],
        }
        self.server.send("interactive", payload)

    def command(self, command: str, text: str = "", *, user: str = "ann", place: Channel | None = None) -> str:
        place = place or self.direct(user)
        payload = {
            "command": command,
            "text": text,
            "team_id": TEAM,
            "channel_id": place.id,
            "user_id": self.user(user),
            "user_name": user,
            "trigger_id": f"trigger.{self.world.next_ts()}",
            "response_url": self.server.response_url(place.id, "0"),
        }
        self.server.send("slash_commands", payload)
        return str(payload["trigger_id"])

    async def redeliver(self, ref: str) -> None:
        payload = next(one.payload for one in self.server.envelopes if one.payload.get("event", {}).get("ts") == ref)
        self.server.send("events_api", payload)

    async def drop_connections(self) -> None:
        await self.server.drop_connections()

    def refuse_sends(self, count: int, *, status: int = 429, retry_after: float | None = None) -> None:
        self.server.faults = [Fault(count, status=status, retry_after=retry_after)]

    def reset_sends(self, count: int, *, after: bool) -> None:
        self.server.faults = [Fault(count, reset="after" if after else "before")]

    def close_channel(self, *, user: str = "ann") -> None:
        self.direct(user).member = False

    def shown(self, address: Address) -> Sequence[Shown]:
        place = self.world.channels[address.channel]
        return [_shown(one) for one in place.messages if _is_own(one) and one.get("thread_ts", "") == address.thread]

    @property
    def sends(self) -> Sequence[float]:
        return self.asked("chat.postMessage", "chat.update", "files.completeUploadExternal")

    def asked(self, *methods: str) -> list[float]:
        return [asked.at for asked in self.server.asked if asked.method in methods]

    async def settled(self) -> None:
        """Wait until every event is acknowledged."""
        waiting = [envelope.acknowledged.wait() for envelope in self.server.envelopes]
        await asyncio.wait_for(asyncio.gather(*waiting), 10)


def _is_own(message: Json) -> bool:
    return bool(message.get("bot_id") == BOT_ID)


def _shown(message: Json) -> Shown:
    return Shown(
        platform_id=str(message["ts"]),
        text=text_shown(message),
        buttons=tuple(str(button["value"]) for button in buttons_of(message)),
        files=tuple(str(file["name"]) for file in message.get("files") or ()),
        pings=pings_of(message),
    )
