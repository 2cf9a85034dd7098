"""The data of the Discord server: people, channels, messages and nonces, with the documented rules."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any

EPOCH = 1_420_070_400_000
TEXT, DIRECT, PUBLIC_THREAD, FORUM = 0, 1, 11, 15
TOKEN = "MTIz.loopback.token-0123456789"
MESSAGE_CONTENT_LIMITED = 1 << 19
_MENTION = re.compile(r"<@!?(\d+)>")

Json = dict[str, Any]


class ApiError(Exception):
    """An error answer of the REST interface."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


@dataclass
class World:
    """The data of the Discord server.

    `nonce_window` (seconds) is the lifetime of a nonce ("the past few minutes"). `closed` maps channels that refuse
    messages of the bot to the code of the refusal.
    """

    nonce_window: float = 300.0
    closed: dict[str, int] = field(default_factory=dict)
    flags: int = MESSAGE_CONTENT_LIMITED
    permissions: int = (1 << 50) - 1
    commands: list[Json] = field(default_factory=list)
    people: dict[str, Json] = field(default_factory=dict)
    channels: dict[str, Json] = field(default_factory=dict)
    messages: dict[str, dict[str, Json]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    nonces: dict[str, tuple[float, str, str]] = field(default_factory=dict)
    pings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    last_id: int = 0

    def __post_init__(self) -> None:
        self.guild = self.new_id()
        self.bot = self.person("arvis", bot=True)
        self.application = self.new_id()
        self.channel("room")

    def new_id(self, at: float | None = None) -> str:
        """Return a new snowflake for the instant `at` (seconds since 1970; None: now)."""
        made = (int((at or time.time()) * 1000) - EPOCH) << 22
        if at is None:
            made = self.last_id = max(made, self.last_id + 1)
        else:
            made += len(self.people) + sum(map(len, self.messages.values()))
        return str(made)

    def person(self, name: str, *, bot: bool = False) -> Json:
        if name not in self.people:
            user = {"id": self.new_id(), "username": name, "discriminator": "0", "global_name": name.title()}
            self.people[name] = user | {"avatar": None, "bot": bot}
        return self.people[name]

    def channel(self, name: str, kind: int = TEXT, **more: Any) -> Json:
        for channel in self.channels.values():
            if channel["name"] == name:
                return channel
        return self.add_channel({"id": self.new_id(), "type": kind, "name": name, "guild_id": self.guild} | more)

    def direct(self, user: str) -> Json:
        name = f"@{user}"
        for channel in self.channels.values():
            if channel["name"] == name:
                return channel
        person = self.person(user)
        return self.add_channel({"id": self.new_id(), "type": DIRECT, "name": name, "recipients": [person]})

    def thread(self, name: str, parent: Json, id_: str | None = None) -> Json:
        for channel in self.channels.values():
            if id_ is None and channel["name"] == name and channel.get("parent_id") == parent["id"]:
                return channel
        state: Json = {"archived": False, "auto_archive_duration": 1440, "locked": False}
        state["archive_timestamp"] = "2026-01-01T00:00:00+00:00"
        thread = {"id": id_ or self.new_id(), "type": PUBLIC_THREAD, "name": name, "guild_id": self.guild}
        thread |= {"parent_id": parent["id"], "owner_id": self.bot["id"], "thread_metadata": state}
        thread |= {"message_count": 0, "member_count": 1, "rate_limit_per_user": 0, "flags": 0}
        return self.add_channel(thread)

    def add_channel(self, channel: Json) -> Json:
        base = {"position": 0, "permission_overwrites": [], "nsfw": False, "topic": None, "last_message_id": None}
        self.channels[channel["id"]] = base | channel
        self.messages.setdefault(channel["id"], {})
        return self.channels[channel["id"]]

    def find_channel(self, id_: str) -> Json:
        if id_ not in self.channels:
            raise ApiError(404, 10003, "Unknown Channel")
        if id_ in self.closed:
            raise ApiError(403, self.closed[id_], "Cannot send messages to this user")
        return self.channels[id_]

    def find_message(self, channel: str, id_: str) -> Json:
        self.find_channel(channel)
        if id_ not in self.messages[channel]:
            raise ApiError(404, 10008, "Unknown Message")
        return self.messages[channel][id_]

    def add_message(self, channel: Json, author: Json, content: str, at: float | None = None, **more: Any) -> Json:
        id_ = self.new_id(at)
        moment = time.gmtime(((int(id_) >> 22) + EPOCH) / 1000)
        people = {user["id"]: user for user in self.people.values()}
        mentioned = [people[id_] for id_ in _MENTION.findall(content) if id_ in people]
        message = {
            "id": id_,
            "channel_id": channel["id"],
            "author": author,
            "content": content,
            "type": 0,
            "tts": False,
        }
        message |= {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000000+00:00", moment), "edited_timestamp": None}
        message |= {"mentions": mentioned, "mention_roles": [], "mention_everyone": "@everyone" in content}
        message |= {"attachments": [], "embeds": [], "components": [], "pinned": False, "flags": 0} | more
        self.messages[channel["id"]][id_] = message
        channel["last_message_id"] = id_
        return message

    def add_file(self, name: str, content_type: str, data: bytes, base: str) -> Json:
        id_ = self.new_id()
        self.files[id_] = data
        file = {"id": id_, "filename": name, "content_type": content_type, "size": len(data)}
        url = f"{base}/attachments/{id_}/{name}"
        return file | {"url": url, "proxy_url": url}

    def remembered(self, nonce: str) -> Json | None:
        """Return the message that was created with this nonce within the window."""
        at, channel, id_ = self.nonces.get(nonce, (0.0, "", ""))
        if time.monotonic() - at > self.nonce_window:
            return None
        return self.messages.get(channel, {}).get(id_)

    def history(self, channel: str, query: Json) -> list[Json]:
        """Return messages, newest first. `before`, `after` and `around` exclude one another."""
        limit = int(query.get("limit", 50))
        if not 1 <= limit <= 100:
            raise ApiError(400, 50035, "Invalid Form Body")
        self.find_channel(channel)
        known = sorted(self.messages[channel].values(), key=lambda message: int(message["id"]))
        if "after" in query:
            known = [message for message in known if int(message["id"]) > int(query["after"])][:limit]
        elif "before" in query:
            known = [message for message in known if int(message["id"]) < int(query["before"])]
        elif "around" in query:
            middle = [int(message["id"]) < int(query["around"]) for message in known].count(True)
            known = known[max(0, middle - limit // 2) :][:limit]
        return [{k: v for k, v in m.items() if k != "nonce"} for m in reversed(known[-limit:])]
