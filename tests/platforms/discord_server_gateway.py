"""Discord's gateway on this machine: sessions count events, can be resumed, and replay missed events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.platforms.discord_server_world import DIRECT, TOKEN, World

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID, HELLO, ACK = 0, 1, 2, 6, 7, 9, 10, 11
GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT = 1 << 0, 1 << 9, 1 << 12, 1 << 15
GUILD_REACTIONS, DIRECT_REACTIONS = 1 << 10, 1 << 13
_CONTENT_ALLOWED = 1 << 18 | 1 << 19


@dataclass
class Session:
    id: str
    intents: int
    seq: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)
    socket: web.WebSocketResponse | None = None


class GatewaySide:
    """The gateway for all sessions.

    `connected` are the times (`time.monotonic`) of connections; `identified` and `resumed` are counters. While `mute`,
    each connection is closed immediately. While `refuses` is set, each login is refused with this code.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.sessions: dict[str, Session] = {}
        self.connected: list[float] = []
        self.identified = 0
        self.resumed = 0
        self.mute = False
        self.refuses: int | None = None
        self.url = ""
        self.changed = asyncio.Condition()
        self._transports: set[asyncio.Transport] = set()

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.connected.append(time.monotonic())
        assert request.transport is not None
        self._transports.add(request.transport)
        if self.mute:
            await socket.close(code=4000)
            return socket
        await self._send(socket, {"op": HELLO, "d": {"heartbeat_interval": 41_250}, "s": None, "t": None})
        session: Session | None = None
        async for frame in socket:
            if frame.type is not WSMsgType.TEXT:
                break
            session = await self._take(socket, json.loads(frame.data), session)
        if session is not None and session.socket is socket:
            session.socket = None
            if socket.close_code in (1000, 1001):  # a normal close ends the session
                self.sessions.pop(session.id, None)
        return socket

    async def _take(self, socket: web.WebSocketResponse, frame: Any, session: Session | None) -> Session | None:
        data = frame["d"]
        if frame["op"] == HEARTBEAT:
            await self._send(socket, {"op": ACK, "d": None, "s": None, "t": None})
        elif frame["op"] == IDENTIFY:
            return await self._identify(socket, data)
        elif frame["op"] == RESUME:
            return await self._resume(socket, data)
        return session

    async def _identify(self, socket: web.WebSocketResponse, data: Any) -> Session | None:
        self.identified += 1
        if data["token"] != TOKEN or self.refuses is not None:
            await socket.close(code=self.refuses or 4004)
            return None
        if data["intents"] & MESSAGE_CONTENT and not self.world.flags & _CONTENT_ALLOWED:
            await socket.close(code=4014, message=b"Disallowed intent(s).")
            return None
        session = Session(self.world.new_id(), data["intents"], socket=socket)
        self.sessions[session.id] = session
        world = self.world
        ready = {"v": 10, "user": world.bot, "session_id": session.id, "resume_gateway_url": self.url}
        ready |= {"guilds": [{"id": world.guild, "unavailable": True}], "shard": [0, 1], "private_channels": []}
        await self._event(session, "READY", ready | {"application": {"id": world.application, "flags": world.flags}})
        await self._event(session, "GUILD_CREATE", self.guild_document())
        await self._told()
        return session

    async def _resume(self, socket: web.WebSocketResponse, data: Any) -> Session | None:
        session = self.sessions.get(data["session_id"] or "")
        if session is None or data["token"] != TOKEN:
            await self._send(socket, {"op": INVALID, "d": False, "s": None, "t": None})
            return None
        self.resumed += 1
        session.socket = socket
        for event in [event for event in session.events if event["s"] > data["seq"]]:
            await self._send(socket, event)
        await self._event(session, "RESUMED", {})
        await self._told()
        return session

    def guild_document(self) -> dict[str, Any]:
        world = self.world
        inside = [channel for channel in world.channels.values() if channel.get("guild_id")]
        threads = [channel for channel in inside if "parent_id" in channel]
        guild = {"id": world.guild, "name": "Home", "owner_id": world.bot["id"], "unavailable": False, "large": False}
        guild |= {"roles": [], "emojis": [], "features": [], "members": [], "voice_states": [], "presences": []}
        guild |= {"member_count": 2, "verification_level": 0, "default_message_notifications": 0, "mfa_level": 0}
        guild |= {"explicit_content_filter": 0, "premium_tier": 0, "preferred_locale": "en-US", "nsfw_level": 0}
        guild |= {"afk_timeout": 300, "system_channel_flags": 0, "stage_instances": [], "guild_scheduled_events": []}
        return guild | {"channels": [each for each in inside if each not in threads], "threads": threads}

    async def dispatch(self, name: str, data: dict[str, Any]) -> None:
        """Send an event to all connected sessions, and store it for those that will resume."""
        for session in list(self.sessions.values()):
            seen = self._as_seen(session, name, data)
            if seen is not None:
                await self._event(session, name, seen)

    def _as_seen(self, session: Session, name: str, data: dict[str, Any]) -> dict[str, Any] | None:
        if not name.startswith("MESSAGE_"):
            return data
        direct = self.world.channels.get(str(data["channel_id"]), {}).get("type") == DIRECT
        if name.startswith("MESSAGE_REACTION_"):
            return data if session.intents & (DIRECT_REACTIONS if direct else GUILD_REACTIONS) else None
        if not session.intents & (DIRECT_MESSAGES if direct else GUILD_MESSAGES):
            return None
        about_bot = data.get("author", {}).get("id") == self.world.bot["id"] or self.world.bot in data.get(
            "mentions", []
        )
        if direct or about_bot or session.intents & MESSAGE_CONTENT or "content" not in data:
            return data
        return data | {"content": "", "attachments": [], "components": [], "embeds": []}

    async def drop(self) -> None:
        """Cut all connections without a close frame. Their sessions can be resumed."""
        for session in self.sessions.values():
            session.socket = None
        for transport in self._transports:
            transport.abort()
        self._transports.clear()

    def forget(self) -> None:
        """Delete all sessions, so that none can be resumed."""
        self.sessions.clear()

    async def until(self, what: str, count: int) -> None:
        """Wait until `identified` or `resumed` has reached a count."""
        async with asyncio.timeout(20), self.changed:
            await self.changed.wait_for(lambda: getattr(self, what) >= count)

    async def _told(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    async def _event(self, session: Session, name: str, data: dict[str, Any]) -> None:
        session.seq += 1
        event = {"op": DISPATCH, "t": name, "s": session.seq, "d": data}
        session.events.append(json.loads(json.dumps(event)))
        if session.socket is not None:
            await self._send(session.socket, event)

    async def _send(self, socket: web.WebSocketResponse, frame: dict[str, Any]) -> None:
        # The reader of the socket notices a lost client; its session stores the event.
        with contextlib.suppress(ConnectionError):
            if not socket.closed:
                await socket.send_str(json.dumps(frame))
